"""Tensors: TensorFlow's dtypes, operators, printing and refusals."""

import numpy as np
import pytest

from clustersim import errors
from clustersim.values import dtypes
from clustersim.values.array_ops import constant, convert_to_tensor, range_, reshape
from clustersim.values.math_ops import matmul
from clustersim.values.nn_ops import log_softmax, softmax
from clustersim.values.reduce_ops import reduce_mean, reduce_sum
from clustersim.values.select_ops import one_hot
from clustersim.values.tensor import Tensor, convert


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (2**40, "int64"),
        (1.0, "float32"),
        (True, "bool"),
        ("a", "string"),
        ([1, 2.5], "float32"),
        ([], "float32"),
        (np.float64(1), "float64"),
        (np.arange(3), "int64"),
        (np.zeros(2, np.uint8), "uint8"),
    ],
)
def test_a_value_gets_tensorflows_dtype(value, dtype):
    assert constant(value).dtype.name == dtype


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        (1.5, dtypes.int32, TypeError),
        ("a", dtypes.float32, TypeError),
        (1, dtypes.bool_, TypeError),
        ([[1], [1, 2]], None, ValueError),
        (None, None, ValueError),
        ({"a": 1}, None, ValueError),
        (object(), None, ValueError),
    ],
)
def test_what_cannot_be_a_tensor_is_refused(value, dtype, error):
    with pytest.raises(error):
        convert(value, dtype)


def test_the_other_side_takes_this_sides_dtype():
    t = constant([1.0, 2.0])
    for result in (t + 1, 1 - t, np.ones(2) * t, t / np.array([1, 2])):
        assert isinstance(result, Tensor)
        assert result.dtype is dtypes.float32
    with pytest.raises(errors.InvalidArgumentError, match="int32"):
        constant(1) + 1.5
    with pytest.raises(errors.InvalidArgumentError, match=r"tf\.cast"):
        constant(1) + constant(1.0)


def test_division_widens_integers_as_tensorflow_does():
    assert (constant(3) / 2).dtype is dtypes.float64
    assert (constant(3, dtypes.uint8) / constant(2, dtypes.uint8)).dtype is dtypes.float32
    assert int(constant(-7) // 2) == -4
    with pytest.raises(errors.InvalidArgumentError, match="zero"):
        constant(1) // 0


def test_a_tensor_never_changes():
    source = np.ones(2)
    t = constant(source)
    source[0] = 9
    t.numpy()[1] = 9
    np.testing.assert_array_equal(t, [1, 1])


def test_a_tensor_prints_as_in_tensorflow():
    assert str(constant(1.0)) == "tf.Tensor(1.0, shape=(), dtype=float32)"
    assert repr(constant(1.0)) == "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"
    assert repr(constant(["a"])) == (
        "<tf.Tensor: shape=(1,), dtype=string, numpy=array([b'a'], dtype=object)>"
    )
    assert repr(dtypes.float32) == "tf.float32"
    assert str(dtypes.float32) == "<dtype: 'float32'>"


def test_a_tensor_behaves_as_a_number_and_a_sequence():
    t = constant([[1, 2], [3, 4]])
    assert [row.numpy().tolist() for row in t] == [[1, 2], [3, 4]]
    assert int(t[1, 0]) == 3
    assert len(t) == 2
    assert list(range(constant(2))) == [0, 1]
    assert f"{constant(1.25):.1f}" == "1.2"
    assert (constant(1) == None) is False  # noqa: E711  # TensorFlow's answer
    for refused in (lambda: hash(t), lambda: len(constant(1)), lambda: iter(constant(1))):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(ValueError, match="truth value"):
        bool(t)
    with pytest.raises(errors.InvalidArgumentError):
        _ = t[5]
    assert t.ref() == t.ref()
    assert t.ref().deref() is t


def test_lists_of_tensors_are_stacked():
    stacked = convert([constant(1), 2, constant(3)])
    assert stacked.numpy().tolist() == [1, 2, 3]
    assert convert([[constant(1.0)], [2]]).shape == [2, 1]


def test_a_hint_is_followed_where_it_can_be():
    assert convert_to_tensor(1, dtype_hint=dtypes.float32).dtype is dtypes.float32
    assert convert_to_tensor(1.5, dtype_hint=dtypes.int32).dtype is dtypes.float32
    with pytest.raises(ValueError, match="requested dtype"):
        convert_to_tensor(constant(1), dtypes.float32)


def test_sums_keep_their_type_and_wrap():
    assert int(reduce_sum(constant([200, 100], dtypes.uint8))) == 44
    assert reduce_mean(constant([1, 2])).dtype is dtypes.int32
    with pytest.raises(errors.InvalidArgumentError, match="bool"):
        reduce_sum(constant([True]))


def test_functions_agree_with_numpy():
    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(matmul(x, x, transpose_b=True), x @ x.T)
    np.testing.assert_allclose(matmul(x, x, transpose_a=True), x.T @ x)
    powers = np.exp(x)
    expected = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(softmax(x), expected, rtol=1e-12)
    np.testing.assert_allclose(log_softmax(x), np.log(expected), rtol=1e-12)
    np.testing.assert_array_equal(one_hot([2, 0, 9], 3), [[0, 0, 1], [1, 0, 0], [0, 0, 0]])
    assert range_(3).dtype is dtypes.int32
    assert range_(3, dtype=dtypes.int64).dtype is dtypes.int64
    assert reshape(range_(6), [2, -1]).shape == [2, 3]
    with pytest.raises(errors.InvalidArgumentError):
        reshape(range_(6), [4])


def test_what_speaks_dlpack_or_array_can_become_a_tensor():
    class Spoken:
        def __dlpack__(self, **options):
            return np.arange(3, dtype=np.int64).__dlpack__(**options)

        def __dlpack_device__(self):
            return np.arange(3).__dlpack_device__()

    class Arrayed:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    assert constant(Spoken()).numpy().tolist() == [0, 1, 2]
    assert constant(Spoken()).dtype is dtypes.int64
    assert constant(Arrayed()).dtype is dtypes.float64


def test_text_keeps_its_zero_bytes_and_is_utf_8():
    assert convert(b"a\0").numpy() == b"a\0"
    assert convert(["a\0", "b\0\0"]).numpy().tolist() == [b"a\0", b"b\0\0"]
    with pytest.raises(ValueError, match="no text that UTF-8 can encode"):
        convert("\udcff")
