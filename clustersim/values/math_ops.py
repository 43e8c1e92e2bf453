"""Arithmetic on tensors, element by element, and the matrix product, with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. `name`
is accepted where TensorFlow has it, and ignored. Sums and the like are in `reduce_ops`.

Source: tensorflow/python/ops/math_ops.py and core/kernels/cwise_op*.cc, 2.21.
"""

# ruff: noqa: ARG001, FBT001, FBT002  # TensorFlow's signatures: `name`, booleans

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from clustersim import errors
from clustersim.values import dtypes
from clustersim.values.array_ops import cast
from clustersim.values.tensor import (
    Tensor,
    TensorLike,
    apply,
    convert,
    floor_divide,
    floor_mod,
    matrix_product,
    namespace,
    same_dtype,
    true_divide,
)


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
    return apply(lambda a, b: a**b, *pair(x, y))


def maximum(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns the larger of each pair."""
    return apply(namespace().maximum, *pair(x, y))


def minimum(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns the smaller of each pair."""
    return apply(namespace().minimum, *pair(x, y))


def equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x == y."""
    return apply(lambda a, b: a == b, *pair(x, y))


def not_equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x != y."""
    return apply(lambda a, b: a != b, *pair(x, y))


def greater(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x > y."""
    return apply(lambda a, b: a > b, *pair(x, y))


def less(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x < y."""
    return apply(lambda a, b: a < b, *pair(x, y))


def greater_equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x >= y."""
    return apply(lambda a, b: a >= b, *pair(x, y))


def less_equal(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where x <= y."""
    return apply(lambda a, b: a <= b, *pair(x, y))


def logical_and(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where both are true."""
    return apply(lambda a, b: a & b, truth(x), truth(y))


def logical_or(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where one is true."""
    return apply(lambda a, b: a | b, truth(x), truth(y))


def logical_xor(x: object, y: object, name: str | None = None) -> Tensor:
    """Returns where one is true and the other is not."""
    return apply(lambda a, b: a ^ b, truth(x), truth(y))


def logical_not(x: object, name: str | None = None) -> Tensor:
    """Returns where it is false."""
    return apply(lambda a: ~a, truth(x))


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
    return apply(namespace().exp, floating(x))


def log(x: object, name: str | None = None) -> Tensor:
    """Returns the natural logarithm."""
    return apply(namespace().log, floating(x))


def sqrt(x: object, name: str | None = None) -> Tensor:
    """Returns the square root."""
    return apply(namespace().sqrt, floating(x))


def square(x: object, name: str | None = None) -> Tensor:
    """Returns x * x."""
    return apply(lambda a: a * a, convert(x))


def tanh(x: object, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent."""
    return apply(namespace().tanh, floating(x))


def sigmoid(x: object, name: str | None = None) -> Tensor:
    """Returns 1 / (1 + e ** -x)."""
    xp = namespace()
    return apply(lambda a: 1 / (1 + xp.exp(-a)), floating(x))


def abs_(x: object, name: str | None = None) -> Tensor:
    """Returns the absolute value."""
    return apply(abs, convert(x))


def negative(x: object, name: str | None = None) -> Tensor:
    """Returns -x."""
    return apply(lambda a: -a, convert(x))


def control_dependencies(control_inputs: object) -> AbstractContextManager[None]:
    """Returns a context that does nothing: eager code runs in the order in which it is written."""
    return nullcontext()


def pair(x: object, y: object) -> tuple[Tensor, Tensor]:
    """Returns both as tensors of one dtype, as `same_dtype`; most functions refuse with TypeError.

    Raises:
        TypeError: One is Python's and cannot be taken as the other's type.
        InvalidArgumentError: Both are tensors, of different types.
    """
    try:
        return same_dtype(x, y)
    except errors.InvalidArgumentError as error:
        if isinstance(error.__cause__, TypeError):
            raise TypeError(str(error)) from error
        raise


def floating(value: object) -> Tensor:
    """Returns a tensor of floats or complex numbers; InvalidArgumentError for others."""
    tensor = convert(value)
    if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        raise errors.InvalidArgumentError(
            f"This function takes floats, not {tensor.dtype.name}. Cast it first, with tf.cast."
        )
    return tensor


def truth(value: object) -> Tensor:
    """Returns a tensor of truth values; InvalidArgumentError for others."""
    tensor = convert(value)
    if not isinstance(value, TensorLike) and not math.prod(tensor.dims):
        return cast(tensor, dtypes.bool_)  # of nothing, in any type that the function wants
    if not tensor.dtype.is_bool:
        raise errors.InvalidArgumentError(
            f"This function takes truth values, not {tensor.dtype.name}. Compare first."
        )
    return tensor
