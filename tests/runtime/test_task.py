"""What a task reports to its supervisor, and how an error of ours is shown."""

import contextlib
import json
import os

import pytest

from clustersim.clock import ManualClock
from clustersim.cluster.spec import Task
from clustersim.events import CollectiveFinished, PeerAwaited, StepFinished
from clustersim.runtime.failure import without_our_frames
from clustersim.runtime.report import Report
from clustersim.runtime.task import Reporter
from clustersim.wire.codec import decode


@pytest.fixture
def pipe():
    """A report's two ends."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)
    with contextlib.suppress(OSError):  # the report may have closed it
        os.close(writing)


def lines(reading):
    return [json.loads(line) for line in os.read(reading, 2**20).splitlines()]


def test_a_report_is_one_json_object_a_line(pipe):
    reading, writing = pipe
    report = Report(writing)
    report.write("joined", generation=1)
    report.write("goodbye", collectives=2)
    assert lines(reading) == [
        {"ev": "joined", "generation": 1},
        {"ev": "goodbye", "collectives": 2},
    ]
    assert not os.get_inheritable(writing)


def test_without_a_supervisor_nothing_is_reported():
    report = Report(None)
    report.write("joined")
    assert not report.is_open


def test_a_supervisor_that_does_not_read_never_stops_the_task(pipe):
    report = Report(pipe[1])
    for number in range(100_000):
        report.write("step", step=number)
    assert report.is_open


def test_a_supervisor_that_is_gone_ends_the_reports(pipe):
    reading, writing = pipe
    report = Report(writing)
    os.close(reading)
    report.write("step", step=1)
    assert not report.is_open
    os.dup2(os.open(os.devnull, os.O_RDONLY), reading)  # what the fixture closes


def test_long_texts_are_cut_so_that_a_line_stays_whole(pipe):
    Report(pipe[1]).write("peer_failed", message="x" * 10_000)
    assert len(os.read(pipe[0], 2**20)) < 4096


def finished(site="train.py:41"):
    return CollectiveFinished(
        kind="all_reduce", step=1, size_bytes=4, waiting_s=0.0, network_s=0.0, site=site
    )


def test_steps_are_reported_not_too_often_and_the_last_one_always(pipe):
    reading, writing = pipe
    clock = ManualClock()
    reporter = Reporter(Task("worker", 0), Report(writing), clock)
    reporter.record(finished())
    for _ in range(10):
        reporter.record(StepFinished(duration_s=0.001))
    clock.advance(1)
    reporter.record(StepFinished(duration_s=0.001))
    reporter.record(StepFinished(duration_s=0.001))
    reporter.flush()
    reporter.flush()
    assert [(one["step"], one["where"]) for one in lines(reading)] == [
        (1, "train.py:41"),
        (11, "train.py:41"),
        (12, "train.py:41"),
    ]


def test_a_wait_is_reported_until_it_is_over(pipe):
    reading, writing = pipe
    reporter = Reporter(Task("worker", 0), Report(writing), ManualClock())
    reporter.record(PeerAwaited(peer="worker:1", call="barrier()", duration_s=2.0))
    reporter.record(finished())
    reporter.record(finished())
    assert lines(reading) == [
        {"ev": "waiting", "for": ["worker:1"], "reason": "in barrier()"},
        {"ev": "waiting", "for": []},
    ]


def test_without_a_supervisor_a_wait_is_logged_at_2_s_and_every_10_s(caplog):
    reporter = Reporter(Task("worker", 0), Report(None), ManualClock())
    for second in range(2, 25):
        reporter.record(PeerAwaited(peer="worker:1", call="barrier()", duration_s=float(second)))
    assert [record.args[-1] for record in caplog.records] == [2, 12, 22]


def test_a_traceback_ends_where_the_program_called_us():
    with pytest.raises(Exception, match="damaged") as caught:
        decode(b"")
    shown = without_our_frames(caught.tb)
    assert shown.tb_frame.f_code.co_filename == __file__
    assert shown.tb_next is None
