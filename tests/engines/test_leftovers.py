"""Whose containers may be ended: only those of launchers that are surely gone."""

import os

import pytest

from clustersim.engines.leftovers import is_left, own_mark
from clustersim.launch.launcher import start_time

OWN = "boot/pid:[1]/100/5000"


@pytest.mark.parametrize(
    ("mark", "is_gone"),
    [
        ("boot/pid:[1]/200/7000", False),  # it lives
        ("boot/pid:[1]/200/6999", True),  # its pid was given to another process
        ("boot/pid:[1]/300/1", True),  # no such process
        (OWN, False),
        ("earlier/pid:[1]/300/1", False),  # of another boot, or machine
        ("boot/pid:[2]/300/1", False),  # of another container
        ("", False),
        ("boot", False),
        ("boot/pid:[1]/x/1", False),
        ("boot/pid:[1]/300", False),
    ],
)
def test_only_a_launcher_that_is_surely_gone_left_something(mark, is_gone):
    alive = {100: "5000", 200: "7000"}
    assert is_left(mark, OWN, lambda pid: alive.get(pid, "")) is is_gone


def test_nothing_is_judged_where_processes_have_no_names():
    assert not is_left("boot/pid:[1]/300/1", "", lambda _pid: "")


def test_this_process_is_alive():
    mark = own_mark()
    assert mark.split("/")[2] == str(os.getpid())
    assert not is_left(mark, mark, start_time)
