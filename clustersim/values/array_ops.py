"""Functions that make tensors, convert them, and say or set their shape, with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. `name`
is accepted where TensorFlow has it, and ignored. What moves elements is in `arrange_ops`, what picks
some of them in `select_ops`, arithmetic in `math_ops`.

Source: tensorflow/python/ops/array_ops.py and framework/constant_op.py, 2.21.
"""

# ruff: noqa: A002, ARG001  # TensorFlow's signatures: `name`, `input`, booleans

import math
from collections.abc import Sequence

import numpy as np

from clustersim import errors
from clustersim.values import dtypes
from clustersim.values.arguments import host_numbers, whole, wholes
from clustersim.values.dtypes import DType, as_dtype
from clustersim.values.shapes import ShapeLike, TensorShape
from clustersim.values.tensor import (
    Tensor,
    TensorLike,
    apply,
    astype,
    convert,
    is_tensor,
    make,
    namespace,
)

Axis = int | Sequence[int] | Tensor | None


def constant(
    value: object,
    dtype: object = None,
    shape: ShapeLike = None,
    name: str = "Const",
) -> Tensor:
    """Returns a tensor of `value`, filled up to `shape` if it is a scalar. Raises as `convert`."""
    want = None if dtype is None else as_dtype(dtype)
    if isinstance(value, list | tuple) and any(map(is_tensor, value)):
        raise ValueError("A constant cannot be made of a list of tensors. Use tf.stack.")
    if isinstance(value, Tensor) and want not in {None, value.dtype}:
        raise TypeError(
            f"{value!r} is no constant of type {dtype!r}: it has a type already. Use tf.cast."
        )
    made = cast(value, want) if is_tensor(value) and want is not None else convert(value, want)
    if shape is None:
        return made
    dims = TensorShape(shape).known_dims()
    if made.shape.num_elements() == 1:
        return broadcast_to(reshape(made, []), dims)
    if made.shape.num_elements() != math.prod(dims):
        raise TypeError(
            f"A tensor of {made.shape.num_elements()} elements cannot have shape {dims}. Give as"
            " many elements, or one that fills it."
        )
    return reshape(made, dims)


def convert_to_tensor(
    value: object,
    dtype: object = None,
    dtype_hint: object = None,
    name: str | None = None,
) -> Tensor:
    """Returns `value` as a tensor; a hint is followed where it can be. Raises as `convert`."""
    if dtype is None and dtype_hint is not None and not is_tensor(value):
        try:
            return convert(value, as_dtype(dtype_hint))
        except (TypeError, ValueError):
            return convert(value)
    return convert(value, None if dtype is None else as_dtype(dtype))


