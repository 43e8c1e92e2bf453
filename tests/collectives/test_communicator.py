"""Collectives on real bytes, between threads: right numbers, and one error on all ranks."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clustersim import errors
from clustersim.clock import ManualClock
from clustersim.collectives import communicator as module
from clustersim.collectives.communicator import Communicator
from clustersim.collectives.schedule import ReduceOp
from clustersim.errors import Cause
from clustersim.events import CallsMixed, ListRecorder
from clustersim.transport.inproc import inproc_group


def on_all(size, body, **kwargs):
    """Runs `body(communicator)` on every rank, in threads; returns results or errors by rank."""
    ends = inproc_group(size)
    results = [None] * size

    def work(rank):
        comm = Communicator(ends[rank], **kwargs)
        try:
            results[rank] = body(comm)
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive(), "a rank hangs"
    return results


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_all_reduce_is_the_sum_on_every_rank_bit_for_bit(size, dtype):
    parts = [np.arange(r, r + 11).astype(dtype) for r in range(size)]
    results = on_all(size, lambda c: c.all_reduce(parts[c.rank]))
    for result in results:
        assert result.dtype == dtype
        assert result.tobytes() == results[0].tobytes()
        np.testing.assert_allclose(result, np.sum(parts, axis=0, dtype=dtype))


@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(1, 4),
    shape=st.lists(st.integers(0, 5), max_size=3),
    piece=st.sampled_from([1, 8, 64, 2**20]),
)
def test_any_shape_and_any_piece_size_give_the_same_sum(size, shape, piece):
    old, module.PIECE_BYTES = module.PIECE_BYTES, piece * 4
    try:
        data = np.random.default_rng(0).standard_normal((size, *shape)).astype(np.float32)
        for result in on_all(size, lambda c: c.all_reduce(data[c.rank])):
            assert result.shape == tuple(shape)
            np.testing.assert_allclose(result, data.sum(axis=0), rtol=1e-5, atol=1e-5)
    finally:
        module.PIECE_BYTES = old


def test_large_arrays_travel_in_many_pieces():
    data = np.random.default_rng(1).standard_normal((3, 1_000_003)).astype(np.float32)
    for result in on_all(3, lambda c: c.all_reduce(data[c.rank])):
        np.testing.assert_allclose(result, data.sum(axis=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "expected"), [("int32", "float64"), ("uint8", "float64"), ("float32", "float32")]
)
def test_mean_has_tensorflows_dtype(dtype, expected):
    results = on_all(2, lambda c: c.all_reduce(np.array([c.rank], dtype=dtype), ReduceOp.MEAN))
    for result in results:
        assert result.dtype == expected
        assert result.tolist() == [0.5]


def test_packed_arrays_come_back_in_their_shapes():
    def body(comm):
        arrays = [np.full((2, 3), comm.rank + 1.0), np.array(comm.rank), np.zeros((0, 4))]
        return comm.all_reduce_packed([a.astype(np.float32) for a in arrays])

    for first, second, third in on_all(3, body):
        assert first.tolist() == [[6.0] * 3] * 2
        assert second.shape == ()
        assert float(second) == 3
        assert third.shape == (0, 4)


def test_packs_of_equal_length_and_different_parts_are_an_error_not_a_sum():
    def body(comm):
        sizes = (2, 3) if comm.rank else (3, 2)
        return comm.all_reduce_packed([np.zeros(size) for size in sizes])

    for result in on_all(2, body):
        assert type(result) is errors.InvalidArgumentError
        assert "[5] packed from 2 arrays" in str(result)


def test_the_argument_is_not_changed():
    mine = np.ones(3)
    on_all(2, lambda c: c.all_reduce(mine if c.rank == 0 else np.ones(3)))
    assert mine.tolist() == [1, 1, 1]


def test_big_endian_arrays_are_reduced_as_numbers():
    for result in on_all(2, lambda c: c.all_reduce(np.array([1, 2], dtype=">i4"))):
        assert result.tolist() == [2, 4]


def test_all_gather_takes_parts_of_different_length():
    results = on_all(3, lambda c: c.all_gather(np.full((c.rank, 2), c.rank)))
    for result in results:
        assert result.tolist() == [[1, 1], [2, 2], [2, 2]]


@pytest.mark.parametrize("axis", [1, -1])
def test_all_gather_along_another_axis(axis):
    for result in on_all(2, lambda c: c.all_gather(np.full((2, c.rank + 1), c.rank), axis=axis)):
        assert result.tolist() == [[0, 1, 1], [0, 1, 1]]


def test_all_gather_with_other_dimensions_that_differ_is_an_error_on_all_ranks():
    for result in on_all(2, lambda c: c.all_gather(np.zeros((1, c.rank + 1)))):
        assert type(result) is errors.InvalidArgumentError
        assert "rank 0 [1, 1], rank 1 [1, 2]" in str(result)


def test_a_scalar_cannot_be_gathered():
    for result in on_all(1, lambda c: c.all_gather(np.array(1.0))):
        assert isinstance(result, ValueError)


@pytest.mark.parametrize("root", [0, 2])
def test_broadcast_gives_everyone_the_roots_array(root):
    for result in on_all(3, lambda c: c.broadcast(np.full(3, float(c.rank)), root=root)):
        assert result.tolist() == [root] * 3


def test_a_barrier_holds_until_all_are_there():
    order = []

    def body(comm):
        if comm.rank == 1:
            order.append("late")
        comm.barrier()
        order.append("released")

    on_all(3, body)
    assert order.index("late") < order.index("released")


# -- what differs is an error on all ranks, never a wrong sum ------------------------------------

MISMATCHES = {
    "shape": (
        errors.InvalidArgumentError,
        lambda c: c.all_reduce(np.zeros(3 + (c.rank == 1), np.float32)),
    ),
    "dtype": (
        errors.InternalError,
        lambda c: c.all_reduce(np.zeros(3, np.float32 if c.rank else np.float64)),
    ),
    "op": (
        errors.InternalError,
        lambda c: c.all_reduce(np.zeros(3), ReduceOp.SUM if c.rank else ReduceOp.MEAN),
    ),
    "kind": (
        errors.InternalError,
        lambda c: c.barrier() if c.rank == 1 else c.all_reduce(np.zeros(3)),
    ),
    "broadcast shape": (
        errors.InvalidArgumentError,
        lambda c: c.broadcast(np.zeros(3 + (c.rank == 1))),
    ),
    "broadcast against all_gather": (
        errors.InternalError,
        lambda c: c.broadcast(np.zeros(3)) if c.rank == 0 else c.all_gather(np.zeros(3)),
    ),
}


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("what", MISMATCHES)
def test_calls_that_differ_are_an_error_on_all_ranks_that_names_both(what, size):
    expected, body = MISMATCHES[what]
    for result in on_all(size, body):
        assert type(result) is expected
        assert f"differ in {what.split()[-1]}" in str(result) or "against" in what
        assert str(result).count("test_communicator.py:") >= 2
        assert result.code == "CSE501"
        assert result.cause is Cause.MISMATCH


def test_like_calls_from_different_lines_are_legal_and_noted():
    recorder = ListRecorder()

    def body(comm):
        if comm.rank == 0:
            return comm.all_reduce(np.ones(1), site="train.py:1")
        return comm.all_reduce(np.ones(1), site="train.py:2")

    for result in on_all(2, body, recorder=recorder):
        assert result.tolist() == [2]
    sites = {(event.site, event.other_site) for event in recorder.events}
    assert sites == {("train.py:1", "train.py:2"), ("train.py:2", "train.py:1")}


def test_after_a_failed_call_later_calls_raise_the_same_class():
    def body(comm):
        with pytest.raises(errors.InvalidArgumentError):
            comm.all_reduce(np.zeros(1 + comm.rank))
        with pytest.raises(errors.InvalidArgumentError, match=r"earlier collective.*CSE506"):
            comm.all_reduce(np.zeros(1))

    assert on_all(2, body) == [None, None]


def test_a_dtype_that_cannot_travel_is_refused_before_the_call_counts():
    def body(comm):
        with pytest.raises(ValueError, match="complex128 cannot travel"):
            comm.all_reduce(np.zeros(1, np.complex128))
        return comm.all_reduce(np.ones(1)).tolist()

    assert on_all(2, body) == [[2], [2]]


# -- members that are late, gone or dead --------------------------------------------------------


def test_a_member_that_left_early_is_named_with_both_counts():
    ends = inproc_group(2)
    zero = Communicator(ends[0], names=["worker:0", "worker:1"])
    zero.num_calls = 2
    ends[1].leave(num_calls=2)
    with pytest.raises(errors.UnavailableError) as caught:
        zero.all_reduce(np.ones(1))
    assert "rank 1 ended after 2 collective calls, worker:0 is in its 3rd" in str(caught.value)
    assert caught.value.cause is Cause.EARLY_EXIT
    assert caught.value.step == 3


def test_a_member_that_left_after_this_call_does_not_disturb_it():
    ends = inproc_group(2)
    one = Communicator(ends[1])
    thread = threading.Thread(target=lambda: (one.all_reduce(np.ones(1)), ends[1].leave(1)))
    thread.start()
    zero = Communicator(ends[0])
    assert zero.all_reduce(np.ones(1)).tolist() == [2]
    thread.join(timeout=5)
    with pytest.raises(errors.UnavailableError, match="ended after 1 collective calls"):
        zero.all_reduce(np.ones(1))


@pytest.mark.parametrize("size", [2, 4])
def test_all_survivors_name_the_member_that_died(size):
    ends = inproc_group(size)
    ends[1].crash()
    for rank in set(range(size)) - {1}:
        with pytest.raises(errors.UnavailableError, match="rank 1 died") as caught:
            Communicator(ends[rank]).all_reduce(np.ones(8))
        assert caught.value.rank == 1
        assert type(caught.value) is errors.UnavailableError


def test_a_member_that_never_comes_is_a_deadline_error_here_and_an_abort_there():
    ends = inproc_group(2)
    zero = Communicator(ends[0], timeout_s=0.05)
    with pytest.raises(errors.DeadlineExceededError, match="for rank 1") as caught:
        zero.all_reduce(np.ones(1))
    assert caught.value.cause is Cause.TIMEOUT
    with pytest.raises(errors.DeadlineExceededError, match="rank 0 waited"):
        Communicator(ends[1]).all_reduce(np.ones(1))


class SlowTransport:
    """Answers after the clock was moved by what the caller would have waited."""

    rank, size = 0, 2

    def __init__(self, inner, clock, delay_s):
        self._inner, self._clock, self._left_s = inner, clock, delay_s

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def receive(self, source, timeout_s):
        if self._left_s > 0:
            self._clock.advance(min(timeout_s, self._left_s))
            self._left_s -= timeout_s
            return None
        return self._inner.receive(source, timeout_s)


def test_a_long_wait_is_said_and_counted_as_waiting():
    clock, recorder = ManualClock(), ListRecorder()
    ends = inproc_group(2)
    slow = SlowTransport(ends[0], clock, delay_s=4)
    zero = Communicator(slow, clock=clock, recorder=recorder)
    thread = threading.Thread(target=lambda: Communicator(ends[1]).all_reduce(np.ones(1)))
    thread.start()
    zero.all_reduce(np.ones(1), site="train.py:41")
    thread.join(timeout=5)
    *said, event = recorder.events
    assert [round(one.duration_s) for one in said] == [2, 3, 4]
    assert said[0].peer == "rank 1"
    assert said[0].call == "all_reduce(SUM, float64 [1]) at train.py:41"
    assert event.waiting_s == 4
    assert event.network_s == 0


def test_the_call_site_is_the_programs_line():
    result = on_all(2, lambda c: c.all_reduce(np.zeros(1 + c.rank)))[0]
    assert "test_communicator.py:" in str(result)


def test_closing_makes_later_calls_fail():
    comm = Communicator(inproc_group(2)[0])
    comm.close()
    comm.close()
    with pytest.raises(errors.UnavailableError, match="closed"):
        comm.barrier()


MIXED = "call 5: {} at train.py:{}, {} at train.py:{}"


def test_a_call_left_out_is_said_with_both_lines_when_it_mixes_sums():
    recorder = ListRecorder()
    ends = inproc_group(2)

    def rounds(rank):
        """Three rounds of two sums at two lines; rank 1 leaves out the first sum of the last."""
        comm = Communicator(ends[rank], recorder=recorder)
        for number in range(3):
            if rank == 0 or number < 2:
                comm.all_reduce(np.ones(1), site="train.py:12")
            comm.all_reduce(np.ones(1), site="train.py:31")
        ends[rank].leave(comm.num_calls)

    thread = threading.Thread(target=rounds, args=(1,))
    thread.start()
    with pytest.raises(errors.UnavailableError) as caught:
        rounds(0)
    thread.join(timeout=5)
    said = {event.meeting for event in recorder.events if isinstance(event, CallsMixed)}
    assert said == {
        MIXED.format("rank 0", 12, "rank 1", 31),
        MIXED.format("rank 1", 31, "rank 0", 12),
    }
    assert caught.value.cause is Cause.MIXED_CALLS
    assert MIXED.format("rank 0", 12, "rank 1", 31) in str(caught.value)
    assert "uneven input" not in str(caught.value)


def test_a_mismatch_names_the_call_from_which_on_lines_differed():
    def body(comm):
        skipping_none = comm.rank == 0
        comm.all_reduce(np.ones(1), site="train.py:12")
        if skipping_none:
            comm.all_reduce(np.ones(1), site="train.py:20")
        comm.all_reduce(np.ones(1), site="train.py:31")
        return comm.all_reduce(np.ones(2), site="train.py:40")

    for error in on_all(2, body):
        assert isinstance(error, errors.InvalidArgumentError)
        assert "Before, calls of different lines were combined: call 2:" in str(error)
