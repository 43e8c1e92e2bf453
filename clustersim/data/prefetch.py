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
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.events import ItemProduced, ItemTaken, NullRecorder, Recorder

Item = TypeVar("Item")

_CLOSE_S = 5.0
"""How long `close` waits for a source that is in the middle of an item."""

_END = StopIteration()


class _Buffer(Generic[Item]):
    """What the two sides share; the thread must not know the consumer, so that it can go."""

    def __init__(self, bound: int, recorder: Recorder) -> None:
        self.changed = threading.Condition()  # guards the fields below
        self.items: deque[Item] = deque()
        self.failure: BaseException | None = None
        self.is_closed = False
        self.num_free = bound
        self.recorder = recorder

    def wait_for_place(self) -> bool:
        """Takes a free place; returns False when nobody wants more."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_closed or self.num_free)
            self.num_free -= 1
            return not self.is_closed

    def free_place(self) -> None:
        """Says that an item was taken, and wakes the producer."""
        with self.changed:
            self.num_free += 1
            self.changed.notify_all()

    def put(self, item: Item) -> None:
        """Adds an item and wakes the consumer."""
        with self.changed:
            self.items.append(item)
            self.changed.notify_all()

    def fail(self, failure: BaseException) -> None:
        """Says that no item follows, and why."""
        with self.changed:
            self.failure = failure
            self.changed.notify_all()

    def close(self) -> None:
        """Says that nobody wants more."""
        with self.changed:
            self.is_closed = True
            self.items.clear()
            self.changed.notify_all()


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
        # Daemon: an iterator that the program forgets must not keep the process alive.
        self._thread = threading.Thread(
            target=_produce, args=(source, self._buffer), name="cs-data-prefetch", daemon=True
        )
        self._finalizer = weakref.finalize(self, self._buffer.close)
        self._thread.start()

    def __next__(self) -> Item:
        buffer = self._buffer
        started = self._clock.now()
        with buffer.changed:
            is_waiting = not buffer.items
            buffer.changed.wait_for(lambda: buffer.items or buffer.failure or buffer.is_closed)
            if not buffer.items:
                failure, buffer.failure = buffer.failure, _END
                raise failure or _END
            item = buffer.items.popleft()
        waiting_s = self._clock.now() - started if is_waiting else 0.0
        buffer.recorder.record(ItemTaken(index=self._num_taken, waiting_s=waiting_s))
        buffer.free_place()  # after the record, so that the events show the bound
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
            buffer.put(item)
            index += 1
    except BaseException as failure:  # noqa: BLE001  # a thread's outermost line: the consumer raises it
        buffer.fail(failure)
