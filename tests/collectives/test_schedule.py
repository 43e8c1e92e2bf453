"""What the algorithms promise, for every small P."""

from collections import Counter

import numpy as np
import pytest

from clustersim.collectives.ring import chain_broadcast, ring_all_gather, ring_all_reduce
from clustersim.collectives.schedule import (
    Move,
    ReduceOp,
    Round,
    check_all_reduce,
    chunk_bounds,
    contributions,
    steps_of,
)

SIZES = range(1, 10)


@pytest.mark.parametrize("size", SIZES)
def test_ring_all_reduce_brings_every_contribution_exactly_once(size):
    check_all_reduce(ring_all_reduce(size), size, num_chunks=size)


@pytest.mark.parametrize("size", SIZES)
def test_ring_all_reduce_costs_what_its_header_says(size):
    rounds = list(ring_all_reduce(size))
    assert len(rounds) == 2 * (size - 1)
    for rank in range(size):
        sent = sum(int(np.sum(one.source == rank)) for one in rounds)
        assert sent == 2 * (size - 1)  # chunks of S / P bytes: 2 (P - 1) / P * S


@pytest.mark.parametrize("size", SIZES)
def test_ring_all_gather_brings_each_part_to_every_rank(size):
    start = [[Counter({r: 1}) if c == r else Counter() for c in range(size)] for r in range(size)]
    rounds = list(ring_all_gather(size))
    assert len(rounds) == size - 1
    for chunks in contributions(rounds, start):
        assert chunks == [Counter({rank: 1}) for rank in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_broadcast_brings_the_roots_chunk_to_every_rank(size):
    for root in range(size):
        start = [[Counter({rank: 1})] for rank in range(size)]
        rounds = list(chain_broadcast(size, root))
        assert len(rounds) == size - 1
        assert contributions(rounds, start) == [[Counter({root: 1})]] * size


def test_the_checker_finds_a_contribution_that_counts_twice():
    zero, one = np.array([0]), np.array([1])
    twice = Round(source=zero, target=one, chunk=zero, move=Move.REDUCE)
    with pytest.raises(ValueError, match=r"Rank 0 ends with \{0: 1\} in chunk 0"):
        check_all_reduce([twice, twice], size=2, num_chunks=1)


def test_a_rank_that_sends_twice_in_one_round_is_refused():
    two = np.array([0, 0])
    one = Round(source=two, target=np.array([1, 2]), chunk=two, move=Move.COPY)
    with pytest.raises(ValueError, match="more than once"):
        steps_of([one], rank=0)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("size", SIZES)
def test_chunks_cover_the_buffer_evenly(count, size):
    bounds = chunk_bounds(count, size)
    lengths = [end - begin for begin, end in bounds]
    assert sum(lengths) == count
    assert bounds[0][0] == 0
    assert bounds[-1][1] == count
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("make", [ring_all_reduce, ring_all_gather])
def test_a_ring_of_nobody_is_refused(make):
    with pytest.raises(ValueError, match="at least 1 rank, not 0"):
        list(make(0))


def test_a_root_outside_the_ring_is_refused():
    with pytest.raises(ValueError, match=r"within 0\.\.1, not 2"):
        list(chain_broadcast(2, root=2))


def test_reduce_op_follows_a_variables_aggregation_by_name():
    assert ReduceOp.from_variable_aggregation(ReduceOp.MEAN) is ReduceOp.MEAN
    with pytest.raises(ValueError, match="Use SUM or MEAN"):
        ReduceOp.from_variable_aggregation(Move.COPY)
