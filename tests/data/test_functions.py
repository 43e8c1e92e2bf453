"""User functions in a pipeline: what they are given, what they may return, when they fail.

Every answer was recorded with TensorFlow 2.21, unless a comment says otherwise.
"""

from typing import NamedTuple

import numpy as np
import pytest

from clustersim import errors
from clustersim.data.arguments import cycle_length
from clustersim.data.dataset import Dataset
from clustersim.values import dtypes
from clustersim.values.arrange_ops import concat
from clustersim.values.array_ops import cast
from clustersim.values.shapes import TensorSpec


class Point(NamedTuple):
    x: object
    y: object


NUMBERS = Dataset.range(4)
PAIRS = Dataset.from_tensor_slices(([1, 2, 3], [4, 5, 6]))
NAMED = Dataset.from_tensor_slices({"b": [1, 2], "a": [3, 4]})
POINTS = Dataset.from_tensor_slices(Point([1, 2], [3, 4]))
INT32 = TensorSpec((), dtypes.int32)
ZERO = np.int64(0)


def values(dataset):
    return list(dataset.as_numpy_iterator())


def test_a_named_tuple_is_one_argument_and_a_tuple_several():
    assert values(POINTS.map(lambda point: point.y)) == [3, 4]
    assert values(POINTS.enumerate().map(lambda _i, point: point.x)) == [1, 2]
    assert values(POINTS.filter(lambda point: point.x > 1)) == [Point(2, 4)]
    with pytest.raises(TypeError):
        POINTS.map(lambda x, _y: x)
    assert values(PAIRS.filter(lambda a, _b: a > 2)) == [(3, 6)]
    assert values(PAIRS.take_while(lambda a, _b: a < 2)) == [(1, 4)]


def test_a_dict_is_one_argument():
    assert values(NAMED.filter(lambda row: row["a"] > 3)) == [{"a": 4, "b": 2}]
    assert values(NAMED.flat_map(Dataset.from_tensors)) == values(NAMED)


def test_a_list_that_is_returned_is_a_tuple():
    assert values(PAIRS.map(lambda a, b: [a, b])) == values(PAIRS)


@pytest.mark.parametrize(
    "transform",
    [
        NUMBERS.map,
        NUMBERS.filter,
        NUMBERS.take_while,
        NUMBERS.flat_map,
        NUMBERS.interleave,
        lambda f: NUMBERS.reduce(ZERO, f),
    ],
)
def test_what_is_no_function_is_a_value_error(transform):
    with pytest.raises(ValueError, match="function"):
        transform(None)


@pytest.mark.parametrize("name", ["flat_map", "interleave"])
def test_what_must_return_a_dataset_and_returns_none_is_an_error_at_once(name):
    with pytest.raises(TypeError, match="must return a Dataset"):
        getattr(NUMBERS, name)(lambda x: [x])
    with pytest.raises(AttributeError, match="must return a Dataset"):
        getattr(NUMBERS, name)(lambda x: x)


@pytest.mark.parametrize(
    "made",
    [
        lambda n: NUMBERS.map(lambda x: x, num_parallel_calls=n),
        lambda n: NUMBERS.interleave(Dataset.range, cycle_length=2, num_parallel_calls=n),
        lambda n: NUMBERS.batch(2, num_parallel_calls=n),  # TensorFlow blocks for 0, for ever
    ],
)
def test_a_number_of_parallel_calls_is_positive_or_autotune(made):
    for wrong in (0, -2):
        with pytest.raises(errors.InvalidArgumentError, match="num_parallel_calls"):
            made(wrong)
    with pytest.raises(TypeError, match="num_parallel_calls"):
        made(2.5)
    for right in (None, -1, 2):
        assert values(made(right).take(1))
    assert repr(made(2)).startswith("<_Parallel")


def test_more_parallel_calls_than_datasets_in_turn_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match="more than the cycle_length"):
        NUMBERS.interleave(Dataset.range, cycle_length=2, num_parallel_calls=3)


@pytest.mark.parametrize(
    ("num_parallel_calls", "expected"), [(None, 2), (1, 1), (2, 2), (5, 2), (-1, 1)]
)
def test_how_many_are_read_in_turn_follows_the_cores_if_nobody_says(num_parallel_calls, expected):
    # On 2 cores; TensorFlow refuses 5 calls there, which ran on the 8 cores of another machine.
    assert cycle_length(None, num_parallel_calls, 2) == expected
    assert cycle_length(-1, num_parallel_calls, 2) == expected
    assert cycle_length(None, -1, 8) == 3


