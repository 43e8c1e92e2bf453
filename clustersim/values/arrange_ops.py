"""Functions that move elements and change none: transpose, join, cut, repeat; with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor. `name`
is accepted where TensorFlow has it, and ignored.

Source: tensorflow/python/ops/array_ops.py and core/ops/array_ops.cc, 2.21.
"""

# ruff: noqa: A002, ARG001, FBT001, FBT002  # TensorFlow's signatures: `name`, `input`, booleans

from collections.abc import Sequence
from contextlib import suppress

from clustersim import errors
from clustersim.devices.array import NativeArray
from clustersim.values.arguments import axis_within, host_numbers, vector, whole, wholes
from clustersim.values.array_ops import Axis
from clustersim.values.tensor import Tensor, TensorLike, apply, convert, namespace


def transpose(
    a: object, perm: object = None, conjugate: bool = False, name: str | None = None
) -> Tensor:
    """Returns `a` with its axes in the order `perm`, reversed without one; conjugated if asked.

    Raises:
        InvalidArgumentError: `perm` does not name each axis once.
    """
    xp, tensor = namespace(), convert(a)
    order = tuple(range(tensor.ndim))
    axes = order[::-1] if perm is None else vector(perm, "perm", tensor.ndim)
    axes = tuple(axis_within(axis, tensor.ndim, "perm") for axis in axes)
    if tuple(sorted(axes)) != order:
        raise errors.InvalidArgumentError(
            f"perm {axes} must name each axis of shape {tensor.shape} once: {list(order)} in some"
            " order."
        )

    def turned(array: NativeArray) -> NativeArray:
        moved = xp.permute_dims(array, axes)
        return xp.conj(moved) if conjugate and tensor.dtype.is_complex else moved

    return apply(turned, tensor)


def expand_dims(input: object, axis: object, name: str | None = None) -> Tensor:
    """Returns `input` with a new axis of length 1.

    Raises:
        InvalidArgumentError: There is no such place.
    """
    xp, tensor = namespace(), convert(input)
    position = axis_within(_only(axis), tensor.ndim + 1)
    return apply(lambda array: xp.expand_dims(array, axis=position), tensor)


def squeeze(input: object, axis: Axis = None, name: str | None = None) -> Tensor:
    """Returns `input` without axes of length 1: those named, else all.

    Raises:
        InvalidArgumentError: A named axis is longer, or not there.
    """
    xp, tensor = namespace(), convert(input)
    asked = () if axis is None else wholes(axis, "axis")
    ones = [position for position, size in enumerate(tensor.dims) if size == 1]
    axes = tuple({axis_within(one, tensor.ndim) for one in asked or ones})
    return apply(lambda array: xp.squeeze(array, axis=axes), tensor)


def concat(values: Sequence[object], axis: object, name: str = "concat") -> Tensor:
    """Returns the tensors joined along an axis.

    Raises:
        InvalidArgumentError: They cannot be joined so: a shape, a type or the axis does not fit.
        TypeError: A Python value cannot be taken as the first one's type.
    """
    if not isinstance(values, list | tuple):
        return convert(values)
    parts = _of_one_dtype(values)
    if len(parts) == 1:
        return parts[0]
    if not parts or not all(part.ndim for part in parts):
        raise errors.InvalidArgumentError(
            f"concat takes tensors with an axis, but the shapes are {[str(p.shape) for p in parts]}."
            " Use tf.stack for scalars."
        )
    xp, position = namespace(), axis_within(_only(axis), parts[0].ndim)
    return apply(lambda *arrays: xp.concat(arrays, axis=position), *parts)


def stack(values: Sequence[object], axis: object = 0, name: str = "stack") -> Tensor:
    """Returns the tensors joined along a new axis.

    Raises:
        ValueError: There is no such place for the axis.
        InvalidArgumentError: Their shapes or types differ.
    """
    if not isinstance(values, list | tuple):
        if convert(values).ndim == 0:
            return convert(values)
        values = list(convert(values))
    if not values:
        return convert(values)
    if _place(axis, convert(values[0]).ndim + 1) == 0:
        with suppress(TypeError, ValueError):  # a list of numbers has one type
            return convert(values)
    parts = _of_one_dtype(values)
    xp = namespace()
    position = _place(axis, parts[0].ndim + 1)
    if len({part.dims for part in parts}) > 1:
        raise errors.InvalidArgumentError(
            f"Shapes of all inputs must match, not {[str(part.shape) for part in parts]}."
        )
    return apply(lambda *arrays: xp.stack(arrays, axis=position), *parts)


