"""Functions that pick elements: by index, by mask, by condition; with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. Indices
are read on the host first: TensorFlow's CPU kernels refuse those that do not exist, and so do these.

Source: tensorflow/python/ops/array_ops.py, core/ops/array_ops.cc and kernels/gather_op.cc, 2.21.
"""

# ruff: noqa: ARG001  # TensorFlow's signatures: `name`, `input`

import math

import numpy as np

from clustersim import errors
from clustersim.devices.array import HostArray, NativeArray
from clustersim.values import dtypes
from clustersim.values.arguments import axis_within, host_numbers, whole
from clustersim.values.arrange_ops import expand_dims
from clustersim.values.array_ops import cast, range_, reshape
from clustersim.values.dtypes import DType, as_dtype
from clustersim.values.math_ops import pair
from clustersim.values.tensor import Tensor, apply, convert, make, namespace


def gather(
    params: object,
    indices: object,
    validate_indices: object = None,
    axis: object = None,
    batch_dims: object = 0,
    name: str | None = None,
) -> Tensor:
    """Returns the slices of `params` at `indices` along an axis.

    Args:
        params: What slices are taken of.
        indices: Which; the result has its shape in the place of the axis.
        validate_indices: Without effect: indices are checked always.
        axis: Which axis of `params`. Default: the first behind the batch.
        batch_dims: How many first dimensions `params` and `indices` share; each member of the
            batch has indices of its own.
        name: Without effect.

    Raises:
        InvalidArgumentError: An index or the axis does not exist, or the batches differ.
    """
    tensor, index = convert(params), host_numbers(indices, "indices")
    batch = _batch_dims(batch_dims, tensor, index)
    position = axis_within(batch if axis is None else axis, tensor.ndim)
    length = tensor.dims[position]
    if position < batch:
        raise errors.InvalidArgumentError(
            f"axis is {position}, inside of the {batch} batch_dims. Give {batch} or more."
        )
    if index.size and not (index.min() >= 0 and index.max() < length):
        raise errors.InvalidArgumentError(
            f"Indices {index.tolist()} are not all in [0, {length}), the size of axis {position}."
        )
    if batch:
        return _gathered_in_batches(tensor, index, position, batch)
    xp = namespace()
    dims = (*tensor.dims[:position], *index.shape, *tensor.dims[position + 1 :])

    def taken(array: NativeArray, at: NativeArray) -> NativeArray:
        return xp.reshape(xp.take(array, at, axis=position), dims)

    return apply(taken, tensor, make(index.reshape(-1).astype(np.int64)))


def _batch_dims(batch_dims: object, tensor: Tensor, index: HostArray) -> int:
    asked = whole(batch_dims, "batch_dims")
    count = asked + index.ndim if asked < 0 else asked
    if not 0 <= count <= min(index.ndim, tensor.ndim) or tensor.dims[:count] != index.shape[:count]:
        raise errors.InvalidArgumentError(
            f"batch_dims is {asked}, but params of shape {tensor.shape} and indices of shape"
            f" {index.shape} do not share so many first dimensions."
        )
    return count


def _gathered_in_batches(tensor: Tensor, index: HostArray, position: int, batch: int) -> Tensor:
    """Takes slices of the batch's members laid one behind the other, so that one `take` does it."""
    xp = namespace()
    num_members, length = math.prod(tensor.dims[:batch]), tensor.dims[position]
    between, after = tensor.dims[batch:position], tensor.dims[position + 1 :]
    starts = np.arange(num_members).reshape(-1, 1) * length
    at_row = (index.reshape(num_members, -1) + starts).reshape(-1).astype(np.int64)
    axes = [*range(batch), position, *range(batch, position), *range(position + 1, tensor.ndim)]
    own = index.ndim - batch
    # The rows come as batch, indices, between, after; what is between goes before the indices.
    back = [
        *range(batch),
        *range(batch + own, batch + own + len(between)),
        *range(batch, batch + own),
        *range(batch + own + len(between), batch + own + len(between) + len(after)),
    ]

    def taken(array: NativeArray, at: NativeArray) -> NativeArray:
        rows = xp.reshape(
            xp.permute_dims(array, tuple(axes)),
            (num_members * length, math.prod(between) * math.prod(after)),
        )
        found = xp.reshape(xp.take(rows, at, axis=0), (*index.shape, *between, *after))
        return xp.permute_dims(found, tuple(back))

    return apply(taken, tensor, make(at_row))


