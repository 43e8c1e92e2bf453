"""What a key in square brackets means for a shape, in the form that the array API standard promises.

The standard wants every axis named or an ellipsis, slices within bounds, and indices that exist; NumPy
and TensorFlow let more through. Knows nothing of tensors: a key holds numbers, slices, None, `...`.

Source: tensorflow/python/ops/array_ops.py (_slice_helper, _check_index), 2.21; array API standard
2023.12, "Indexing".
"""

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, TypeAlias

from clustersim import errors

Part: TypeAlias = "int | slice | EllipsisType | None"


def standard_key(parts: Sequence[Part], shape: Sequence[int]) -> tuple[Part, ...]:
    """Returns the key for a shape: one number or slice for each axis that is named, and an ellipsis.

    Raises:
        InvalidArgumentError: There are more parts than axes, an index does not exist, a slice has
            step 0, or there are two ellipses.
    """
    if ... not in parts:
        parts = [*parts, ...]
    named = [part for part in parts if part is not None and part is not ...]
    if len(named) > len(shape) or parts.count(...) > 1:
        raise errors.InvalidArgumentError(
            f"The key {_text(parts)} does not fit shape {tuple(shape)}: it names {len(named)} axes of"
            f" {len(shape)}. Give one index or slice for each axis, and `...` at most once."
        )
    key: list[Part] = []
    axis = 0
    for part in parts:
        if part is ...:
            axis += len(shape) - len(named)
        elif part is not None:
            part = _within(part, shape[axis], axis)  # noqa: PLW2901  # the same part, within bounds
            axis += 1
        key.append(part)
    return tuple(key)


def _within(part: Any, size: int, axis: int) -> int | slice:
    if isinstance(part, slice):
        return _clipped(part, size)
    if not -size <= part < size:
        raise errors.InvalidArgumentError(
            f"slice index {part} of dimension {axis} out of bounds: its size is {size}. Give"
            f" {-size} to {size - 1}."
        )
    return int(part)


def _clipped(part: slice, size: int) -> slice:
    """Returns a slice that takes the same elements and has no bound outside of the axis."""
    if part.step == 0:
        raise errors.InvalidArgumentError("A slice's step is 0. Give another, or leave it out.")
    start, stop, step = part.indices(size)
    if (start >= stop) if step > 0 else (start <= stop):
        return slice(0, 0, 1)
    return slice(start, stop if stop >= 0 else None, step)


def _text(parts: Sequence[Part]) -> str:
    return ", ".join("..." if part is ... else str(part) for part in parts)
