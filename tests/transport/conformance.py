"""What every transport must do. Each transport's test module inherits this suite.

A module gives a fixture `group`: a function of a size that returns that many ends, and a way to
make one of them end or die.
"""

import threading

import pytest

from clustersim.errors import UnavailableError
from clustersim.transport.base import GroupAborted, PeerBroke, TransportClosed
from clustersim.wire.codec import abort_frame

WAIT_S = 5.0


def receive(end, source):
    """Receives one frame; news without data is waited through."""
    for _ in range(20):
        frame = end.receive(source, WAIT_S)
        if frame is not None:
            return frame
    raise AssertionError("nothing came")


class TransportSuite:
    def test_each_end_knows_its_rank_and_the_size(self, group):
        assert [(end.rank, end.size) for end in group(3)] == [(0, 3), (1, 3), (2, 3)]

    def test_frames_arrive_in_order_and_each_once(self, group):
        zero, one = group(2)
        sent = [f"frame {i}".encode() for i in range(200)]
        for frame in sent:
            zero.send(1, frame)
        assert [receive(one, 0) for _ in sent] == sent
        assert one.receive(0, 0.01) is None

    def test_frames_from_different_members_do_not_mix(self, group):
        zero, one, two = group(3)
        one.send(0, b"from one")
        two.send(0, b"from two")
        assert receive(zero, 2) == b"from two"
        assert receive(zero, 1) == b"from one"

    def test_sending_never_waits_for_the_peer(self, group):
        ends = group(2)
        big = bytes(2**20)
        for end in ends:  # both send 32 MiB before either receives
            for _ in range(32):
                end.send(1 - end.rank, big)
        for end in ends:
            assert sum(len(receive(end, 1 - end.rank)) for _ in range(32)) == 32 * len(big)

    def test_an_empty_wait_returns_none(self, group):
        assert group(2)[0].receive(1, 0.01) is None

    def test_an_abort_wakes_a_member_that_waits_for_someone_else(self, group):
        zero, one, _ = group(3)
        frame = abort_frame(b"why", call=1)
        timer = threading.Timer(0.05, lambda: one.abort(frame))
        timer.start()
        with pytest.raises(GroupAborted) as caught:
            receive(zero, 2)
        assert caught.value.frame == frame
        timer.join()

    def test_what_arrived_before_an_abort_is_still_handed_out(self, group):
        zero, one = group(2)
        one.send(0, b"data")
        assert receive(zero, 1) == b"data"
        one.send(0, b"more")
        one.abort(abort_frame(b"", call=1))
        assert receive(zero, 1) == b"more"
        with pytest.raises(GroupAborted):
            receive(zero, 1)

    def test_a_death_is_raised_once_what_arrived_was_taken(self, group, kill):
        zero, one = group(2)
        one.send(0, b"last words")
        assert receive(zero, 1) == b"last words"
        kill(one)
        with pytest.raises(PeerBroke) as caught:
            receive(zero, 1)
        assert caught.value.rank == 1
        assert isinstance(caught.value, UnavailableError)

    def test_using_a_closed_end_is_refused(self, group):
        zero, _ = group(2)
        zero.close()
        zero.close()
        with pytest.raises(TransportClosed):
            zero.send(1, b"")
        with pytest.raises(TransportClosed):
            zero.receive(1, 0.01)