def zeros(shape: object, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns a tensor of zeros, or of empty texts. Raises as `sizes_of`."""
    want = as_dtype(dtype)
    if want is dtypes.string:
        return make(np.full(sizes_of(shape), b"", dtype=object))
    return make(np.zeros(sizes_of(shape), want.as_numpy_dtype))


def ones(shape: object, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns a tensor of ones. Raises as `sizes_of`; TypeError for text, which has none."""
    want = as_dtype(dtype)
    if want is dtypes.string:
        raise TypeError("There is no text that is one. Use tf.fill with a text.")
    return make(np.ones(sizes_of(shape), want.as_numpy_dtype))


def fill(dims: object, value: object, name: str | None = None) -> Tensor:
    """Returns a tensor of one value.

    Raises:
        InvalidArgumentError: The value is no scalar, or `dims` no shape.
    """
    tensor = convert(value)
    if tensor.ndim:
        raise errors.InvalidArgumentError(
            f"tf.fill takes one value, not one of shape {tensor.shape}. Use tf.broadcast_to."
        )
    return _spread(tensor, sizes_of(dims))


def zeros_like(input: object, dtype: object = None, name: str | None = None) -> Tensor:
    """Returns zeros of the shape of `input`, and of its dtype unless another is given."""
    like = convert(input)
    return zeros(like.shape, like.dtype if dtype is None else dtype)


def ones_like(input: object, dtype: object = None, name: str | None = None) -> Tensor:
    """Returns ones of the shape of `input`, and of its dtype unless another is given."""
    like = convert(input)
    return ones(like.shape, like.dtype if dtype is None else dtype)


def range_(
    start: object,
    limit: object = None,
    delta: object = 1,
    dtype: object = None,
    name: str = "range",
) -> Tensor:
    """Returns `start`, `start + delta`, ... up to but without `limit`; `range_(n)` starts at 0.

    Raises:
        InvalidArgumentError: `delta` is 0, or leads away from `limit`.
    """
    if limit is None:
        start, limit = 0, start
    parts = [convert(part) for part in (start, limit, delta)]
    want = (
        max((part.dtype for part in parts), key=_range_rank) if dtype is None else as_dtype(dtype)
    )
    first, end, step = (part.host().reshape(-1)[0] for part in parts)
    if step == 0 or (first > end if step > 0 else first < end):
        raise errors.InvalidArgumentError(
            f"A range from {first} to {end} with delta {step} has no end: give a delta that is not 0"
            " and leads from the one to the other."
        )
    return make(np.arange(first, end, step).astype(want.as_numpy_dtype))


def cast(x: object, dtype: object, name: str | None = None) -> Tensor:
    """Returns `x` with another dtype; floats are cut off towards zero.

    Raises:
        UnimplementedError: One of both is text: see tf.strings.
        TypeError: There is no such dtype, or no tensor can have it.
    """
    want = as_dtype(dtype)
    tensor = convert(x)
    if tensor.dtype is want:
        return tensor
    if dtypes.string in {tensor.dtype, want}:
        raise errors.UnimplementedError(
            f"Cast {tensor.dtype.name} to {want.name} is not supported. Use tf.strings.to_number or"
            " tf.strings.as_string."
        )
    return astype(tensor, want)


def identity(input: object, name: str | None = None) -> Tensor:
    """Returns the same values, on the current device."""
    return apply(lambda array: array, convert(input))


def reshape(tensor: object, shape: object, name: str | None = None) -> Tensor:
    """Returns the same elements in another shape; one dimension may be -1.

    Raises:
        InvalidArgumentError: There are more or fewer elements, or `shape` is no list of sizes.
    """
    xp, value, asked = namespace(), convert(tensor), _shape_vector(shape)
    dims = _with_open_dimension(asked, value)
    return apply(lambda array: xp.reshape(array, dims), value)


def broadcast_to(input: object, shape: object, name: str | None = None) -> Tensor:
    """Returns `input` repeated to a larger shape.

    Raises:
        InvalidArgumentError: It cannot be repeated so, or `shape` is no list of sizes.
    """
    if not isinstance(shape, TensorShape) and host_numbers(shape, "shape").ndim != 1:
        raise errors.InvalidArgumentError(
            f"shape must be a list of numbers, one for each axis, not {shape!r}."
        )
    return _spread(convert(input), sizes_of(shape))


def shape(input: object, out_type: object = None, name: str | None = None) -> Tensor:
    """Returns the shape as a tensor, int32 unless another type is given."""
    want = dtypes.int32 if out_type is None else as_dtype(out_type)
    return make(np.array(convert(input).shape.as_list(), want.as_numpy_dtype))


def size(input: object, out_type: object = None, name: str | None = None) -> Tensor:
    """Returns the number of elements, int32 unless another type is given."""
    return constant(convert(input).shape.num_elements(), out_type or dtypes.int32)


def rank(input: object, name: str | None = None) -> Tensor:
    """Returns the number of dimensions, int32."""
    return constant(convert(input).ndim)


def dims_of(shape: object) -> tuple[int, ...]:
    """Returns a shape given as numbers, a TensorShape or a tensor.

    Raises:
        TypeError: It is written with what are no whole numbers.
        InvalidArgumentError: It is a tensor or an array of other numbers.
        ValueError: A dimension is not known.
    """
    try:
        return wholes(shape, "shape")
    except errors.InvalidArgumentError as error:
        if isinstance(shape, TensorLike):
            raise
        raise TypeError(str(error)) from error


def sizes_of(shape: object) -> tuple[int, ...]:
    """Returns a shape of which no dimension is left open; InvalidArgumentError for a negative one."""
    dims = dims_of(shape)
    if not isinstance(shape, TensorShape) and host_numbers(shape, "shape").ndim > 1:
        raise errors.InvalidArgumentError(f"A shape is a list of numbers, not {shape!r}.")
    if any(dim < 0 for dim in dims):
        raise errors.InvalidArgumentError(f"Dimensions must be 0 or more, but the shape is {dims}.")
    return dims


def axes_of(axis: Axis) -> tuple[int, ...] | int | None:
    """Returns an axis argument as the array library takes it.

    Raises:
        InvalidArgumentError: It is no whole number, nor a list of them.
    """
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, list | tuple) or host_numbers(axis, "axis").ndim:
        return wholes(axis, "axis")
    return whole(axis, "axis")


def _spread(tensor: Tensor, dims: tuple[int, ...]) -> Tensor:
    xp = namespace()
    return apply(lambda array: xp.broadcast_to(array, dims), tensor)


def _shape_vector(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, TensorShape) and host_numbers(shape, "shape").ndim > 1:
        raise errors.InvalidArgumentError(f"shape must be a list of numbers, not {shape!r}.")
    return wholes(shape, "shape")


def _with_open_dimension(dims: tuple[int, ...], tensor: Tensor) -> tuple[int, ...]:
    """Returns a shape with the number that a -1 in it stands for."""
    if min(dims, default=0) >= 0:
        return dims
    known = math.prod(dim for dim in dims if dim != -1)
    count = math.prod(tensor.dims)
    if dims.count(-1) > 1 or min(dims) < -1 or (known and count % known) or (count and not known):
        raise errors.InvalidArgumentError(
            f"A tensor of shape {tensor.shape} cannot have shape {dims}: its {count} elements must"
            " come out, and one dimension at most may be -1."
        )
    return tuple((count // known if known else 1) if dim == -1 else dim for dim in dims)


def _range_rank(dtype: DType) -> int:
    order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    return order.index(dtype) if dtype in order else 0
