"""`Strategy`: what programs call; `StrategyExtended`: what each kind of strategy supplies.

    Strategy           checks where it is called, measures, and leaves the rest to its extended half
    StrategyExtended   how many replicas on which devices, how they run, how their values combine

A kind of strategy is a `StrategyExtended`: `OneDeviceExtended`, `ReplicatedExtended` (several
devices, several processes), `DefaultExtended`. A strategy class only makes the right one.

Source: tensorflow/python/distribute/distribute_lib.py, 2.21.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from clustersim.clock import SYSTEM_CLOCK
from clustersim.collectives.schedule import ReduceOp
from clustersim.data.dataset import Dataset
from clustersim.data.distributed import (
    DistributedDataset,
    Distribution,
    InputOptions,
    distribute,
    distribute_from_function,
)
from clustersim.observe.metrics import Counters, Metrics
from clustersim.strategies.logical_devices import LogicalDevices, Placement
from clustersim.strategies.replica_context import ReplicaContext, ValueContext, as_reduce_op
from clustersim.strategies.scope import StrategyScope, require_cross_replica
from clustersim.values import scope
from clustersim.values.array_ops import cast, constant
from clustersim.values.dtypes import int64
from clustersim.values.recipe import VariableRecipe
from clustersim.values.reduce_ops import reduce_sum
from clustersim.values.tensor import Tensor, convert
from clustersim.values.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clustersim.cluster.resolvers import ClusterResolver
    from clustersim.data.sharding import InputContext
    from clustersim.strategies.options import CommunicationOptions


class StrategyExtended(ABC):
    """The half of a strategy that differs between kinds. Called in the right context only.

    Args:
        devices: Full names of the local replicas' devices; they need not exist.
        cluster_resolver: Which resolver the strategy was made from.
        is_chief: Whether this process saves checkpoints and summaries.
        metrics: Counts what happens.
    """

    experimental_between_graph = False
    experimental_should_init = True
    experimental_require_static_shapes = False

    def __init__(
        self,
        devices: Sequence[str],
        *,
        cluster_resolver: ClusterResolver | None = None,
        is_chief: bool = True,
        metrics: Metrics | None = None,
    ) -> None:
        self._devices = tuple(devices)
        self.cluster_resolver = cluster_resolver
        self.should_checkpoint = is_chief
        self.should_save_summary = is_chief
        self.metrics = metrics or Metrics()
        self.logical_devices = LogicalDevices(1, lambda replica, _: self._devices[replica])
        self.container: Strategy
        self.cross_mode: scope.Mode

    def attach(self, strategy: Strategy) -> None:
        """Learns whose half this is; `Strategy` calls it once."""
        self.container = strategy
        self.cross_mode = scope.Mode(strategy, self)

    # -- what it is -----------------------------------------------------------------------------

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices on which this process's replicas compute."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices on which this process's variables live."""
        return self._devices

    def non_slot_devices(self, var_list: Sequence[Variable] | None) -> tuple[str, ...]:
        """Returns the devices for variables that belong to no other variable."""
        del var_list  # all variables of a strategy have the same devices
        return self._devices

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are in all processes."""
        return 1

    def measurements(self) -> Counters:
        """Returns what was measured so far. TensorFlow has no such method."""
        return self.metrics.snapshot()

    def placement(self, tensor: Any) -> Placement:
        """Returns which logical device holds which slice of a tensor; TensorFlow has no such method.

        What the logical-device calls did not return lies on logical device 0 of its replica.
        """
        return self.logical_devices.placement(tensor)

    # -- replicas -------------------------------------------------------------------------------

    @abstractmethod
    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn` on each local replica; returns a nest of what they returned."""

    def merge_call(
        self,
        context: ReplicaContext,  # noqa: ARG002  # matters to strategies of several local replicas
        merge_fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> Any:
        """Calls `merge_fn` once in cross-replica context; each replica gets its part of the result."""
        token = scope.enter(self.cross_mode)
        try:
            return merge_fn(self.container, *args, **kwargs)
        finally:
            scope.leave(token)

    @abstractmethod
    def all_reduce_leaves(
        self,
        context: ReplicaContext,
        op: ReduceOp,
        leaves: list[Any],
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Returns each leaf reduced over all replicas; called by every replica."""

    @abstractmethod
    def all_gather_leaves(
        self,
        context: ReplicaContext,
        leaves: list[Any],
        axis: int,
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Returns each leaf joined over all replicas; called by every replica."""

    # -- values ---------------------------------------------------------------------------------

    @abstractmethod
    def reduce(self, op: ReduceOp, value: Any) -> Any:
        """Returns one value of what the replicas have."""

    @abstractmethod
    def gather(self, value: Any, axis: int) -> Any:
        """Returns what the replicas have, joined along an axis in the order of replicas."""

    @abstractmethod
    def local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns what each local replica has."""

    @abstractmethod
    def values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Returns what `value_fn` returns for each local replica."""

    @abstractmethod
    def distribution(self, options: InputOptions) -> Distribution:
        """Returns how input is spread over the replicas."""

    def reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value: Any,
        destinations: Any,
        options: CommunicationOptions | None = None,
    ) -> Any:
        """Returns `value` reduced, on a device or on the devices of a variable.

        Raises:
            AssertionError: `destinations` is a list.
        """
        del options
        require_cross_replica(self.container)
        if isinstance(destinations, list | tuple):
            raise AssertionError(  # noqa: TRY004  # TensorFlow's error
                f"destinations must be a device or a variable, not {destinations!r}."
            )
        return self.broadcast_to(self.reduce(as_reduce_op(reduce_op), value), destinations)

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: CommunicationOptions | None = None,
    ) -> list[Any]:
        """Returns `reduce_to` of each pair."""
        return [
            self.reduce_to(reduce_op, value, destinations, options)
            for value, destinations in value_destination_pairs
        ]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """Returns `tensor` on a device or on the devices of a variable.

        Raises:
            AssertionError: `destinations` is a list, or nothing.
        """
        if destinations is None or isinstance(destinations, list | tuple):
            raise AssertionError(
                f"destinations must be a device or a variable, not {destinations!r}."
            )
        return tensor

    # -- variables ------------------------------------------------------------------------------

    @abstractmethod
    def create_variable(self, recipe: VariableRecipe) -> Variable:
        """Returns what this strategy makes of `tf.Variable(...)`."""

    @abstractmethod
    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        group: bool = True,  # noqa: FBT001, FBT002  # TensorFlow's signature
    ) -> Any:
        """Calls `fn(component, *args)` on each component under its device."""

    @abstractmethod
    def aggregate(self, value: object, aggregation: Any) -> Any:
        """Returns what each component is given when replicas assign `value`."""

    @abstractmethod
    def read_on_read(self, var: Any) -> Any:
        """Returns the aggregate of a variable that is synchronized on read."""

    def read_var(self, v: Variable) -> Tensor:
        """Returns the value of a variable, aggregated if it is synchronized on read."""
        return v.read_value()

    def variable_created_in_scope(self, v: Variable) -> bool:
        """Returns whether a variable was made in this strategy's scope."""
        return getattr(v, "distribute_strategy", None) is self.container

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[None]:
        """Returns a scope whose variables are placed as another variable is.

        Raises:
            RuntimeError: This strategy's scope is not entered.
        """
        mode = scope.current()
        if mode is None or mode.strategy is not self.container:
            raise RuntimeError(
                "colocate_vars_with needs this strategy's scope. Write `with strategy.scope():`"
                " around it."
            )
        del colocate_with_variable  # all variables of a strategy have the same devices
        return _nothing()

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: object = None) -> Dataset:
        """Returns a dataset of the rows of a NumPy array, or of a nest of them."""
        del session
        return Dataset.from_tensor_slices(numpy_input)