def boolean_mask(
    tensor: object, mask: object, axis: object = None, name: str = "boolean_mask"
) -> Tensor:
    """Returns the elements, or the slices from `axis` on, where the mask is true.

    Raises:
        ValueError: The mask is a scalar, or does not fit the axes from `axis` on.
    """
    value, where_to = convert(tensor), cast(mask, dtypes.bool_)
    first = 0 if axis is None else whole(axis, "axis")
    first += value.ndim if first < 0 else 0
    last = first + where_to.ndim
    if where_to.ndim == 0 or value.dims[first:last] != where_to.dims:
        raise ValueError(
            f"A mask of shape {where_to.shape} does not fit a tensor of shape {value.shape} from axis"
            f" {first} on. Give one truth value for each element or slice."
        )
    if first == 0:
        return value[where_to]
    flat = reshape(value, [*value.dims[:first], -1, *value.dims[last:]])
    return gather(flat, np.flatnonzero(where_to.host()), axis=first)


def where(condition: object, x: object = None, y: object = None, name: str | None = None) -> Tensor:
    """Returns `x` where the condition holds, else `y`; without both, where it holds: `[n, rank] int64`.

    Raises:
        ValueError: One of `x` and `y` is missing.
    """
    if x is None and y is None:
        tensor = convert(condition)
        if tensor.ndim == 0:
            raise errors.InvalidArgumentError(
                "A scalar has no place where it holds. Give a vector."
            )
        return make(np.argwhere(tensor.host()))
    if x is None or y is None:
        raise ValueError("x and y must both be given, or none of them.")
    first, second = pair(x, y)
    return apply(namespace().where, convert(condition, dtypes.bool_), first, second)


def one_hot(
    indices: object,
    depth: object,
    on_value: object = None,
    off_value: object = None,
    axis: object = None,
    dtype: object = None,
    name: str | None = None,
) -> Tensor:
    """Returns `on_value` where the new axis equals the index, else `off_value` (1 and 0).

    Raises:
        InvalidArgumentError: The depth is negative, the axis not there, or an index no whole number.
        TypeError: The types of the two values and `dtype` differ.
    """
    want = _one_hot_dtype(on_value, off_value, dtype)
    length = whole(depth, "depth")
    if length < 0:
        raise errors.InvalidArgumentError(f"depth must be 0 or more, not {length}.")
    index = convert(indices)
    if not index.dtype.is_integer:
        raise errors.InvalidArgumentError(
            f"one_hot takes whole numbers as indices, not {index.dtype.name}. Cast them first."
        )
    asked = -1 if axis is None else whole(axis, "axis")
    if asked != -1 and not 0 <= asked <= index.ndim:
        raise errors.InvalidArgumentError(f"axis must be -1, or 0 to {index.ndim}, not {asked}.")
    index = expand_dims(index, asked)
    along = [1] * index.ndim
    along[asked] = length
    columns = reshape(cast(range_(length), index.dtype), along)
    on = cast(1 if on_value is None else on_value, want)
    off = cast(0 if off_value is None else off_value, want)
    return where(index == columns, on, off)


def _one_hot_dtype(on_value: object, off_value: object, dtype: object) -> DType:
    want = None if dtype is None else as_dtype(dtype)
    for name, value in (("on_value", on_value), ("off_value", off_value)):
        if value is None:
            continue
        own = convert(value, want).dtype
        if want is not None and own is not want:
            raise TypeError(f"{name} is of type {own.name}, where {want.name} is asked for.")
        want = own
    return dtypes.float32 if want is None else want
