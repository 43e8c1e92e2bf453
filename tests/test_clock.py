"""Clocks."""

from clustersim.clock import SYSTEM_CLOCK, ManualClock


def test_a_manual_clock_moves_only_when_told():
    clock = ManualClock(5)
    assert clock.now() == clock.wall() == 5
    clock.sleep(2)
    clock.advance(-1)
    assert clock.now() == 7


def test_the_system_clock_goes_on():
    before = SYSTEM_CLOCK.now()
    SYSTEM_CLOCK.sleep(0)
    SYSTEM_CLOCK.sleep(0.001)
    assert SYSTEM_CLOCK.now() > before
    assert SYSTEM_CLOCK.wall() > 1e9