class Strategy:
    """Spreads one program over replicas. Programs make one of its kinds and call its methods.

    Args:
        extended: What this kind supplies.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        extended.attach(self)

    @property
    def extended(self) -> StrategyExtended:
        """The half with the less common calls."""
        return self._extended

    @property
    def cluster_resolver(self) -> Any:
        """The resolver that says where this process stands, None for local strategies.

        Typed as Any, so that programs may write `strategy.cluster_resolver.task_type` as they do.
        """
        return self._extended.cluster_resolver

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are in all processes."""
        return self._extended.num_replicas_in_sync

    def scope(self) -> AbstractContextManager[Any]:
        """Returns a context in which variables are made as this strategy wants them."""
        return StrategyScope(self._extended.cross_mode)

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: object = None,
    ) -> Any:
        """Calls `fn` on each replica, with its part of per-replica arguments.

        Args:
            fn: What to run.
            args: Its arguments; distributed values inside are replaced by the replica's own.
            kwargs: Likewise.
            options: Accepted and without effect.

        Returns:
            What `fn` returned; leaf by leaf a `PerReplica` where the replicas' objects differ.

        Raises:
            ValueError: `args` is no list or tuple.
            TypeError: `kwargs` is no mapping.
            RuntimeError: Called inside `run`, or another strategy is entered.
        """
        del options
        if not isinstance(args, list | tuple):
            raise ValueError(  # noqa: TRY004  # TensorFlow's error
                f"args must be a list or a tuple, not {args!r}. Write args=(x,) for one argument."
            )
        if kwargs and not isinstance(kwargs, Mapping):
            raise TypeError(f"kwargs must be a dict of arguments by name, not {kwargs!r}.")
        require_cross_replica(self)
        extended, metrics = self._extended, self._extended.metrics
        started, blocked_s = SYSTEM_CLOCK.now(), metrics.blocked_s
        try:
            return extended.call_for_each_replica(fn, args, kwargs)
        finally:
            metrics.step_finished(
                duration_s=SYSTEM_CLOCK.now() - started,
                blocked_s=metrics.blocked_s - blocked_s,
            )

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any) -> Any:
        """Returns the sum or mean of `value` over the replicas and, if given, over an axis.

        A mean over an axis is that of all elements of all replicas, however they are spread.

        Raises:
            ValueError: No such reduction, or no such axis.
            TypeError: `value` cannot be reduced, or the axis is no whole number.
            RuntimeError: As `run`.
        """
        require_cross_replica(self)
        if axis is None:
            if not isinstance(reduce_op, ReduceOp | str):
                raise AssertionError(f"reduce_op must be a ReduceOp, not {reduce_op!r}.")
            return self._extended.reduce(as_reduce_op(reduce_op), value)
        op = as_reduce_op(reduce_op)
        hash(axis)  # TensorFlow caches by axis: a list is a TypeError
        call = self._extended.call_for_each_replica
        if op is ReduceOp.SUM:
            return self._extended.reduce(op, call(_sum_over, (value, axis)))
        total, count = call(_sum_and_count_over, (value, axis))
        total = self._extended.reduce(ReduceOp.SUM, total)
        count = self._extended.reduce(ReduceOp.SUM, count)
        return total / cast(count, total.dtype)

    def gather(self, value: Any, axis: int) -> Any:
        """Returns the replicas' tensors joined along an axis, in the order of replicas.

        Raises:
            ValueError, InvalidArgumentError: A tensor is a scalar, or other dimensions differ.
            RuntimeError: As `run`.
        """
        require_cross_replica(self)
        return self._extended.gather(value, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns a tuple of what each replica of this process has."""
        return self._extended.local_results(value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The older name of `experimental_local_results`."""
        return self.experimental_local_results(value)

    def experimental_distribute_dataset(
        self, dataset: Dataset, options: InputOptions | None = None
    ) -> Any:
        """Returns a dataset, batched by the global batch size, divided between the replicas.

        Raises:
            AttributeError: It is no dataset.
            NotImplementedError: The options ask for one dataset per replica.
            IndexError: It is not batched, and there are several replicas.
        """
        return distribute(dataset, self._extended.distribution(options or InputOptions()))

    def distribute_datasets_from_function(
        self,
        dataset_fn: Callable[[InputContext], Dataset],
        options: InputOptions | None = None,
    ) -> DistributedDataset:
        """Returns what `dataset_fn(input_context)` makes, batched by the per-replica batch size.

        It is called once for this process; once for each of its replicas if the options say so.
        """
        distribution = self._extended.distribution(options or InputOptions())
        return distribute_from_function(dataset_fn, distribution)

    def experimental_distribute_datasets_from_function(
        self,
        dataset_fn: Callable[[InputContext], Dataset],
        options: InputOptions | None = None,
    ) -> DistributedDataset:
        """The older name of `distribute_datasets_from_function`."""
        return self.distribute_datasets_from_function(dataset_fn, options)

    def experimental_distribute_values_from_function(
        self, value_fn: Callable[[ValueContext], Any]
    ) -> Any:
        """Returns what `value_fn(value_context)` returns for each replica, for use in `run`."""
        return self._extended.values_from_function(value_fn)

    def experimental_make_numpy_dataset(self, numpy_input: Any) -> Dataset:
        """Returns a dataset of the rows of a NumPy array, or of a nest of them.

        TensorFlow's page has it here; TensorFlow 2.21 on `extended` only.
        """
        return self._extended.experimental_make_numpy_dataset(numpy_input)

    def experimental_assign_to_logical_device(self, tensor: Any, logical_device_id: int) -> Tensor:
        """Returns `tensor`, annotated to lie on one logical device of its replica.

        TensorFlow's page has it here; TensorFlow 2.21 on TPUStrategy only. See `LogicalDevices`.
        """
        return self._extended.logical_devices.assign(tensor, logical_device_id)

    def experimental_split_to_logical_devices(
        self, tensor: Any, partition_dimensions: Sequence[int]
    ) -> Tensor:
        """Returns `tensor`, annotated to be cut into one piece for each logical device.

        TensorFlow's page has it here; TensorFlow 2.21 on TPUStrategy only. See `LogicalDevices`.
        """
        return self._extended.logical_devices.split(tensor, partition_dimensions)

    def experimental_replicate_to_logical_devices(self, tensor: Any) -> Tensor:
        """Returns `tensor`, annotated to lie on every logical device of its replica.

        TensorFlow's page has it here; TensorFlow 2.21 on TPUStrategy only.
        """
        return self._extended.logical_devices.replicate(tensor)

    def __copy__(self) -> Strategy:
        raise RuntimeError("A strategy cannot be copied: its variables belong to this object.")


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _sum_over(value: Any, axis: Any) -> Tensor:
    if isinstance(value, dict):
        raise TypeError(f"A dict cannot be reduced: {value!r}. Reduce each of its values.")
    tensor = convert(value)
    if tensor.dtype.is_bool or not tensor.dtype.is_numpy_compatible:
        raise TypeError(
            f"A tensor of type {tensor.dtype.name} cannot be reduced. Cast it to a number first."
        )
    for one in axis if isinstance(axis, tuple) else (axis,):
        if not isinstance(one, int | np.integer):
            raise TypeError(f"axis must be a whole number or a tuple of them, not {axis!r}.")
        if not -tensor.ndim <= one < tensor.ndim:
            raise ValueError(f"Shape {tensor.shape} has no axis {one}.")
    return reduce_sum(tensor, axis)


def _sum_and_count_over(value: Any, axis: Any) -> tuple[Tensor, Tensor]:
    """Returns the sum, and how many elements it is of (int64)."""
    total = _sum_over(value, axis)
    shape = value.shape  # AttributeError for a Python list, as in TensorFlow
    count = 1
    for one in axis if isinstance(axis, tuple) else (axis,):
        count *= int(shape[one])
    return total, constant(count, int64)