def unstack(
    value: object, num: object = None, axis: object = 0, name: str = "unstack"
) -> list[Tensor]:
    """Returns the parts along an axis, without that axis.

    Raises:
        ValueError: There is no such axis.
        InvalidArgumentError: There are not `num` parts.
    """
    tensor = convert(value)
    position = _place(axis, tensor.ndim)
    length = tensor.dims[position]
    if num is not None and whole(num, "num") != length:
        raise errors.InvalidArgumentError(
            f"Axis {position} of shape {tensor.shape} has {length} parts, not {num!r}."
        )
    before = (slice(None),) * position
    return [tensor[(*before, i)] for i in range(length)]


def split(
    value: object,
    num_or_size_splits: object,
    axis: object = 0,
    num: object = None,
    name: str = "split",
) -> list[Tensor]:
    """Returns a tensor cut along an axis: into so many equal parts, or into parts of given sizes.

    One of the sizes may be -1, for what is left.

    Raises:
        InvalidArgumentError: The axis cannot be cut so.
    """
    tensor = convert(value)
    position = axis_within(axis, tensor.ndim)
    length = tensor.dims[position]
    sizes = wholes(num_or_size_splits, "num_or_size_splits")
    if host_numbers(num_or_size_splits, "num_or_size_splits").ndim == 0:
        num, sizes = None, (length // max(sizes[0], 1),) * sizes[0]
    if sizes.count(-1) == 1:
        rest = length - sum(sizes) - 1
        sizes = tuple(rest if size == -1 else size for size in sizes)
    is_wrong = num is not None and whole(num, "num") != len(sizes)
    if is_wrong or not sizes or min(sizes) < 0 or sum(sizes) != length:
        raise errors.InvalidArgumentError(
            f"Axis {position} of shape {tensor.shape} cannot be cut into {num_or_size_splits!r}. The"
            f" parts must add up to {length}."
        )
    before = (slice(None),) * position
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [
        tensor[(*before, slice(start, start + size))]
        for start, size in zip(starts, sizes, strict=True)
    ]


def tile(input: object, multiples: object, name: str | None = None) -> Tensor:
    """Returns a tensor repeated so many times along each axis.

    Raises:
        InvalidArgumentError: There is not one number for each axis, or one is negative.
    """
    xp, tensor = namespace(), convert(input)
    times = vector(multiples, "multiples", tensor.ndim)
    if min(times, default=0) < 0:
        raise errors.InvalidArgumentError(f"multiples must be 0 or more, not {times}.")
    return apply(lambda array: xp.tile(array, times), tensor)


def _of_one_dtype(values: Sequence[object]) -> list[Tensor]:
    """Returns tensors of the type of the first one; only Python's values are converted to it."""
    given = [convert(value) for value in values if isinstance(value, TensorLike)]
    if len({tensor.dtype for tensor in given}) > 1:
        raise errors.InvalidArgumentError(
            f"Tensors of types {[tensor.dtype.name for tensor in given]} cannot be joined. Cast"
            " them first, with tf.cast."
        )
    if len(given) == len(values):
        return given
    want = given[0].dtype if given else convert(values[0]).dtype
    return [convert(value, want) for value in values]


def _only(axis: object) -> int:
    """Returns an axis that may stand alone in a list."""
    numbers = wholes(axis, "axis")
    if len(numbers) != 1:
        raise errors.InvalidArgumentError(f"axis must be one whole number, not {axis!r}.")
    return numbers[0]


def _place(axis: object, ndim: int) -> int:
    """Returns an axis as `axis_within`, but with the error of TensorFlow's Python code."""
    position = whole(axis, "axis")
    if not -ndim <= position < ndim:
        raise ValueError(f"Argument `axis` = {position} not in range [{-ndim}, {ndim}).")
    return position % ndim
