"""Many replicas that keep mirrored variables: the half shared by all synchronous strategies.

L local replicas, one per device, in each of P processes; R = P * L, and replica ids count through the
devices of the first process, then of the second, ... What the local replicas have is combined here,
in the order of replicas; what crosses processes goes through a `CrossReplica`.

    one process       values per replica are PerReplica; a plain value cannot be summed
    several processes with one replica each: values are bare, and are reduced over the processes

Source: tensorflow/python/distribute/mirrored_strategy.py, collective_all_reduce_strategy.py and
cross_device_ops.py, 2.21; cases `mirrored_*`, `mw_*`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from clustersim import errors
from clustersim.collectives.schedule import ReduceOp
from clustersim.data.distributed import Distribution, InputOptions
from clustersim.data.sharding import Layout
from clustersim.devices.current import DeviceScope, canonicalize, enter_device, leave_device
from clustersim.devices.spec import DeviceSpec
from clustersim.strategies.base import Strategy, StrategyExtended
from clustersim.strategies.cross_replica import SINGLE_PROCESS, CrossReplica, mean_dtype
from clustersim.strategies.replica_context import ReplicaContext, ValueContext, as_reduce_op
from clustersim.values import nest, scope
from clustersim.values.arrange_ops import concat
from clustersim.values.array_ops import identity
from clustersim.values.distributed_variable import (
    DistributedVariable,
    MirroredVariable,
    SyncOnReadVariable,
)
from clustersim.values.dtypes import DType
from clustersim.values.per_replica import (
    DistributedValues,
    Mirrored,
    PerReplica,
    local_results,
    regroup,
    select_replica,
)
from clustersim.values.recipe import VariableAggregation, VariableRecipe, VariableSynchronization
from clustersim.values.tensor import Tensor, convert, is_tensor, make
from clustersim.values.variable import UnreadVariable, Variable, plain_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clustersim.cluster.resolvers import ClusterResolver
    from clustersim.observe.metrics import Metrics
    from clustersim.strategies.options import CommunicationOptions

_REDUCIBLE = frozenset({"float16", "float32", "float64", "int32", "int64"})
"""What TensorFlow's collectives take."""


