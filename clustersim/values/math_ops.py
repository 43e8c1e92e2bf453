"""Arithmetic on tensors: combine, map, reduce and compare, with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. `name`
is accepted where TensorFlow has it, and ignored.

Source: tensorflow/python/ops/math_ops.py, nn_ops.py and check_ops.py, 2.21.
"""

# ruff: noqa: A002, ARG001, FBT001, FBT002  # TensorFlow's signatures: `name`, `input`, booleans

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from clustersim import errors
from clustersim.devices.array import NativeArray
from clustersim.values import dtypes
from clustersim.values.array_ops import axes_of, zeros
from clustersim.values.dtypes import as_dtype
from clustersim.values.tensor import (
    Tensor,
    apply,
    astype,
    convert,
    floor_divide,
    floor_mod,
    matrix_product,
    namespace,
    native_dtype,
    same_dtype,
    true_divide,
)

Axis = int | Sequence[int] | Tensor | None


def add(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x + y."""
    return apply(lambda a, b: a + b, *same_dtype(x, y))


def add_n(inputs: Sequence[object], name: str | None = None) -> Tensor:
    """Returns the sum of tensors of one shape and dtype.

    Raises:
        ValueError: There are none.
        InvalidArgumentError: Their shapes differ.
    """
    tensors = [convert(each) for each in inputs]
    if not tensors:
        raise ValueError("add_n needs at least one tensor, and the list is empty.")
    total = tensors[0]
    for each in tensors[1:]:
        if each.dims != total.dims:
            raise errors.InvalidArgumentError(
                f"Inputs to add_n must all have one shape, not {total.shape} and {each.shape}."
            )
        total = add(total, each)
    return total


def subtract(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x - y."""
    return apply(lambda a, b: a - b, *same_dtype(x, y))


def multiply(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x * y."""
    return apply(lambda a, b: a * b, *same_dtype(x, y))


def divide(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x / y; integers become floats."""
    return true_divide(*same_dtype(x, y))


def floordiv(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x // y."""
    return floor_divide(*same_dtype(x, y))


def floormod(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x % y."""
    return floor_mod(*same_dtype(x, y))


def pow_(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns x ** y."""
    return apply(lambda a, b: a**b, *same_dtype(x, y))


def maximum(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns the larger of each pair."""
    return apply(namespace().maximum, *same_dtype(x, y))


def minimum(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns the smaller of each pair."""
    return apply(namespace().minimum, *same_dtype(x, y))


def equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x == y."""
    return apply(lambda a, b: a == b, *same_dtype(x, y))


def not_equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x != y."""
    return apply(lambda a, b: a != b, *same_dtype(x, y))


def greater(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x > y."""
    return apply(lambda a, b: a > b, *same_dtype(x, y))


def less(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x < y."""
    return apply(lambda a, b: a < b, *same_dtype(x, y))


def greater_equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x >= y."""
    return apply(lambda a, b: a >= b, *same_dtype(x, y))


def less_equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x <= y."""
    return apply(lambda a, b: a <= b, *same_dtype(x, y))


def logical_and(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where both are true."""
    return apply(lambda a, b: a & b, _truth(x), _truth(y))


def logical_or(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where one is true."""
    return apply(lambda a, b: a | b, _truth(x), _truth(y))


def logical_xor(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where one is true and the other is not."""
    return apply(lambda a, b: a ^ b, _truth(x), _truth(y))


def logical_not(x: object, name: str | None = None) -> Tensor:
    """Returns where it is false."""
    return apply(lambda a: ~a, _truth(x))


def matmul(
    a: object,
    b: object,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the matrix product of `[..., n, k]` and `[..., k, m]`, each transposed first if asked."""
    return matrix_product(*same_dtype(a, b), is_transposed=(transpose_a, transpose_b))


def exp(x: object, name: str | None = None) -> Tensor:
    """Returns e ** x."""
    return apply(namespace().exp, _floating(x))


def log(x: object, name: str | None = None) -> Tensor:
    """Returns the natural logarithm."""
    return apply(namespace().log, _floating(x))


def sqrt(x: object, name: str | None = None) -> Tensor:
    """Returns the square root."""
    return apply(namespace().sqrt, _floating(x))


def square(x: object, name: str | None = None) -> Tensor:
    """Returns x * x."""
    return apply(lambda a: a * a, convert(x))


def tanh(x: object, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent."""
    return apply(namespace().tanh, _floating(x))


def sigmoid(x: object, name: str | None = None) -> Tensor:
    """Returns 1 / (1 + e ** -x)."""
    xp = namespace()
    return apply(lambda a: 1 / (1 + xp.exp(-a)), _floating(x))


def abs_(x: object, name: str | None = None) -> Tensor:
    """Returns the absolute value."""
    return apply(abs, convert(x))


def negative(x: object, name: str | None = None) -> Tensor:
    """Returns -x."""
    return apply(lambda a: -a, convert(x))


def relu(features: object, name: str | None = None) -> Tensor:
    """Returns the positive part."""
    tensor = convert(features)
    return maximum(tensor, zeros([], tensor.dtype))


def softmax(logits: object, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns exp(logits) / sum(exp(logits)) along an axis, without overflow."""
    xp = namespace()

    def normalized(array: NativeArray) -> NativeArray:
        powers = xp.exp(array - xp.max(array, axis=axis, keepdims=True))
        return powers / xp.sum(powers, axis=axis, keepdims=True)

    return apply(normalized, _floating(logits))


def log_softmax(logits: object, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns the logarithm of `softmax`, without overflow."""
    xp = namespace()

    def normalized(array: NativeArray) -> NativeArray:
        shifted = array - xp.max(array, axis=axis, keepdims=True)
        return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))

    return apply(normalized, _floating(logits))


def reduce_sum(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the sum over some axes (all: None); integers keep their type and wrap."""
    tensor = _numeric(input_tensor)
    xp, axes, dtype = namespace(), axes_of(axis), native_dtype(tensor.dtype)
    return apply(lambda a: xp.sum(a, axis=axes, keepdims=keepdims, dtype=dtype), tensor)


def reduce_mean(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the mean over some axes; as in TensorFlow integers stay integers, cut off."""
    tensor = _numeric(input_tensor)
    total = reduce_sum(tensor, axis, keepdims)
    count = (tensor.shape.num_elements() or 0) / max(total.shape.num_elements() or 0, 1)
    if tensor.dtype.is_floating:
        return total / convert(count, tensor.dtype)
    return floordiv(total, convert(int(count), tensor.dtype))


def reduce_max(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the maximum over some axes."""
    xp, axes = namespace(), axes_of(axis)
    return apply(lambda a: xp.max(a, axis=axes, keepdims=keepdims), _numeric(input_tensor))


def reduce_min(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the minimum over some axes."""
    xp, axes = namespace(), axes_of(axis)
    return apply(lambda a: xp.min(a, axis=axes, keepdims=keepdims), _numeric(input_tensor))


def reduce_prod(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the product over some axes; integers keep their type and wrap."""
    tensor = _numeric(input_tensor)
    xp, axes, dtype = namespace(), axes_of(axis), native_dtype(tensor.dtype)
    return apply(lambda a: xp.prod(a, axis=axes, keepdims=keepdims, dtype=dtype), tensor)


def reduce_all(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns whether all are true."""
    xp, axes = namespace(), axes_of(axis)
    tensor = _truth(input_tensor)
    return apply(lambda a: xp.all(a, axis=axes, keepdims=keepdims), tensor)


def reduce_any(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns whether any is true."""
    xp, axes = namespace(), axes_of(axis)
    tensor = _truth(input_tensor)
    return apply(lambda a: xp.any(a, axis=axes, keepdims=keepdims), tensor)


def argmax(
    input: object,
    axis: int | None = None,
    output_type: object = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the largest along an axis (the first: 0); the first of equals."""
    xp, along = namespace(), 0 if axis is None else axis
    found = apply(lambda a: xp.argmax(a, axis=along), convert(input))
    return astype(found, as_dtype(output_type))


def assert_equal(
    x: object,
    y: object,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises InvalidArgumentError unless all elements are equal."""
    first, second = same_dtype(x, y)
    if not bool((first.host() == second.host()).all()):
        raise errors.InvalidArgumentError(
            f"{message or 'Condition x == y did not hold.'} x is {first}, y is {second}."
        )


def control_dependencies(control_inputs: object) -> AbstractContextManager[None]:
    """Returns a context that does nothing: eager code runs in the order in which it is written."""
    return nullcontext()


def _floating(value: object) -> Tensor:
    tensor = convert(value)
    if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        raise errors.InvalidArgumentError(
            f"This function takes floats, not {tensor.dtype.name}. Cast it first, with tf.cast."
        )
    return tensor


def _truth(value: object) -> Tensor:
    tensor = convert(value)
    if not tensor.dtype.is_bool:
        raise errors.InvalidArgumentError(
            f"This function takes truth values, not {tensor.dtype.name}. Compare first."
        )
    return tensor


def _numeric(value: object) -> Tensor:
    if isinstance(value, dict):
        raise TypeError(f"A dict cannot be reduced: {value!r}. Reduce each of its values.")
    tensor = convert(value)
    if tensor.dtype is dtypes.bool_ or tensor.dtype is dtypes.string:
        raise errors.InvalidArgumentError(
            f"Cannot reduce a tensor of type {tensor.dtype.name}. Cast it to a number first."
        )
    return tensor
