"""What a strategy measured: events folded into cumulative counters.

    compute     inside steps, outside of collectives and input
    waiting     from entering a collective or an empty prefetch buffer to the first byte or item
    network     the rest of the collectives

Whoever reads them takes two snapshots and knows the wall time between them; what the three leave of
it is "other" (the program's own work between steps). Knows nothing of what is computed.
"""

import threading
from typing import TypedDict

from clustersim.events import CollectiveFinished, Event, ItemTaken, StepFinished


class Counters(TypedDict):
    """Cumulative since the strategy was made."""

    steps: int
    compute_s: float
    waiting_s: float
    network_s: float
    size_bytes: int
    """This replica's buffers that were all-reduced."""


class Metrics:
    """A recorder that counts. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all fields below
        self._steps = 0
        self._compute_s = 0.0
        self._waiting_s = 0.0
        self._network_s = 0.0
        self._size_bytes = 0

    @property
    def blocked_s(self) -> float:
        """All the time so far in collectives and waiting for input; read it around a step."""
        return self._waiting_s + self._network_s

    def record(self, event: Event) -> None:
        """Adds what `event` says; events of other types are ignored."""
        with self._lock:
            if isinstance(event, StepFinished):
                self._steps += 1
                self._compute_s += event.duration_s - event.blocked_s
            elif isinstance(event, CollectiveFinished):
                self._waiting_s += event.waiting_s
                self._network_s += event.network_s
                if event.kind == "all_reduce":
                    self._size_bytes += event.size_bytes
            elif isinstance(event, ItemTaken):
                self._waiting_s += event.waiting_s

    def step_finished(self, *, duration_s: float, blocked_s: float) -> None:
        """Does what `record` does with a StepFinished; the event itself costs more than the rest."""
        with self._lock:
            self._steps += 1
            self._compute_s += duration_s - blocked_s

    def __deepcopy__(self, memo: object) -> "Metrics":
        """Returns counters that begin anew: a copied strategy has run nothing yet."""
        return Metrics()

    def snapshot(self) -> Counters:
        """Returns the counters at this moment."""
        with self._lock:
            return Counters(
                steps=self._steps,
                compute_s=self._compute_s,
                waiting_s=self._waiting_s,
                network_s=self._network_s,
                size_bytes=self._size_bytes,
            )