class ReplicatedExtended(StrategyExtended):
    """Replicas on the given devices of each of the processes that `cross_replica` joins.

    Args:
        devices: Full names of this process's devices, one replica on each.
        cross_replica: The other processes. Default: none.
        cluster_resolver: Which resolver the strategy was made from.
        is_chief: Whether this process saves checkpoints and summaries.
        metrics: Counts what happens; hand the same to the communicator.
    """

    context_class: type[ReplicaContext] = ReplicaContext

    def __init__(
        self,
        devices: Sequence[str],
        *,
        cross_replica: CrossReplica = SINGLE_PROCESS,
        cluster_resolver: ClusterResolver | None = None,
        is_chief: bool = True,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(
            devices, cluster_resolver=cluster_resolver, is_chief=is_chief, metrics=metrics
        )
        self._cross_replica = cross_replica
        self._specs = tuple(DeviceSpec.from_string(name) for name in devices)
        self._replica_modes: tuple[scope.Mode, ...] = ()

    def attach(self, strategy: Strategy) -> None:
        """Makes the contexts of the local replicas, which every run shares."""
        super().attach(strategy)
        self._replica_modes = tuple(
            scope.Mode(strategy, self, self.context_class(strategy, self.first_replica_id + i, i))
            for i in range(self.num_local)
        )

    @property
    def num_local(self) -> int:
        """How many replicas this process has."""
        return len(self._devices)

    @property
    def first_replica_id(self) -> int:
        """Which of all replicas this process's first one is."""
        return self._cross_replica.rank * self.num_local

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are in all processes."""
        return self._cross_replica.size * self.num_local

    @property
    def is_multi_worker(self) -> bool:
        """Whether there are other processes."""
        return self._cross_replica.size > 1

    # -- replicas -------------------------------------------------------------------------------

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn` on each local replica, under its device, with its part of the arguments."""
        results = [
            self.call_replica(index, fn, args, kwargs or {}) for index in range(self.num_local)
        ]
        return regroup(results)

    def call_replica(
        self,
        index: int,
        fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        mode: scope.Mode | None = None,
    ) -> Any:
        """Calls `fn` as one local replica, in this thread; in its usual mode or in `mode`."""
        own_args = [select_replica(index, arg) for arg in args] if args else ()
        own_kwargs = {k: select_replica(index, v) for k, v in kwargs.items()} if kwargs else {}
        mode_token = scope.enter(mode or self._replica_modes[index])
        device_token = enter_device(self._specs[index])
        try:
            return fn(*own_args, **own_kwargs)
        finally:
            leave_device(device_token)
            scope.leave(mode_token)

    def all_reduce_leaves(
        self,
        context: ReplicaContext,
        op: ReduceOp,
        leaves: list[Any],
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Reduces all leaves over all replicas, in one call of the other processes."""
        _check_tensors(leaves, self.is_multi_worker)

        def merge(_strategy: object, *values: Any) -> list[Any]:
            parts = [self._parts(value) for value in values]
            return self._spread(self._combined(op, parts, options=options))

        reduced: list[Any] = context.merge_call(merge, args=leaves)
        return reduced

    def all_gather_leaves(
        self,
        context: ReplicaContext,
        leaves: list[Any],
        axis: int,
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Joins each leaf over all replicas."""

        def merge(_strategy: object, *values: Any) -> list[Any]:
            return self._spread(
                [self._joined(self._parts(value), axis, options=options) for value in values]
            )

        gathered: list[Any] = context.merge_call(merge, args=leaves)
        return gathered

    # -- values ---------------------------------------------------------------------------------

    def reduce(self, op: ReduceOp, value: Any) -> Any:
        """Returns the sum or mean over all replicas of each leaf of `value`.

        Raises:
            AssertionError: A mirrored value is summed: it is one value, not one per replica.
            ValueError: A plain value is summed over the replicas of one process, or a nest over
                several processes.
            InvalidArgumentError: Shapes differ, or the type cannot be reduced.
        """
        if _is_mirrored(value):
            if op is not ReduceOp.MEAN:
                raise AssertionError(
                    "A mirrored value is one value, not one per replica: it cannot be summed."
                )
            return value.values[0]
        if not self.is_multi_worker:
            return nest.map_structure(lambda leaf: self._reduce_leaf(op, leaf), value)
        if nest.is_nested(value):
            raise ValueError(
                f"A nest cannot be reduced over several workers: {value!r}. Reduce its parts."
            )
        return self._combined(op, [self._parts(value)])[0]

    def _reduce_leaf(self, op: ReduceOp, leaf: Any) -> Any:
        if isinstance(leaf, DistributedValues):
            for part in leaf.values:
                part.dtype  # noqa: B018  # AttributeError for Python numbers, as in TensorFlow
            return self._combined(op, [leaf.values])[0]
        if not is_tensor(leaf) and np.all(leaf == 0):
            # AttributeError for Python's 0, as in TensorFlow.
            return np.zeros(leaf.shape, leaf.dtype)
        if op is ReduceOp.SUM and self.num_replicas_in_sync > 1:
            raise ValueError(
                f"A non-DistributedValues value {leaf!r} cannot be reduced with the given reduce op"
                " SUM: there is one of it, not one per replica. Return it from strategy.run."
            )
        return identity(leaf) if op is ReduceOp.SUM else leaf

    def gather(self, value: Any, axis: int) -> Any:
        """Returns the replicas' tensors joined; a plain value of one process as it is."""
        if not isinstance(value, DistributedValues) and not self.is_multi_worker:
            return self.local_results(value)[0]
        return self._joined(self._parts(value), axis)

    def local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns what each local replica has."""
        return local_results(value, self.num_local)

    def values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Returns per-replica values, even of one replica."""
        first, count = self.first_replica_id, self.num_replicas_in_sync
        values = [value_fn(ValueContext(first + i, count)) for i in range(self.num_local)]
        return regroup(values, is_always_wrapped=True)

    def distribution(self, options: InputOptions) -> Distribution:
        """Returns how input is spread over the replicas."""
        return Distribution(
            layout=Layout(
                num_workers=self._cross_replica.size,
                worker=self._cross_replica.rank,
                num_local=self.num_local,
            ),
            devices=self._devices,
            anyone_has=self._anyone_has,
            recorder=self.metrics,
            options=options,
        )

    def _anyone_has(self, has_data: bool) -> bool:  # noqa: FBT001  # a callback of one value
        votes = self._cross_replica.all_reduce([np.array([has_data], np.int64)], ReduceOp.SUM)
        return bool(votes[0][0])

    def reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value: Any,
        destinations: Any,
        options: CommunicationOptions | None = None,
    ) -> Any:
        """Returns `value` reduced, on a device or mirrored on the devices of a variable.

        What is one value already stays where it is if its mean is asked for.

        Raises:
            AssertionError: `destinations` is a list.
            ValueError: It names no device, or is nothing that is on one.
        """
        reduced = super().reduce_to(reduce_op, value, destinations, options)
        is_several = isinstance(value, DistributedValues) and not _is_mirrored(value)
        is_one = not self.is_multi_worker and not is_several and not nest.is_nested(value)
        return value if is_one and as_reduce_op(reduce_op) is ReduceOp.MEAN else reduced

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Returns `tensor` on a device, or mirrored on the devices of a variable.

        Raises:
            AssertionError: `destinations` is a list, or nothing.
            ValueError: It names no device, or is nothing that is on one.
        """
        value = super().broadcast_to(tensor, destinations)
        if isinstance(value, int | float):
            return value
        if nest.is_nested(value):
            return nest.map_structure(lambda leaf: self.broadcast_to(leaf, destinations), value)
        copies = [_on_device(value, device) for device in _devices_of(destinations)]
        is_several = isinstance(destinations, DistributedValues) and len(copies) > 1
        return Mirrored(copies) if is_several else copies[0]

    # -- variables ------------------------------------------------------------------------------

    def create_variable(self, recipe: VariableRecipe) -> Variable:
        """Makes a component per local device; all start with the first process's value.

        Raises:
            ValueError: The synchronization is NONE, or a mean of integers is asked for.
        """
        if recipe.synchronization is VariableSynchronization.NONE:
            raise ValueError(
                "`NONE` variable synchronization mode is not supported with this strategy. Use AUTO,"
                " ON_WRITE or ON_READ."
            )
        with DeviceScope(self._devices[0]):
            value = self._agreed(recipe.initial_tensor())
        _check_mean(recipe, value.dtype)
        components = [self._component(recipe, value, index) for index in range(self.num_local)]
        if recipe.synchronization is VariableSynchronization.ON_READ:
            return SyncOnReadVariable(self.container, self, components, recipe)
        on_write = dataclasses.replace(recipe, synchronization=VariableSynchronization.ON_WRITE)
        return MirroredVariable(self.container, self, components, on_write)

    def _agreed(self, value: Tensor) -> Tensor:
        """Returns the first process's value; each process's own was needed for shape and dtype."""
        if not self.is_multi_worker:
            return value
        return make(self._cross_replica.broadcast(value.host(), root=0))

    def _component(self, recipe: VariableRecipe, value: Tensor, index: int) -> Variable:
        name = recipe.base_name
        with DeviceScope(self._devices[index]):
            return plain_variable(
                recipe, value=value, name=f"{name}/replica_{index}" if index else name
            )

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        group: bool = True,  # noqa: FBT001, FBT002  # TensorFlow's signature
    ) -> Any:
        """Calls `fn(component, *args)` on each component under its device."""
        if not isinstance(var, DistributedVariable):
            raise AssertionError(  # noqa: TRY004  # TensorFlow's error
                f"update takes a variable that was made in this strategy's scope, not {var!r}."
            )
        results = []
        for index, component in enumerate(var.values):
            own_args = [select_replica(index, arg) for arg in args]
            own_kwargs = {n: select_replica(index, v) for n, v in (kwargs or {}).items()}
            with DeviceScope(component.device):
                result = fn(component, *own_args, **own_kwargs)
            # What assignments return is grouped as it is read now: the variable may change again.
            is_assigned = isinstance(result, UnreadVariable) and result.is_of(component)
            is_read = is_assigned and group and self.num_local > 1
            results.append(result.value() if is_read else result)
        regrouped = regroup(results, Mirrored)
        if not group:
            return nest.map_structure(self.local_results, regrouped)
        return nest.map_structure(_only_tensors, regrouped)

    def aggregate(self, value: object, aggregation: VariableAggregation) -> Any:
        """Returns what each component is given: the sum, the mean, or the first replica's value."""
        if aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            first = self.local_results(value)[0]
            if not isinstance(first, int | float):
                first.dtype  # noqa: B018  # AttributeError for lists and text, as in TensorFlow
            return first
        return self.reduce(ReduceOp.from_variable_aggregation(aggregation), value)

    def read_on_read(self, var: DistributedVariable) -> Any:
        """Returns the sum or mean of the components over all replicas."""
        op = ReduceOp.from_variable_aggregation(var.aggregation)
        return self._combined(op, [[component.value() for component in var.values]])[0]

    # -- combining ------------------------------------------------------------------------------

    def _parts(self, value: Any) -> Sequence[Any]:
        """Returns the local replicas' values of one leaf."""
        if isinstance(value, DistributedValues):
            return value.values
        return [value] * self.num_local

    def _spread(self, tensors: Sequence[Tensor]) -> list[Any]:
        """Returns each tensor for all local replicas, bare if there is one."""
        if self.num_local == 1:
            return list(tensors)
        return [Mirrored([self._copied(t, name) for name in self._devices]) for t in tensors]

    def _copied(self, tensor: Tensor, device: str) -> Tensor:
        with DeviceScope(device):
            return make(tensor.host())

    def _combined(
        self,
        op: ReduceOp,
        leaves: Sequence[Sequence[Any]],
        *,
        options: CommunicationOptions | None = None,
    ) -> list[Tensor]:
        """Returns each leaf, given by its local parts, reduced over all replicas."""
        tensors = [[convert(part) for part in parts] for parts in leaves]
        for parts in tensors:
            _check_one_dtype(parts)
            if parts[0].dtype.name in {"bool", "string"}:
                raise errors.InvalidArgumentError(
                    f"Tensors of type {parts[0].dtype.name} cannot be reduced over replicas. Cast"
                    " them to a number first."
                )
        sums = [_local_sum(parts) for parts in tensors]
        if self.is_multi_worker:
            _check_dtypes(sums)
            sums = self._cross_replica.all_reduce(sums, op, options=options)
        if op is ReduceOp.MEAN and not (self.is_multi_worker and self.num_local == 1):
            sums = [_divided(array, self.num_local) for array in sums]
        return [make(np.asarray(array)) for array in sums]

    def _joined(
        self,
        parts: Sequence[Any],
        axis: int,
        *,
        options: CommunicationOptions | None = None,
    ) -> Tensor:
        """Returns one leaf, given by its local parts, joined over all replicas."""
        tensors = [convert(part) for part in parts]
        _check_one_dtype(tensors)
        if self.is_multi_worker or tensors[0].dtype.name != "int32":  # that is joined on the host
            _check_axis(axis, tensors[0])
        if not self.is_multi_worker and tensors[0].dtype.name not in _REDUCIBLE:
            raise TypeError(
                f"A tensor of type {tensors[0].dtype.name} cannot be gathered. Cast it to one of"
                f" {sorted(_REDUCIBLE)}."
            )
        if any(tensor.ndim == 0 for tensor in tensors):
            is_on_host = not self.is_multi_worker and tensors[0].dtype.name == "int32"
            kind = errors.InvalidArgumentError if is_on_host else ValueError
            raise kind("A scalar cannot be gathered: it has no axis. Reshape it to [1] first.")
        local = concat(tensors, axis)
        if not self.is_multi_worker:
            return local
        return make(self._cross_replica.all_gather(local.host(), axis=axis, options=options))


def _devices_of(destinations: Any) -> tuple[str, ...]:
    """Returns the names of the devices that a name, a variable or a tensor stands for."""
    if isinstance(destinations, DistributedValues):
        return tuple(part.device for part in destinations.values)
    if not isinstance(destinations, str) and not is_tensor(destinations):
        raise ValueError(
            f"destinations must be a device's name, a variable or a tensor, not {destinations!r}."
            " Write for example '/cpu:0'."
        )
    return (canonicalize(getattr(destinations, "device", destinations)),)


def _on_device(value: Any, device: str) -> Any:
    """Returns a tensor, or each of the values per replica, on a device."""
    if isinstance(value, PerReplica):
        return PerReplica([_on_device(part, device) for part in value.values])
    with DeviceScope(device):
        return identity(value)


def _check_axis(axis: object, tensor: Tensor) -> None:
    """Raises AssertionError for what is no number, ValueError for an axis that the tensor lacks."""
    if isinstance(axis, str):
        raise AssertionError(f"axis must be a whole number, not {axis!r}.")  # noqa: TRY004  # TensorFlow's
    if tensor.ndim and not 0 <= int(convert(axis)) < tensor.ndim:
        raise ValueError(
            f"axis {axis} is not one of a tensor of shape {tensor.shape}. Give 0 to {tensor.ndim - 1}."
        )


def _local_sum(tensors: Sequence[Tensor]) -> Any:
    """Returns the sum of the local replicas' arrays, in the order of replicas.

    Raises:
        InvalidArgumentError: The shapes differ.
    """
    total = tensors[0].host()
    for tensor in tensors[1:]:
        array = tensor.host()
        if array.shape != total.shape:
            raise errors.InvalidArgumentError(
                "The replicas' tensors have different shapes:"
                f" {[str(each.shape) for each in tensors]}. Reduce them to one shape first."
            )
        total = total + array
    return total


def _divided(total: Any, count: int) -> Any:
    return np.divide(total, count, dtype=mean_dtype(total.dtype))


def _only_tensors(leaf: Any) -> Any:
    """Returns a leaf of what `update` gives; as in TensorFlow, differing texts and the like get lost."""
    is_mixed = isinstance(leaf, Mirrored) and not all(is_tensor(part) for part in leaf.values)
    return None if is_mixed else leaf


def _is_mirrored(value: object) -> bool:
    return isinstance(value, Mirrored | MirroredVariable)


def _check_tensors(leaves: Sequence[Any], is_multi_worker: bool) -> None:  # noqa: FBT001
    for leaf in leaves:
        if not is_tensor(leaf) and not isinstance(leaf, np.ndarray):
            kind = ValueError if is_multi_worker else AttributeError
            raise kind(f"all_reduce takes tensors, not {leaf!r}. Make it one with tf.constant.")


def _check_one_dtype(parts: Sequence[Tensor]) -> None:
    """Raises InvalidArgumentError where the local replicas' tensors have different dtypes."""
    if len({part.dtype for part in parts}) > 1:
        raise errors.InvalidArgumentError(
            f"The replicas' tensors have different types: {[part.dtype.name for part in parts]}. Cast"
            " them to one, with tf.cast."
        )


def _check_dtypes(arrays: Sequence[Any]) -> None:
    for array in arrays:
        if array.dtype.name not in _REDUCIBLE:
            raise errors.InvalidArgumentError(
                f"A tensor of type {array.dtype} cannot be reduced over workers. Cast it to one of"
                f" {sorted(_REDUCIBLE)}."
            )


def _check_mean(recipe: VariableRecipe, dtype: DType) -> None:
    if recipe.aggregation is VariableAggregation.MEAN and not dtype.is_floating:
        raise ValueError(
            f"Aggregation MEAN needs a float variable, but this one is {dtype.name}: a mean of"
            " integers would be rounded. Use SUM, or a float."
        )
