"""Functions that make tensors, convert them, and change their shape, with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. `name`
is accepted where TensorFlow has it, and ignored. Arithmetic is in `math_ops`.

Source: tensorflow/python/ops/array_ops.py and framework/constant_op.py, 2.21.
"""

# ruff: noqa: A002, ARG001, FBT001, FBT002  # TensorFlow's signatures: `name`, `input`, booleans

import math
from collections.abc import Sequence

import numpy as np

from clustersim import errors
from clustersim.devices.array import NativeArray
from clustersim.values import dtypes
from clustersim.values.dtypes import DType, as_dtype
from clustersim.values.shapes import ShapeLike, TensorShape
from clustersim.values.tensor import (
    Tensor,
    apply,
    astype,
    convert,
    is_tensor,
    make,
    namespace,
    same_dtype,
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
    dims = [int(dim or 0) for dim in TensorShape(shape)]
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
    """Returns a tensor of zeros."""
    return make(np.zeros(sizes_of(shape), as_dtype(dtype).as_numpy_dtype))


def ones(shape: object, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns a tensor of ones."""
    return make(np.ones(sizes_of(shape), as_dtype(dtype).as_numpy_dtype))


def fill(dims: object, value: object, name: str | None = None) -> Tensor:
    """Returns a tensor of one value."""
    return broadcast_to(convert(value), dims)


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
    """Returns `start`, `start + delta`, ... up to but without `limit`; `range_(n)` starts at 0."""
    if limit is None:
        start, limit = 0, start
    parts = [convert(part) for part in (start, limit, delta)]
    want = (
        max((part.dtype for part in parts), key=_range_rank) if dtype is None else as_dtype(dtype)
    )
    bounds = [part.numpy() for part in parts]
    if bounds[2] == 0:
        raise errors.InvalidArgumentError("A range needs a delta that is not 0.")
    return make(np.arange(*bounds).astype(want.as_numpy_dtype))


def one_hot(
    indices: object,
    depth: object,
    on_value: object = None,
    off_value: object = None,
    axis: int = -1,
    dtype: object = None,
    name: str | None = None,
) -> Tensor:
    """Returns `on_value` where the new axis equals the index, else `off_value` (1 and 0)."""
    want = dtypes.float32 if dtype is None else as_dtype(dtype)
    index = expand_dims(indices, axis)
    along = [1] * index.ndim
    along[axis] = int(convert(depth))
    columns = reshape(cast(range_(depth), index.dtype), along)
    on = cast(1 if on_value is None else on_value, want)
    off = cast(0 if off_value is None else off_value, want)
    return where(index == columns, on, off)


def cast(x: object, dtype: object, name: str | None = None) -> Tensor:
    """Returns `x` with another dtype; floats are cut off towards zero."""
    want = as_dtype(dtype)
    tensor = convert(x)
    if tensor.dtype is want:
        return tensor
    return astype(tensor, want)


def identity(input: object, name: str | None = None) -> Tensor:
    """Returns the same values, on the current device."""
    return apply(lambda array: array, convert(input))


def reshape(tensor: object, shape: object, name: str | None = None) -> Tensor:
    """Returns the same elements in another shape; one dimension may be -1."""
    xp, dims = namespace(), dims_of(shape)
    return apply(lambda array: xp.reshape(array, dims), convert(tensor))


def broadcast_to(input: object, shape: object, name: str | None = None) -> Tensor:
    """Returns `input` repeated to a larger shape."""
    xp, dims = namespace(), dims_of(shape)
    return apply(lambda array: xp.broadcast_to(array, dims), convert(input))


def transpose(
    a: object, perm: object = None, conjugate: bool = False, name: str | None = None
) -> Tensor:
    """Returns `a` with its axes in the order `perm`; reversed if that is not given."""
    xp, tensor = namespace(), convert(a)
    axes = tuple(reversed(range(tensor.ndim))) if perm is None else dims_of(perm)
    return apply(lambda array: xp.permute_dims(array, axes), tensor)


def expand_dims(input: object, axis: object, name: str | None = None) -> Tensor:
    """Returns `input` with a new axis of length 1."""
    xp, position = namespace(), int(convert(axis))
    return apply(lambda array: xp.expand_dims(array, axis=position), convert(input))


def squeeze(input: object, axis: Axis = None, name: str | None = None) -> Tensor:
    """Returns `input` without axes of length 1: those named, else all."""
    xp, tensor = namespace(), convert(input)
    axes = axes_of(axis)
    if axes is None:
        axes = tuple(position for position, size in enumerate(tensor.dims) if size == 1)
    return apply(lambda array: xp.squeeze(array, axis=axes), tensor)


def concat(values: Sequence[object], axis: object, name: str = "concat") -> Tensor:
    """Returns the tensors joined along an axis."""
    parts = _of_one_dtype(values)
    xp, position = namespace(), int(convert(axis))
    return apply(lambda *arrays: xp.concat(arrays, axis=position), *parts)


def stack(values: Sequence[object], axis: int = 0, name: str = "stack") -> Tensor:
    """Returns the tensors joined along a new axis."""
    xp = namespace()
    return apply(lambda *arrays: xp.stack(arrays, axis=axis), *_of_one_dtype(values))


def unstack(
    value: object, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Returns the parts along an axis, without that axis."""
    tensor = convert(value)
    before = [slice(None)] * range(tensor.ndim)[axis]
    return [tensor[(*before, i)] for i in range(tensor.dims[axis])]


def gather(params: object, indices: object, axis: int = 0, name: str | None = None) -> Tensor:
    """Returns the slices of `params` at `indices` along an axis.

    Raises:
        InvalidArgumentError: An index does not exist.
    """
    xp, tensor, index = namespace(), convert(params), convert(indices)
    length = tensor.dims[axis]
    where_to = index.host()
    if where_to.size and not (where_to.min() >= 0 and where_to.max() < length):
        raise errors.InvalidArgumentError(
            f"Indices {where_to.tolist()} are not all in [0, {length}), the size of axis {axis}."
        )
    position = range(tensor.ndim)[axis]
    dims = (*tensor.dims[:position], *index.dims, *tensor.dims[position + 1 :])

    def taken(array: NativeArray, at: NativeArray) -> NativeArray:
        return xp.reshape(xp.take(array, xp.reshape(at, (-1,)), axis=position), dims)

    return apply(taken, tensor, index)


def boolean_mask(
    tensor: object, mask: object, axis: int | None = None, name: str = "boolean_mask"
) -> Tensor:
    """Returns the elements, or the slices along `axis`, where the mask is true."""
    before = () if not axis else (slice(None),) * axis
    value, where_to = convert(tensor), convert(mask, dtypes.bool_)
    if not before:
        return value[where_to]
    return gather(value, np.flatnonzero(where_to.host()), axis=len(before))


def split(
    value: object,
    num_or_size_splits: int | Sequence[int],
    axis: int = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Returns a tensor cut along an axis: into so many equal parts, or into parts of given sizes.

    Raises:
        InvalidArgumentError: The axis cannot be cut so.
    """
    tensor, given = convert(value), num_or_size_splits
    length = tensor.dims[axis]
    sizes = [length // given] * given if isinstance(given, int) else [int(size) for size in given]
    if sum(sizes) != length:
        raise errors.InvalidArgumentError(
            f"Axis {axis} of shape {tensor.shape} cannot be cut into {given!r}. The parts must add up"
            f" to {length}."
        )
    before = (slice(None),) * range(tensor.ndim)[axis]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [
        tensor[(*before, slice(start, start + size))]
        for start, size in zip(starts, sizes, strict=True)
    ]


def tile(input: object, multiples: Sequence[int], name: str | None = None) -> Tensor:
    """Returns a tensor repeated so many times along each axis."""
    tensor = convert(input)
    for axis, times in enumerate(multiples):
        tensor = concat([tensor] * times, axis)
    return tensor


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


def where(condition: object, x: object = None, y: object = None, name: str | None = None) -> Tensor:
    """Returns `x` where the condition holds, else `y`; without both, where it holds: `[n, rank] int64`."""
    if x is None and y is None:
        return make(np.argwhere(convert(condition).host()))
    first, second = same_dtype(x, y)
    return apply(namespace().where, convert(condition, dtypes.bool_), first, second)


def dims_of(shape: object) -> tuple[int, ...]:
    """Returns a shape given as numbers, a TensorShape or a tensor."""
    if isinstance(shape, TensorShape):
        return tuple(int(dim or 0) for dim in shape)
    host = convert(shape).host()
    if host.dtype.kind not in "iu" and host.size:
        raise TypeError(f"A shape holds whole numbers, not {shape!r}.")
    return tuple(int(dim) for dim in host.reshape(-1))


def sizes_of(shape: object) -> tuple[int, ...]:
    """Returns a shape of which no dimension is left open; InvalidArgumentError for a negative one."""
    dims = dims_of(shape)
    if any(dim < 0 for dim in dims):
        raise errors.InvalidArgumentError(f"Dimensions must be 0 or more, but the shape is {dims}.")
    return dims


def axes_of(axis: Axis) -> tuple[int, ...] | int | None:
    """Returns an axis argument as NumPy takes it; TypeError for what is no whole number."""
    if axis is None or isinstance(axis, int):
        return axis
    host = convert(axis).host()
    if host.size and host.dtype.kind not in "iu":
        raise TypeError(f"axis must be a whole number or several, not {axis!r}.")
    return int(host) if host.ndim == 0 else tuple(int(one) for one in host)


def _of_one_dtype(values: Sequence[object]) -> list[Tensor]:
    tensors = [convert(value) for value in values]
    if len({tensor.dtype for tensor in tensors}) > 1:
        raise errors.InvalidArgumentError(
            f"Tensors of types {[tensor.dtype.name for tensor in tensors]} cannot be joined. Cast"
            " them first, with tf.cast."
        )
    return tensors


def _range_rank(dtype: DType) -> int:
    order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    return order.index(dtype) if dtype in order else 0
