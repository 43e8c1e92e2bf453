"""Where no strategy is entered: the default one, and how code asks which one is.

The default strategy has one replica, changes nothing and never counts as "entered", though code that
its `run` or its context's `merge_call` calls is in a context of its own. What is current is kept in
`values.scope`; the functions here are TensorFlow's names for reading it.

Source: tensorflow/python/distribute/distribute_lib.py (_DefaultDistributionStrategy), 2.21; cases
`one_12`, `one_16`, `one_17`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clustersim.data.sharding import InputContext
from clustersim.strategies.base import Strategy
from clustersim.strategies.one_device import OneDeviceExtended
from clustersim.strategies.replica_context import ReplicaContext
from clustersim.strategies.scope import require_replica
from clustersim.values import scope
from clustersim.values.variable import plain_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from clustersim.data.dataset import Dataset
    from clustersim.data.distributed import InputOptions
    from clustersim.values.recipe import VariableRecipe
    from clustersim.values.variable import Variable


class _DefaultReplicaContext(ReplicaContext):
    """Replica 0 of 1, for code outside of every strategy."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """A plain 0; inside `run` it is a tensor."""
        return 0

    @property
    def devices(self) -> Sequence[Any]:
        """One empty name: no device was asked for."""
        return ("",)

    def merge_call(
        self,
        merge_fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Returns what `merge_fn(strategy, *args)` returns, called in cross-replica context.

        Raises:
            RuntimeError: A strategy is entered, or this is inside `run` or a merge function.
        """
        if scope.current() is not None:
            require_replica(self)
        return self.strategy.extended.merge_call(self, merge_fn, args, kwargs or {})


class _DefaultExtended(OneDeviceExtended):
    """One replica, on whatever device is current."""

    def __init__(self) -> None:
        super().__init__("/device:CPU:0")

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Raises RuntimeError: there are none of its own."""
        raise RuntimeError("worker_devices is not defined for the default strategy. Make one.")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """Raises RuntimeError: there are none of its own."""
        raise RuntimeError("parameter_devices is not defined for the default strategy. Make one.")

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn` as replica 0 of 1; the device stays as it is."""
        token = scope.enter(self._replica_mode)
        try:
            return fn(*args, **(kwargs or {}))
        finally:
            scope.leave(token)

    def create_variable(self, recipe: VariableRecipe) -> Variable:
        """Returns a plain variable on the current device: inside `run` and in merge functions."""
        return plain_variable(recipe)

    def variable_created_in_scope(self, v: Variable) -> bool:
        """Returns whether a variable was made in no strategy's scope."""
        return v.distribute_strategy is None


class _DefaultScope:
    """`default_strategy.scope()`: allowed only where no strategy is entered; changes nothing."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy

    def __enter__(self) -> Strategy:
        if has_strategy():
            raise RuntimeError("Must not nest tf.distribute.Strategy scopes.")
        return self._strategy

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


class _DefaultDistributionStrategy(Strategy):
    """What `get_strategy()` returns where nothing was entered."""

    def __init__(self) -> None:
        super().__init__(_DefaultExtended())

    def scope(self) -> AbstractContextManager[Any]:
        """Returns a context that changes nothing."""
        return _DefaultScope(self)

    def experimental_distribute_dataset(
        self,
        dataset: Dataset,
        options: InputOptions | None = None,
    ) -> Any:
        """Returns the dataset itself."""
        del options
        return dataset

    def distribute_datasets_from_function(
        self,
        dataset_fn: Callable[[InputContext], Dataset],
        options: InputOptions | None = None,
    ) -> Any:
        """Returns the dataset that `dataset_fn` makes for one pipeline of one replica."""
        del options
        return dataset_fn(InputContext())


DEFAULT_STRATEGY = _DefaultDistributionStrategy()
_DEFAULT_CONTEXT = _DefaultReplicaContext(DEFAULT_STRATEGY, 0, 0)


def has_strategy() -> bool:
    """Returns whether a strategy is entered (the default one never is)."""
    mode = scope.current()
    return mode is not None and mode.strategy is not DEFAULT_STRATEGY


def get_strategy() -> Strategy:
    """Returns the strategy that is entered, else the default one."""
    mode = scope.current()
    if mode is None:
        return DEFAULT_STRATEGY
    strategy: Strategy = mode.strategy
    return strategy


def get_replica_context() -> Any:
    """Returns the context of the running replica; None in cross-replica context.

    Outside of every strategy it is that of replica 0 of 1.
    """
    mode = scope.current()
    return _DEFAULT_CONTEXT if mode is None else mode.replica


def in_cross_replica_context() -> bool:
    """Returns whether the running code speaks for all replicas of an entered strategy."""
    mode = scope.current()
    return mode is not None and mode.replica is None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Enters a strategy for the rest of this thread; None leaves it.

    Raises:
        RuntimeError: Called inside `strategy.scope()` or `run`.
    """
    mode = scope.current()
    if mode is not None and not mode.is_installed:
        raise RuntimeError("Must not be called inside a `tf.distribute.Strategy` scope.")
    if strategy is None or strategy is DEFAULT_STRATEGY:
        scope.install(None)
    else:
        scope.install(strategy.extended.cross_mode)
