"""Prefetch: a named thread that keeps a bounded number of items of any iterator ready.

    producer   waits for a free place, makes the next item, puts it down
    consumer   takes the oldest item; the place is free from then on

So at most `bound` items exist that nobody has taken, and item k + 1 is made while the consumer works
on item k. Order is kept; the source's error is raised where its item would have come, with the
traceback of the thread. The thread ends with the source, on `close`, or when the consumer object is
no longer used. Knows nothing of datasets.
"""

import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.events import ItemProduced, ItemTaken, NullRecorder, Recorder

Item = TypeVar("Item")

_CLOSE_S = 5.0
"""How long `close` waits for a source that is in the middle of an item."""


@dataclass(frozen=True, slots=True)
class _End:
    """Stands behind the last item."""

    failure: BaseException | None = None
    """What the source raised instead of an item."""


class _Buffer(Generic[Item]):
    """What the two sides share; the thread must not know the consumer, so that it can go.

    Two queues and no lock of our own: that hands over an item in two thirds of the time a condition
    takes, and `close` may be called wherever the garbage collector happens to run.
    """

    def __init__(self, bound: int, recorder: Recorder) -> None:
        self.items: SimpleQueue[Item | _End] = SimpleQueue()
        self.places: SimpleQueue[None] = SimpleQueue()
        self.is_closed = False
        self.recorder = recorder
        for _ in range(bound):
            self.places.put(None)

    def wait_for_place(self) -> bool:
        """Takes a free place; returns False when nobody wants more."""
        self.places.get()
        return not self.is_closed

    def close(self) -> None:
        """Says that nobody wants more: frees what is ready, and wakes both sides."""
        self.is_closed = True
        try:
            while True:
                self.items.get_nowait()
        except Empty:
            self.items.put(_End())
            self.places.put(None)


class Prefetch(Iterator[Item]):
    """Iterates over what a background thread makes ahead. For one consumer thread.

    Args:
        source: Makes the iterator; called in the thread, as is the iterator.
        bound: How many items may be ready that were not taken; at least 1.
        recorder: Hears `ItemProduced` and `ItemTaken`.
        clock: What times the waits.

    Raises:
        ValueError: `bound` is less than 1.
    """

    def __init__(
        self,
        source: Callable[[], Iterator[Item]],
        *,
        bound: int,
        recorder: Recorder | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        if bound < 1:
            raise ValueError(f"bound is {bound!r}. A prefetch holds at least 1 item.")
        self._buffer: _Buffer[Item] = _Buffer(bound, recorder or NullRecorder())
        self._clock = clock
        self._num_taken = 0
        self._is_over = False
        # Daemon: an iterator that the program forgets must not keep the process alive.
        self._thread = threading.Thread(
            target=_produce, args=(source, self._buffer), name="cs-data-prefetch", daemon=True
        )
        self._finalizer = weakref.finalize(self, self._buffer.close)
        self._thread.start()

    def __next__(self) -> Item:
        buffer = self._buffer
        if self._is_over or buffer.is_closed:
            raise StopIteration
        is_waiting = buffer.items.empty()
        started = self._clock.now()
        item = buffer.items.get()
        if isinstance(item, _End):
            self._is_over = True
            raise item.failure or StopIteration
        waiting_s = self._clock.now() - started if is_waiting else 0.0
        buffer.recorder.record(ItemTaken(index=self._num_taken, waiting_s=waiting_s))
        buffer.places.put(None)  # after the record, so that the events show the bound
        self._num_taken += 1
        return item

    def close(self) -> None:
        """Ends the thread; does nothing the second time."""
        self._finalizer()
        if threading.current_thread() is not self._thread:
            self._thread.join(_CLOSE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _produce(source: Callable[[], Iterator[Item]], buffer: _Buffer[Item]) -> None:
    """The thread: a free place first, then an item, so that none is made beyond the bound."""
    try:
        iterator = source()
        index = 0
        while buffer.wait_for_place():
            item = next(iterator)
            buffer.recorder.record(ItemProduced(index=index))
            buffer.items.put(item)
            index += 1
    except BaseException as failure:  # noqa: BLE001  # a thread's outermost line: the consumer raises it
        buffer.items.put(_End(failure))
