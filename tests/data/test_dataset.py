"""Datasets: elements, specs, cardinality and refusals of the transformations."""

import threading

import numpy as np
import pytest

from clustersim import errors
from clustersim.data import cardinality
from clustersim.data.dataset import Dataset
from clustersim.data.options import AutoShardPolicy, Options
from clustersim.values import dtypes
from clustersim.values.reduce_ops import reduce_sum
from clustersim.values.shapes import TensorSpec


def values(dataset):
    return [np.asarray(v).tolist() for v in dataset.as_numpy_iterator()]


NUMBERS = Dataset.range(10)

TRANSFORMED = [
    (NUMBERS.map(lambda x: x * 2), [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]),
    (NUMBERS.filter(lambda x: x % 3 == 0), [0, 3, 6, 9]),
    (NUMBERS.take_while(lambda x: x < 2), [0, 1]),
    (Dataset.range(4).flat_map(Dataset.range), [0, 0, 1, 0, 1, 2]),
    (
        Dataset.range(3).interleave(
            lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
        ),
        [0, 0, 1, 1, 0, 1, 2, 2, 2],
    ),
    (NUMBERS.batch(4), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]),
    (NUMBERS.batch(4, drop_remainder=True), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    (NUMBERS.batch(4).unbatch(), list(range(10))),
    (Dataset.range(2).repeat(2), [0, 1, 0, 1]),
    (Dataset.range(2).repeat(0), []),
    (Dataset.range(0).repeat(), []),
    (NUMBERS.shard(3, 1), [1, 4, 7]),
    (NUMBERS.take(2), [0, 1]),
    (NUMBERS.take(-1), list(range(10))),
    (NUMBERS.skip(8), [8, 9]),
    (NUMBERS.skip(-1), []),
    (Dataset.range(2).concatenate(Dataset.range(5, 6)), [0, 1, 5]),
    (NUMBERS.prefetch(2), list(range(10))),
    (NUMBERS.cache().take(3), [0, 1, 2]),
    (NUMBERS.apply(lambda d: d.skip(9)), [9]),
]


@pytest.mark.parametrize(("dataset", "expected"), TRANSFORMED)
def test_a_transformation_gives_tensorflows_elements(dataset, expected):
    assert values(dataset) == expected
    assert values(dataset) == expected  # and again on a second pass
    count = dataset.num_elements
    assert count in {cardinality.UNKNOWN, len(expected)}


def test_tuples_are_unpacked_and_dicts_are_not():
    pairs = Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert values(pairs.map(lambda a, b: a + b)) == [4, 6]
    named = Dataset.from_tensor_slices({"a": [1, 2]})
    assert values(named.map(lambda d: d["a"] + 1)) == [2, 3]
    with pytest.raises(TypeError):
        pairs.map(lambda a: a)


def test_a_mapped_functions_error_comes_when_the_dataset_is_built():
    with pytest.raises(ZeroDivisionError):
        NUMBERS.map(lambda _x: 1 / 0)


def test_the_spec_of_a_mapped_dataset_keeps_what_is_not_known():
    batches = NUMBERS.batch(4).map(lambda x: (x * 2, reduce_sum(x)))
    rows, total = batches.element_spec
    assert rows == TensorSpec([None], dtypes.int64)
    assert total == TensorSpec([], dtypes.int64)
    assert NUMBERS.batch(4, drop_remainder=True).element_spec.shape == [4]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Dataset.from_tensor_slices(3), ValueError),
        (lambda: Dataset.from_tensor_slices(([1, 2], [3])), ValueError),
        (lambda: Dataset.from_tensor_slices([[1], [2, 3]]), ValueError),
        (Dataset.range, ValueError),
        (lambda: Dataset.from_generator(lambda: iter([1])), TypeError),
        (lambda: NUMBERS.batch(0), errors.InvalidArgumentError),
        (lambda: NUMBERS.shuffle(0), errors.InvalidArgumentError),
        (lambda: NUMBERS.shard(3, 3), errors.InvalidArgumentError),
        (lambda: NUMBERS.prefetch(-5), errors.InvalidArgumentError),
        (lambda: len(NUMBERS.repeat()), TypeError),
        (lambda: len(NUMBERS.filter(lambda _x: True)), TypeError),
        (lambda: NUMBERS[0], TypeError),
    ],
)
def test_wrong_use_has_tensorflows_error(make, error):
    with pytest.raises(error):
        make()


def test_what_a_generator_yields_is_checked_against_its_signature():
    signature = TensorSpec((), dtypes.int32)
    good = Dataset.from_generator(lambda: iter(range(3)), output_signature=signature)
    assert values(good) == [0, 1, 2]
    bad = Dataset.from_generator(lambda: iter(["a"]), output_signature=signature)
    with pytest.raises(errors.InvalidArgumentError, match="yielded 'a'"):
        values(bad)


def test_a_seeded_shuffle_repeats_for_a_new_dataset_and_not_for_a_second_pass():
    first, second = (NUMBERS.shuffle(10, seed=3) for _ in range(2))
    epoch = values(first)
    assert sorted(epoch) == list(range(10))
    assert values(second) == epoch
    assert values(first) != epoch
    fixed = NUMBERS.shuffle(10, seed=3, reshuffle_each_iteration=False)
    assert values(fixed) == values(fixed)


@pytest.mark.parametrize("buffer_size", [1, 2, 5])
def test_a_shuffle_lets_nothing_out_earlier_than_its_buffer_allows(buffer_size):
    for place, value in enumerate(values(Dataset.range(50).shuffle(buffer_size, seed=1))):
        assert value - place < buffer_size


def test_windows_are_datasets():
    windows = list(Dataset.range(5).window(2))
    assert [values(window) for window in windows] == [[0, 1], [2, 3], [4]]
    flat = Dataset.range(5).window(3, shift=1, drop_remainder=True)
    assert values(flat.flat_map(lambda w: w.batch(3))) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_an_iterator_says_the_end_in_three_ways():
    iterator = iter(Dataset.range(1))
    assert int(iterator.get_next()) == 0
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(errors.OutOfRangeError):
        iterator.get_next()
    nothing = iterator.get_next_as_optional()
    assert not nothing.has_value()
    with pytest.raises(errors.InvalidArgumentError):
        nothing.get_value()


def test_options_are_inherited_and_checked():
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.OFF
    dataset = NUMBERS.with_options(options).map(lambda x: x)
    assert dataset.options().experimental_distribute.auto_shard_policy is AutoShardPolicy.OFF
    with pytest.raises(TypeError):
        options.experimental_distribute.auto_shard_policy = "OFF"
    with pytest.raises(AttributeError):
        options.foo = 1


def test_a_forgotten_iterator_of_a_prefetched_dataset_ends_its_thread():
    iterator = iter(NUMBERS.repeat().prefetch(2))
    next(iterator)
    thread = next(t for t in threading.enumerate() if t.name == "cs-data-prefetch")
    del iterator
    thread.join(5)
    assert not thread.is_alive()
