"""Which strategy and replica the running code is in: one of the ambient values.

    no mode                     nobody entered a strategy; counts as replica 0 of 1
    mode without a replica      cross-replica context: code that speaks for all replicas
    mode with a replica         inside `Strategy.run`: code of one replica

Strategies set the mode; variables and per-replica values read it. A new thread has none. What a
variable asks of its strategy is the protocol here, so that neither imports the other.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, NamedTuple, Protocol


class InReplica(Protocol):
    """One replica, as a variable sees it."""

    @property
    def local_index(self) -> int:
        """Which of this process's replicas it is, from 0."""
        ...

    def merge_call(
        self,
        merge_fn: Callable[..., object],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Returns what `merge_fn(strategy, *args)` returns in cross-replica context, for all."""
        ...


class Replicas(Protocol):
    """A strategy, as a variable sees it; called in cross-replica context."""

    def create_variable(self, recipe: Any) -> Any:
        """Returns the variable that `recipe` (a `VariableRecipe`) describes."""
        ...

    def update(
        self,
        var: Any,
        fn: Callable[..., object],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn` on each component with its own part of `args`; returns the results."""
        ...

    def aggregate(self, value: object, aggregation: Any) -> Any:
        """Returns what each component is given when replicas assign `value`."""
        ...

    def read_on_read(self, var: Any) -> Any:
        """Returns the aggregate of the components of a variable that is synchronized on read."""
        ...


class Mode(NamedTuple):
    """What the running code is in."""

    strategy: Any
    replicas: Replicas
    replica: InReplica | None = None
    """None in cross-replica context."""
    is_installed: bool = False
    """Whether it was entered for the rest of the thread, not by a `with`."""


_mode: ContextVar[Mode | None] = ContextVar("clustersim_strategy", default=None)


def current() -> Mode | None:
    """Returns the current mode, None where no strategy was entered."""
    return _mode.get()


def enter(mode: Mode) -> Token[Mode | None]:
    """Makes a mode current; hand the token to `leave`."""
    return _mode.set(mode)


def leave(token: Token[Mode | None]) -> None:
    """Restores what was current before `enter` returned `token`."""
    _mode.reset(token)


def install(mode: Mode | None) -> None:
    """Makes a mode current for the rest of this thread, None for none."""
    _mode.set(None if mode is None else mode._replace(is_installed=True))
