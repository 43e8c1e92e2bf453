"""Where no strategy is entered: the default one, and how code asks which one is.

The default strategy has one replica, changes nothing and is never "entered". What is current is kept
in `values.scope`; the functions here are TensorFlow's names for reading it.

Source: tensorflow/python/distribute/distribute_lib.py (_DefaultDistributionStrategy), 2.21; cases
`one_12`, `one_16`, `one_17`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clustersim.strategies.base import Strategy
from clustersim.strategies.one_device import OneDeviceExtended
from clustersim.strategies.replica_context import ReplicaContext
from clustersim.values import scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from clustersim.data.dataset import Dataset
    from clustersim.data.distributed import InputOptions
    from clustersim.values.variable import Variable, VariableRecipe


class _DefaultReplicaContext(ReplicaContext):
    """Replica 0 of 1, for code outside of every strategy."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """A plain 0; inside `run` it is a tensor."""
        return 0

    def merge_call(
        self,
        merge_fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `merge_fn(strategy, *args)` at once."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))


class _DefaultExtended(OneDeviceExtended):
    """One replica, on whatever device is current."""

    def __init__(self) -> None:
        super().__init__("/device:CPU:0")

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """Raises RuntimeError: there are none of its own."""
        raise RuntimeError("worker_devices is not defined for the default strategy. Make one.")

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn`; nothing is entered."""
        return fn(*args, **(kwargs or {}))

    def create_variable(self, recipe: VariableRecipe) -> Variable:
        """Never called: the default strategy is never current."""
        raise NotImplementedError


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


class _DefaultStrategy(Strategy):
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


DEFAULT_STRATEGY = _DefaultStrategy()
_DEFAULT_CONTEXT = _DefaultReplicaContext(DEFAULT_STRATEGY, 0, 0)


def has_strategy() -> bool:
    """Returns whether a strategy is entered (the default one never is)."""
    return scope.current() is not None


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
    scope.install(None if strategy is None else strategy.extended.cross_mode)
