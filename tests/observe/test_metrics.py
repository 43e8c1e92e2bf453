"""What was measured adds up."""

import pytest

from clustersim.events import CollectiveFinished, ItemProduced, ItemTaken, StepFinished
from clustersim.observe.metrics import Metrics


def collective(kind, size_bytes):
    return CollectiveFinished(
        kind=kind, step=1, size_bytes=size_bytes, waiting_s=0.25, network_s=0.5
    )


def test_a_step_counts_as_compute_but_for_what_it_waited():
    metrics = Metrics()
    metrics.record(ItemTaken(index=0, waiting_s=1.0))
    before = metrics.blocked_s
    metrics.record(collective("all_reduce", 8))
    blocked_s = metrics.blocked_s - before
    metrics.record(StepFinished(duration_s=2.0, blocked_s=blocked_s))
    counters = metrics.snapshot()
    assert counters["steps"] == 1
    assert counters["compute_s"] == pytest.approx(1.25)
    assert counters["waiting_s"] == pytest.approx(1.25)
    assert counters["network_s"] == pytest.approx(0.5)


def test_only_what_was_all_reduced_counts_as_bytes():
    metrics = Metrics()
    for kind in ("all_reduce", "broadcast", "all_gather"):
        metrics.record(collective(kind, 8))
    metrics.record(ItemProduced(index=0))
    assert metrics.snapshot()["size_bytes"] == 8
