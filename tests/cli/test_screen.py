"""What a person sees of a run, event by event."""

import json
import sys

import pytest

from clustersim.cli.screen import Screen, Style
from clustersim.clock import ManualClock

RUN = {"ev": "run", "run": "0007", "tasks": {"worker:0": "localhost:41", "ps:0": "localhost:42"}}


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def screen(clock, capsys):  # it captures from here on
    made = Screen(Style(), clock=clock)
    made.take(RUN)
    return made


def log(task="worker:0", stream="stdout", line="hello"):
    return {"ev": "log", "task": task, "stream": stream, "line": line}


def test_the_first_line_names_every_task_and_its_port(screen, capsys):
    assert "run 0007  worker:0 :41  ps:0 :42" in capsys.readouterr().err


def test_output_keeps_its_stream_and_says_whose_it_is(screen, capsys):
    screen.take(log())
    screen.take(log(task="ps:0", stream="stderr"))
    out, err = capsys.readouterr()
    assert out == "worker:0 | hello\n"
    assert err.endswith("ps:0     | hello\n")


def test_nothing_is_said_of_waiting_before_2_s_have_passed(screen, clock, capsys):
    clock.advance(1.9)
    screen.tick()
    assert "waiting" not in capsys.readouterr().err


def test_waiting_names_who_is_ready_and_who_waits_for_whom(screen, clock, capsys):
    screen.take({"ev": "state", "task": "ps:0", "state": "ready"})
    screen.take({"ev": "state", "task": "worker:0", "state": "starting"})
    screen.take({"ev": "waiting", "task": "worker:0", "for": ["ps:0"], "reason": "ps:0 is late"})
    clock.advance(2.5)
    screen.tick()
    err = capsys.readouterr().err
    assert "waiting  worker:0 starting  ps:0 ok" in err
    assert "worker:0: waits for ps:0 is late" in err


def test_the_same_is_said_again_only_after_a_while(screen, clock, capsys):
    clock.advance(3.0)
    screen.tick()
    screen.tick()
    clock.advance(9.0)
    screen.tick()
    assert capsys.readouterr().err.count("waiting ") == 1
    clock.advance(1.0)
    screen.tick()
    assert capsys.readouterr().err.count("waiting ") == 1


def test_once_all_are_ready_nobody_is_waited_for(screen, clock, capsys):
    screen.take({"ev": "ready", "tasks": ["worker:0", "ps:0"], "t": 3.4})
    clock.advance(60.0)
    screen.tick()
    err = capsys.readouterr().err
    assert "ready    2 tasks in 3.4 s" in err
    assert "waiting" not in err


def test_after_ctrl_c_output_goes_to_the_logs_only(screen, capsys):
    screen.mute()
    screen.take(log())
    assert capsys.readouterr().out == ""


def test_a_signal_handler_can_mute_while_a_line_is_being_written(screen):
    with screen._lock:
        screen.mute()  # would never return if it took the lock


def test_quiet_shows_only_what_tasks_print(capsys):
    screen = Screen(Style(is_quiet=True, has_prefix=False))
    screen.take(RUN)
    screen.take(log())
    assert capsys.readouterr() == ("hello\n", "")


def test_json_is_the_stream_itself(capsys):
    screen = Screen(Style(is_json=True))
    screen.take(RUN)
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (RUN, "")


@pytest.mark.parametrize(
    ("environ", "has_colour"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colour_is_only_where_it_is_wanted(environ, has_colour, monkeypatch, capsys):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    screen = Screen(Style())
    screen.take(RUN)
    screen.take(log())
    assert ("\x1b[" in capsys.readouterr().out) is has_colour


@pytest.mark.parametrize(("term", "has_colour"), [("xterm", True), ("dumb", False)])
def test_a_terminal_has_colour_unless_it_is_dumb(term, has_colour, monkeypatch, capsys):
    monkeypatch.setenv("TERM", term)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    screen = Screen(Style())
    screen.take(RUN)
    screen.take(log())
    assert ("\x1b[" in capsys.readouterr().out) is has_colour


def test_dropped_lines_are_counted_at_the_end(screen, capsys):
    screen.take({"ev": "end", "dropped_lines": 3})
    assert "3 lines were not shown; the logs have them" in capsys.readouterr().err
