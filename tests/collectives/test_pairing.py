"""Which lines' calls were combined: when it is worth a word, and when it is not."""

import pytest

from clustersim.collectives.pairing import PERSISTENT, Meeting, Pairings


def met(*pairs, peer="worker:1"):
    """Returns what is said of each of a row of calls, as `number of the first such call` or None."""
    pairings = Pairings()
    said = [
        pairings.note(Meeting(call=n, task="worker:0", site=mine, peer=peer, peer_site=theirs))
        for n, (mine, theirs) in enumerate(pairs, start=1)
    ]
    return [one and one.call for one in said], pairings


def test_like_lines_are_no_matter():
    said, pairings = met(("a.py:1", "a.py:1"), ("a.py:2", "a.py:2"), ("a.py:1", "a.py:1"))
    assert said == [None] * 3
    assert pairings.suspects() is None


def test_a_call_left_out_is_seen_when_the_next_two_meet():
    # The peer leaves out its second call of line 1, so its line 2 meets this task's line 1.
    said, pairings = met(("a.py:1", "a.py:1"), ("a.py:2", "a.py:2"), ("a.py:1", "a.py:2"))
    assert said == [None, None, 3]
    assert str(pairings.suspects()) == "call 3: worker:0 at a.py:1, worker:1 at a.py:2"


def test_a_call_left_out_at_the_very_start_is_seen_at_the_second():
    said, pairings = met(("a.py:1", "a.py:2"), ("a.py:2", "a.py:1"))
    assert said == [None, 2]
    assert pairings.suspects().call == 1


def test_branches_by_role_are_said_once_when_they_persist():
    said, _ = met(*[("a.py:1", "a.py:9")] * 6)
    assert said == [None] * (PERSISTENT - 1) + [1] + [None] * 3


@pytest.mark.parametrize("times", range(1, PERSISTENT))
def test_branches_that_met_less_often_are_only_suspects(times):
    said, pairings = met(*[("a.py:1", "a.py:9")] * times)
    assert said == [None] * times
    assert pairings.suspects().call == 1
