"""What happens in a task that is worth drawing, and who wants to hear of it.

Events are values; low floors announce them to a `Recorder` that is handed in and never know who
listens. Durations are in seconds of the task's own monotonic clock.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The base of all events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished(Event):
    """One `Strategy.run` ended, on all local replicas."""

    duration_s: float
    """From entering to leaving, collectives and input inside it included."""
    blocked_s: float = 0.0
    """How much of it was spent in collectives and waiting for input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveFinished(Event):
    """One collective call ended on this rank."""

    kind: str
    step: int
    """The number of the call in its communicator, from 1."""
    size_bytes: int
    """Size of this rank's buffer."""
    waiting_s: float
    """From entering the call to the first byte of a peer."""
    network_s: float
    """The rest of the call."""
    site: str = ""
    """Where the program makes the call, as `train.py:41`."""
    other_site: str = ""
    """Where a peer makes its call, if that is another place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemProduced(Event):
    """A prefetching thread put an item into its buffer."""

    index: int
    """Which item, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTaken(Event):
    """The consumer took an item out of a prefetch buffer."""

    index: int
    waiting_s: float
    """How long the buffer was empty when it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerAwaited(Event):
    """A collective call still waits for a peer; after 2 s, and then once a second."""

    peer: str
    call: str
    """As `all_reduce(SUM, float32 [3, 4]) at train.py:41`."""
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsMixed(Event):
    """Calls at different lines of the program were combined, and perhaps should not have been."""

    meeting: str
    """As `call 3: worker:0 at train.py:12, worker:1 at train.py:31`."""


class Recorder(Protocol):
    """Hears of events. Called from any thread; must not block and must not raise."""

    def record(self, event: Event) -> None:
        """Takes note of `event`."""
        ...


class NullRecorder:
    """Hears nothing."""

    def record(self, event: Event) -> None:
        """Ignores `event`."""


class ListRecorder:
    """Keeps all events, in the order in which they were recorded. For tests and small tools."""

    def __init__(self) -> None:
        self.events: list[Event] = []  # list.append is atomic

    def record(self, event: Event) -> None:
        """Appends `event`."""
        self.events.append(event)