# -- reduce, zip, apply ---------------------------------------------------------------------------


def test_reduce_takes_and_keeps_any_structure():
    assert NUMBERS.reduce((ZERO, ZERO), lambda s, x: (s[0] + x, s[1] + 1)) == (6, 4)
    assert NUMBERS.reduce({"n": ZERO}, lambda s, x: {"n": s["n"] + x}) == {"n": 6}
    assert PAIRS.reduce(0, lambda s, e: s + e[0] * e[1]) == 32
    assert NAMED.reduce(0, lambda s, e: s + e["a"]) == 7
    assert POINTS.reduce(0, lambda s, point: s + point.x) == 3
    grown = NUMBERS.reduce(np.zeros([0], np.int64), lambda s, x: concat([s, [x]], 0))
    assert grown.numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("state", "function", "error"),
    [
        (ZERO, lambda s, x: cast(s + x, dtypes.float32), TypeError),
        (0, lambda s, x: s + x, TypeError),  # int32 and int64
        (ZERO, lambda s, x: (s, x), errors.InvalidArgumentError),
        ((ZERO, ZERO), lambda s, _x: s[0], errors.InvalidArgumentError),
        (ZERO, lambda s: s, TypeError),
    ],
)
def test_a_state_of_another_kind_is_refused_even_for_no_elements(state, function, error):
    for dataset in (NUMBERS, Dataset.range(0)):
        with pytest.raises(error):
            dataset.reduce(state, function)


def test_zip_and_apply_take_datasets_only():
    with pytest.raises(TypeError, match=r"Dataset\.zip"):
        Dataset.zip([NUMBERS, NUMBERS])
    with pytest.raises(TypeError, match=r"Dataset\.zip"):
        Dataset.zip(NUMBERS, 3)
    with pytest.raises(TypeError, match="transformation_func"):
        NUMBERS.apply(lambda _dataset: 3)
    with pytest.raises(errors.InvalidArgumentError, match="batch_size"):
        NUMBERS.batch([2])


# -- generators -----------------------------------------------------------------------------------


def of(value, signature):
    return values(Dataset.from_generator(lambda: iter([value]), output_signature=signature))


def test_what_a_generator_yields_nests_as_its_signature():
    assert of(({"a": 1}, 2), ({"a": INT32}, INT32)) == [({"a": 1}, 2)]
    assert of((1, 2), TensorSpec([2], dtypes.int32))[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("value", "signature"),
    [
        ({"a": 1, "c": 2}, {"a": INT32, "b": INT32}),
        ({"a": 1, "b": 2}, {"a": INT32}),
        ({"a": 1}, {"a": INT32, "b": INT32}),
        ((1, 2, 3), (INT32, INT32)),
        ([1, 2], (INT32, INT32)),
        (np.array([1, 2]), (INT32, INT32)),
        (1, (INT32,)),
        ((1,), INT32),
    ],
)
def test_what_nests_otherwise_is_refused(value, signature):
    with pytest.raises(errors.InvalidArgumentError, match="expected"):
        of(value, signature)


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (ValueError("broken"), errors.InvalidArgumentError),
        (TypeError("broken"), errors.InvalidArgumentError),
        (MemoryError("broken"), errors.ResourceExhaustedError),
        (KeyError("broken"), errors.UnknownError),
        (OSError("broken"), errors.UnknownError),
        (errors.NotFoundError("broken"), errors.UnknownError),
    ],
)
def test_what_a_generator_raises_comes_as_tensorflows_error_with_its_cause(raised, error):
    def source():
        yield 1
        raise raised

    iterator = iter(Dataset.from_generator(source, output_signature=INT32))
    assert next(iterator) == 1
    with pytest.raises(error, match="broken") as caught:
        next(iterator)
    assert caught.value.__cause__ is raised


def test_a_generator_function_that_makes_no_iterator_is_an_error_of_the_iteration():
    dataset = Dataset.from_generator(lambda: 3, output_signature=INT32)
    with pytest.raises(errors.InvalidArgumentError, match="not iterable"):
        values(dataset)


def test_a_signature_of_lists_is_refused():
    with pytest.raises(TypeError, match="output_signature"):
        Dataset.from_generator(lambda: iter([]), output_signature=[INT32, INT32])
