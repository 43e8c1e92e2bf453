"""Who gets which rows: TensorFlow's arithmetic, to the row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim import errors
from clustersim.data.options import AutoShardPolicy
from clustersim.data.sharding import (
    InputContext,
    Layout,
    grouped,
    is_by_files,
    piece_bounds,
    piece_sizes,
    rounds,
)


def batches(count, size):
    numbers = np.arange(count)
    return iter([(numbers[i : i + size],) for i in range(0, count, size)])


def rows(count, size, layout, policy):
    made = rounds(batches(count, size), layout, by_rows=policy is AutoShardPolicy.DATA)
    return [[None if row is None else row[0].tolist() for row in each] for each in made]


def sizes(num_rows, num_pieces):
    return [stop - start for start, stop in piece_bounds(num_rows, num_pieces)]


@pytest.mark.parametrize(
    ("num_rows", "num_pieces", "expected"),
    [
        (4, 2, [2, 2]),
        (3, 2, [2, 1]),
        (1, 2, [1, 0]),
        (4, 3, [2, 2, 0]),
        (5, 3, [2, 2, 1]),
        (2, 3, [1, 1, 0]),
    ],
)
def test_data_cuts_each_batch_into_pieces_of_ceil(num_rows, num_pieces, expected):
    assert sizes(num_rows, num_pieces) == expected


@given(st.integers(0, 200), st.integers(1, 9))
def test_pieces_cover_a_batch_in_order(num_rows, num_pieces):
    bounds = piece_bounds(num_rows, num_pieces)
    covered = [row for start, stop in bounds for row in range(start, stop)]
    assert covered == list(range(num_rows))


def test_off_turns_the_sizes_by_worker():
    assert piece_sizes(5, Layout(num_workers=2, worker=0)) == [3, 2]
    assert piece_sizes(5, Layout(num_workers=2, worker=1)) == [2, 3]


def test_data_deals_a_batch_to_two_workers():
    first, second = (
        rows(10, 4, Layout(num_workers=2, worker=w), AutoShardPolicy.DATA) for w in range(2)
    )
    assert first == [[[0, 1]], [[4, 5]], [[8]]]
    assert second == [[[2, 3]], [[6, 7]], [[9]]]


def test_off_shows_everything_to_every_worker():
    for worker in range(2):
        seen = rows(10, 5, Layout(num_workers=2, worker=worker), AutoShardPolicy.OFF)
        assert [n for (row,) in seen for n in row] == list(range(10))


def test_off_fills_from_the_front_and_leaves_holes_only_at_the_end():
    two = Layout(num_local=2)
    assert rows(10, 4, two, AutoShardPolicy.OFF)[-1] == [[8, 9], None]
    assert rows(10, 4, two, AutoShardPolicy.DATA)[-1] == [[8], [9]]


def test_what_cannot_be_divided_is_refused():
    scalars = iter([(np.asarray(1),)])
    with pytest.raises(IndexError, match="not batched"):
        next(rounds(scalars, Layout(num_local=2), by_rows=True))


@pytest.mark.parametrize(
    ("policy", "num_workers", "reads_files", "expected"),
    [
        (AutoShardPolicy.AUTO, 2, True, True),
        (AutoShardPolicy.AUTO, 2, False, False),
        (AutoShardPolicy.FILE, 2, True, True),
        (AutoShardPolicy.DATA, 2, True, False),
        (AutoShardPolicy.OFF, 2, True, False),
        (AutoShardPolicy.HINT, 2, True, False),
        (AutoShardPolicy.FILE, 1, False, False),
        (AutoShardPolicy.AUTO, 1, True, False),
    ],
)
def test_files_are_divided_where_there_are_some_and_several_workers(
    policy, num_workers, reads_files, expected
):
    assert is_by_files(policy, Layout(num_workers=num_workers), reads_files=reads_files) is expected


def test_without_files_they_cannot_be_divided():
    with pytest.raises(errors.NotFoundError, match="does not read files"):
        is_by_files(AutoShardPolicy.FILE, Layout(num_workers=2), reads_files=False)


def test_rounds_of_consecutive_rows_are_filled_up():
    assert list(grouped(iter([(1,), (2,), (3,)]), 2)) == [((1,), (2,)), ((3,), None)]


def test_an_input_context_divides_evenly_or_not_at_all():
    context = InputContext(2, 1, 4)
    assert context.get_per_replica_batch_size(8) == 2
    assert str(context) == "tf.distribute.InputContext(input pipeline id 1, total: 2)"
    with pytest.raises(ValueError, match="not divisible"):
        context.get_per_replica_batch_size(6)
    with pytest.raises(AttributeError):
        context.num_replicas_in_sync = 2
