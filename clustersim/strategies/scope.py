"""Entering a strategy: the scope object, and the checks of where a call is allowed.

    outside of everything     calls of any strategy are allowed
    in s.scope()              only calls of s; entering s again is allowed
    inside s.run              no call that speaks for all replicas

Source: tensorflow/python/distribute/distribute_lib.py (_CurrentDistributionContext), 2.21; cases
`one_03`, `one_11`, `one_13`, `one_17`.
"""

from contextvars import Token
from types import TracebackType
from typing import Any

from clustersim.values import scope
from clustersim.values.scope import Mode


class StrategyScope:
    """What `strategy.scope()` returns. One object is good for one `with`, nested or not.

    Raises:
        RuntimeError: On entering: another strategy is entered, or this is inside `run`.
        AttributeError: On entering: the object was used before. As in TensorFlow the strategy is
            then current all the same; make a new one with `strategy.scope()`.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode
        self._token: Token[Mode | None] | None = None
        self._num_nested = 0
        self._is_used = False

    def __enter__(self) -> Any:
        if scope.current() is not None:
            require_cross_replica(self._mode.strategy)
            self._num_nested += 1
            return self._mode.strategy
        self._token = scope.enter(self._mode)
        if self._is_used:
            raise AttributeError(
                "This scope object was used before. Call strategy.scope() again for each `with`."
            )
        self._is_used = True
        return self._mode.strategy

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._num_nested:
            self._num_nested -= 1
        elif self._token is not None:
            scope.leave(self._token)


def require_cross_replica(strategy: object) -> None:
    """Raises RuntimeError unless code may speak for all replicas of `strategy` here."""
    mode = scope.current()
    if mode is None or (mode.strategy is strategy and mode.replica is None):
        return
    if mode.strategy is not strategy:
        raise RuntimeError(
            "Mixing different tf.distribute.Strategy objects:"
            f" {strategy!r} is not the one that is entered, {mode.strategy!r}. Leave its scope"
            " first."
        )
    raise RuntimeError(
        "This call speaks for all replicas and is not allowed inside strategy.run. Use"
        " tf.distribute.get_replica_context().merge_call()."
    )


def require_replica(context: object) -> None:
    """Raises RuntimeError unless `context` is the replica context of the running code."""
    mode = scope.current()
    if mode is None or mode.replica is not context:
        raise RuntimeError(
            "This replica context is not the current one: it is good only inside the strategy.run"
            " that made it. Ask tf.distribute.get_replica_context() again."
        )
