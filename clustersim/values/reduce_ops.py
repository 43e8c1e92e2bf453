"""Functions that make less of a tensor: sums, means, extremes and where they are, with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. `name`
is accepted where TensorFlow has it, and ignored.

Source: tensorflow/python/ops/math_ops.py and core/kernels/reduction_ops*.cc, 2.21.
"""

# ruff: noqa: A002, ARG001, FBT001, FBT002  # TensorFlow's signatures: `name`, `input`, booleans

import math
from collections.abc import Callable

from clustersim import errors
from clustersim.devices.array import NativeArray
from clustersim.values import dtypes
from clustersim.values.arguments import axis_within
from clustersim.values.array_ops import Axis, axes_of, constant, fill
from clustersim.values.dtypes import as_dtype
from clustersim.values.math_ops import truth
from clustersim.values.tensor import Tensor, apply, astype, convert, namespace, native_dtype


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
    count = math.prod(tensor.dims) / max(math.prod(total.dims), 1)
    if not tensor.dtype.is_integer:
        return total / convert(count, tensor.dtype)
    return _cut_off_quotient(total, max(int(count), 1))


def _cut_off_quotient(total: Tensor, count: int) -> Tensor:
    """Returns whole numbers divided by a positive one, rounded towards zero as kernels in C++ do."""
    xp = namespace()

    def divided(array: NativeArray) -> NativeArray:
        quotient = array // count
        return xp.where((array < 0) & (array % count != 0), quotient + 1, quotient)

    return apply(divided, total)


def reduce_max(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the maximum over some axes; of nothing the lowest number there is."""
    tensor = _ordered(input_tensor)
    lowest = -math.inf if tensor.dtype.is_floating else tensor.dtype.min
    return _extreme(namespace().max, tensor, lowest, axis, is_kept=keepdims)


def reduce_min(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns the minimum over some axes; of nothing the highest number there is."""
    tensor = _ordered(input_tensor)
    highest = math.inf if tensor.dtype.is_floating else tensor.dtype.max
    return _extreme(namespace().min, tensor, highest, axis, is_kept=keepdims)


def _extreme(
    extreme: Callable[..., NativeArray],
    tensor: Tensor,
    of_nothing: float,
    axis: Axis,
    *,
    is_kept: bool,
) -> Tensor:
    if 0 in tensor.dims:
        like_it = reduce_sum(tensor, axis, keepdims=is_kept)
        return fill(like_it.dims, constant(of_nothing, tensor.dtype))
    axes = axes_of(axis)
    return apply(lambda a: extreme(a, axis=axes, keepdims=is_kept), tensor)


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
    tensor = truth(input_tensor)
    return apply(lambda a: xp.all(a, axis=axes, keepdims=keepdims), tensor)


def reduce_any(
    input_tensor: object, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Returns whether any is true."""
    xp, axes = namespace(), axes_of(axis)
    tensor = truth(input_tensor)
    return apply(lambda a: xp.any(a, axis=axes, keepdims=keepdims), tensor)


def argmax(
    input: object,
    axis: object = None,
    output_type: object = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the largest along an axis (the first: None); the first of equals.

    Raises:
        InvalidArgumentError: There is no such axis, it has no elements, they have no order, or an
            index cannot be of `output_type`.
    """
    return _place_of(namespace().argmax, input, axis, output_type, -math.inf)


def argmin(
    input: object,
    axis: object = None,
    output_type: object = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Returns the index of the smallest along an axis. Raises as `argmax`."""
    return _place_of(namespace().argmin, input, axis, output_type, math.inf)


def _place_of(
    found: Callable[..., NativeArray],
    input: object,
    axis: object,
    output_type: object,
    in_place_of_nan: float,
) -> Tensor:
    xp, tensor, want = namespace(), convert(input), as_dtype(output_type)
    along = axis_within(0 if axis is None else axis, tensor.ndim)
    if want not in _INDEX_TYPES or not (tensor.dtype.is_bool or _is_ordered(tensor)):
        raise errors.InvalidArgumentError(
            f"An index among {tensor.dtype.name} of type {want.name} cannot be found: give numbers"
            f" that have an order, and ask for one of {[one.name for one in _INDEX_TYPES]}."
        )

    def place(array: NativeArray) -> NativeArray:
        if tensor.dtype.is_floating:  # what is no number is never the one
            array = xp.where(xp.isnan(array), xp.full_like(array, in_place_of_nan), array)
        return found(array, axis=along)

    number = astype(tensor, dtypes.int32) if tensor.dtype.is_bool else tensor
    return astype(apply(place, number), want)


_INDEX_TYPES = (dtypes.int32, dtypes.int64, dtypes.int16, dtypes.uint16)


def _is_ordered(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_integer


def _ordered(value: object) -> Tensor:
    tensor = _numeric(value)
    if not _is_ordered(tensor):
        raise errors.InvalidArgumentError(
            f"Numbers of type {tensor.dtype.name} have no order. Take tf.abs, or a part of them."
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
