"""Prefetch: ahead, but never further than the bound; in order; with the source's own error."""

import gc
import threading
import traceback
import weakref

import pytest

from clustersim.data.prefetch import Prefetch
from clustersim.events import ItemProduced, ItemTaken, ListRecorder


class Told(ListRecorder):
    """Records, and lets a test wait until something was recorded."""

    def __init__(self):
        super().__init__()
        self._changed = threading.Condition()

    def record(self, event):
        with self._changed:
            super().record(event)
            self._changed.notify_all()

    def wait_for(self, event):
        with self._changed:
            assert self._changed.wait_for(lambda: event in self.events, timeout=5), event


def test_the_next_item_is_produced_while_a_step_runs():
    recorder = Told()
    steps = []
    with Prefetch(lambda: iter(range(4)), bound=1, recorder=recorder) as items:
        for k in range(3):
            assert next(items) == k
            # The step of item k: it ends only after item k + 1 was produced, or the test fails.
            recorder.wait_for(ItemProduced(index=k + 1))
            steps.append(k)
    assert steps == [0, 1, 2]


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_never_more_than_the_bound_ahead(bound):
    recorder = Told()
    with Prefetch(lambda: iter(range(12)), bound=bound, recorder=recorder) as items:
        assert list(items) == list(range(12))
    ahead = 0
    for event in recorder.events:
        ahead += isinstance(event, ItemProduced)
        ahead -= isinstance(event, ItemTaken)
        assert 0 <= ahead <= bound


def test_nothing_is_made_before_there_is_a_place():
    made = []
    source = (made.append(i) or i for i in range(9))
    recorder = Told()
    with Prefetch(lambda: source, bound=2, recorder=recorder) as items:
        recorder.wait_for(ItemProduced(index=1))
        assert made == [0, 1]
        next(items)
        recorder.wait_for(ItemProduced(index=2))
        assert made == [0, 1, 2]


def test_order_is_kept_and_the_end_stays_the_end():
    with Prefetch(lambda: iter(range(50)), bound=3) as items:
        assert list(items) == list(range(50))
        assert next(items, None) is None


def test_the_sources_error_comes_in_its_place_with_its_traceback():
    def source():
        yield 1
        raise LookupError("no third")

    with Prefetch(source, bound=2) as items:
        assert next(items) == 1
        with pytest.raises(LookupError) as caught:
            next(items)
        assert "in source" in "".join(traceback.format_tb(caught.tb))
        assert next(items, None) is None


def test_the_thread_ends_with_its_consumer():
    before = threading.active_count()
    items = Prefetch(lambda: iter(int, 1), bound=1)  # endless
    next(items)
    thread = items._thread
    assert thread.name == "cs-data-prefetch"
    del items
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()
    assert threading.active_count() == before


def test_closing_twice_does_no_harm_and_nothing_comes_after():
    items = Prefetch(lambda: iter(range(3)), bound=1)
    items.close()
    items.close()
    assert next(items, None) is None


def test_a_bound_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Prefetch(lambda: iter(()), bound=0)


def test_asking_after_the_end_keeps_nothing_alive():
    items = Prefetch(lambda: iter(range(2)), bound=1)
    assert list(items) == [0, 1]
    assert next(items, None) is None
    gone = weakref.ref(items)
    del items
    gc.collect()
    assert gone() is None


def test_closing_from_elsewhere_wakes_a_consumer_that_waits():
    never = threading.Event()
    items = Prefetch(lambda: iter(never.wait, True), bound=1)
    closer = threading.Thread(target=items._buffer.close)
    closer.start()
    assert next(items, None) is None
    closer.join(5)
    never.set()
    items.close()


def test_closing_frees_what_was_ready():
    recorder = Told()
    made = weakref.WeakSet()

    def source():
        for _ in range(9):
            item = threading.Event()  # anything that a weak reference can point to
            made.add(item)
            yield item

    items = Prefetch(source, bound=2, recorder=recorder)
    recorder.wait_for(ItemProduced(index=1))
    items.close()
    gc.collect()
    assert not made
