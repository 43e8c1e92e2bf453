"""Variables of one component per local replica, and how replicas come to agree on them.

    MirroredVariable      aggregated when replicas write: SUM, MEAN or the first replica's value
    SyncOnReadVariable    written by each replica alone, aggregated when it is read outside

Strategies make them. A distributed variable asks its strategy, through `scope`, for all that crosses
replicas; what crosses processes is the strategy's affair alone.

Source: tensorflow/python/distribute/values.py and values_util.py, 2.21; cases `mirrored_12`..`16`,
`mw_04`..`mw_10`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clustersim.devices.current import requested_device
from clustersim.values import scope
from clustersim.values.array_ops import cast
from clustersim.values.dtypes import DType
from clustersim.values.per_replica import Container
from clustersim.values.recipe import VariableAggregation, VariableRecipe
from clustersim.values.shapes import TensorShape
from clustersim.values.tensor import Tensor, convert, is_tensor
from clustersim.values.variable import Change, UnreadVariable, Variable, set_component


class DistributedVariable(Container, Variable):
    """A variable of one component per local replica.

    Args:
        strategy: The strategy (the object that `get_strategy` returns).
        replicas: The same, as variables see it.
        components: One plain variable per local replica; this object takes them over.
        recipe: What was asked for, with the synchronization that it came to.
    """

    def __init__(
        self,
        strategy: Any,
        replicas: scope.Replicas,
        components: Sequence[Variable],
        recipe: VariableRecipe,
    ) -> None:
        Container.__init__(self, components)
        self._strategy = strategy
        self._replicas = replicas
        self._recipe = recipe
        self._container = None
        for component in components:
            component.belongs_to(self)

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope it was made."""
        return self._strategy

    @property
    def name(self) -> str:
        """The name of the first component."""
        return self._primary.name

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._primary.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape, that of each component."""
        return self._primary.shape

    @property
    def device(self) -> str:
        """The device of the component that is read here."""
        return self._nearest().device

    @property
    def _primary(self) -> Variable:
        first: Variable = self.values[0]
        return first

    def _nearest(self) -> Variable:
        """Returns the replica's own component, else the one on the current device or the first."""
        mode = scope.current()
        if mode is not None and mode.replica is not None:
            own: Variable = self.values[mode.replica.local_index]
            return own
        here = requested_device()
        return next((part for part in self.values if part.device == here), self._primary)

    @contextmanager
    def _entered(self) -> Iterator[scope.Mode]:
        """Enters the strategy in cross-replica context unless some strategy is entered already.

        Raises:
            RuntimeError: Another strategy is.
        """
        mode = scope.current()
        if mode is not None:
            self._check_strategy(mode)
            yield mode
            return
        mode = scope.Mode(self._strategy, self._replicas)
        token = scope.enter(mode)
        try:
            yield mode
        finally:
            scope.leave(token)

    def _check_strategy(self, mode: scope.Mode) -> None:
        if mode.strategy is not self._strategy:
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: variable '{self.name}' belongs to"
                f" {self._strategy!r}, but {mode.strategy!r} is entered. Leave its scope first."
            )

    def __tensor__(self) -> Tensor:
        if scope.current() is None:  # the default replica context, whose id is 0
            return self._primary.value()
        return self._nearest().value()

    def value(self) -> Tensor:
        """Returns the present value, of this replica or as the synchronization says."""
        return self.__tensor__()

    def read_value(self) -> Tensor:
        """Returns what `value` returns, on the current device.

        Raises:
            RuntimeError: Another strategy is entered.
        """
        with self._entered():
            return super().read_value()

    def numpy(self) -> Any:
        """Returns the present value as NumPy has it. Raises as `read_value`."""
        with self._entered():
            return super().numpy()

    def __float__(self) -> float:
        raise TypeError(
            f"float() argument must be a string or a real number, not '{type(self).__name__}'. Use"
            " its numpy()."
        )

    def __int__(self) -> int:
        raise TypeError(
            f"int() argument must be a string or a real number, not '{type(self).__name__}'. Use"
            " its numpy()."
        )

    def __bool__(self) -> bool:
        return bool(self.value())

    def _write(self, change: Change, value: object) -> Any:
        with self._entered() as mode:
            if mode.replica is None:
                return self._write_all(change, value)
            return self._write_in_replica(mode.replica, change, value)

    def _write_all(self, change: Change, value: object) -> Any:
        def write(component: Variable, own: object) -> UnreadVariable:
            return UnreadVariable(change(component, own))

        return self._replicas.update(self, write, args=(value,))

    def _write_in_replica(self, replica: scope.InReplica, change: Change, value: object) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return Container.__repr__(self)

    def __str__(self) -> str:
        return Container.__str__(self)


class MirroredVariable(DistributedVariable):
    """Components that are aggregated when replicas write: SUM, MEAN or the first replica's value.

    With aggregation NONE each replica writes its own component, and they may come to differ.
    """

    def _write_in_replica(self, replica: scope.InReplica, change: Change, value: object) -> Any:
        if self.aggregation is VariableAggregation.NONE:
            return UnreadVariable(change(self._nearest(), value))
        if self.aggregation is VariableAggregation.MEAN and not self.dtype.is_floating:
            _refuse_integer_mean(self.dtype, value)

        def write(_strategy: object, values: object) -> Any:
            return self._write_all(change, self._replicas.aggregate(values, self.aggregation))

        return replica.merge_call(write, args=(value,))


class SyncOnReadVariable(DistributedVariable):
    """Components that each replica writes alone, and that are aggregated when read outside."""

    def __tensor__(self) -> Tensor:
        mode = scope.current()
        if mode is not None and mode.replica is not None:
            self._check_strategy(mode)
            return self._nearest().value()
        with self._entered():
            return self._aggregated()

    def value(self) -> Tensor:
        """Returns this replica's component, outside of replicas the aggregate.

        Raises:
            ValueError: The aggregation is NONE, and this is outside of replicas.
        """
        return self.__tensor__()

    def _aggregated(self) -> Tensor:
        if self.aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"Variable '{self.name}' has aggregation NONE, so its components cannot be read as"
                " one value. Give it an aggregation, or use strategy.experimental_local_results."
            )
        if self.aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return self._primary.value()
        return convert(self._replicas.read_on_read(self))

    def _write_in_replica(self, replica: scope.InReplica, change: Change, value: object) -> Any:
        del replica  # nobody else is concerned
        return UnreadVariable(change(self._nearest(), value))

    def _write_all(self, change: Change, value: object) -> Any:
        if self.aggregation is VariableAggregation.SUM:
            if change is not set_component:
                raise ValueError(
                    f"Variable '{self.name}' is summed when read, so adding to it outside of"
                    " strategy.run would count once per replica. Assign to it, or add inside."
                )
            value = self._share(value)
        super()._write_all(change, value)
        return self._aggregated()  # with aggregation NONE it is written, and then cannot be read

    def _share(self, value: object) -> Tensor:
        """Returns what each component gets so that their sum is `value`."""
        total = convert(value, self.dtype)
        return cast(total / self._strategy.num_replicas_in_sync, self.dtype)


def _refuse_integer_mean(dtype: DType, value: object) -> None:
    if is_tensor(value):
        raise ValueError(
            f"A variable of type {dtype.name} cannot take the mean of its replicas' tensors: it"
            " would be rounded. Use SUM, or a float variable."
        )
