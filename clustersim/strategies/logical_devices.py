"""Logical devices: annotations that say which of a replica's devices holds which slice of a tensor.

A replica of `TPUStrategy` has as many logical devices as its assignment gives it cores; a replica of
every other strategy has one. The calls change no value; `placement` shows what they asked for, which
TensorFlow cannot.

Source: tensorflow/python/distribute/tpu_strategy.py and compiler/xla/experimental/xla_sharding.py,
2.21.
"""

from __future__ import annotations

import itertools
import math
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clustersim.values import nest, scope
from clustersim.values.per_replica import DistributedValues
from clustersim.values.tensor import Operators, Tensor, apply, convert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What one logical device holds of a tensor."""

    replica: int
    logical_device: int
    device: str
    slices: tuple[slice, ...]
    """Its part of the tensor, one slice for each dimension."""
    value: Tensor

    def __str__(self) -> str:
        part = ", ".join(f"{one.start}:{one.stop}" for one in self.slices)
        return f"replica {self.replica}, logical device {self.logical_device} ({self.device}): [{part}]"


class Placement(tuple[Shard, ...]):
    """Where a tensor lies: one shard for each logical device that holds some of it."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))


@dataclass(frozen=True, slots=True)
class _Annotation:
    """How a tensor is laid over the logical devices of its replica."""

    logical_devices: tuple[int, ...]
    splits: tuple[int, ...] | None
    """Into how many pieces each dimension is cut; None: each device holds all."""
    replica: int


class LogicalDevices:
    """The logical devices of a strategy's replicas, and what was annotated.

    Args:
        count: How many a replica has.
        device_of: Returns the full name of a replica's logical device.
        is_spmd: Whether pieces are one program's, so that nothing can be put on one device.
    """

    def __init__(
        self, count: int, device_of: Callable[[int, int], str], *, is_spmd: bool = False
    ) -> None:
        self.count = count
        self._device_of = device_of
        self._is_spmd = is_spmd
        # By id, since tensors are not hashable; an entry goes with its tensor.
        self._annotations: dict[int, tuple[weakref.ref[Tensor], _Annotation]] = {}

    def assign(self, tensor: Any, logical_device_id: int) -> Tensor:
        """Returns `tensor`, annotated to lie on one logical device of its replica.

        Raises:
            ValueError: There is no such logical device, or the strategy is in SPMD mode.
        """
        if self._is_spmd:
            raise ValueError(
                "Cannot assign a tensor to a logical device in SPMD mode. Make the TPUStrategy with"
                " experimental_spmd_xla_partitioning=False."
            )
        count = self.count
        if not 0 <= logical_device_id < count:
            raise ValueError(
                f"logical_device_id is {logical_device_id}, but a replica has {count} logical"
                f" devices (0..{count - 1})."
            )
        return self._annotated(tensor, [logical_device_id])

    def split(self, tensor: Any, partition_dimensions: Sequence[int]) -> Tensor:
        """Returns `tensor`, annotated to be cut into one piece for each logical device.

        Args:
            tensor: What is cut.
            partition_dimensions: Into how many pieces each dimension is cut.

        Raises:
            ValueError: There is not one number for each dimension, a dimension cannot be cut evenly,
                or the pieces are not as many as the logical devices.
        """
        count, num_pieces = self.count, math.prod(partition_dimensions)
        pieces = (
            f"partition_dimensions {list(partition_dimensions)} makes {num_pieces} pieces, and a"
            f" replica has {count} logical devices"
        )
        if nest.is_nested(tensor) or not isinstance(tensor, Operators):
            raise ValueError(
                f"Only one tensor can be split, not a {type(tensor).__name__}: pass, for example,"
                f" `images` of (images, labels). Besides, {pieces}; both must be the same."
                if num_pieces != count
                else f"Only one tensor can be split, not a {type(tensor).__name__}: pass, for"
                " example, `images` of (images, labels)."
            )
        shape = convert(tensor).shape
        if len(shape) != len(partition_dimensions):
            raise ValueError(
                f"partition_dimensions {list(partition_dimensions)} has"
                f" {len(partition_dimensions)} numbers, but the tensor's shape {shape} has"
                f" {len(shape)} dimensions. Give one number for each."
            )
        for axis, (size, split) in enumerate(zip(shape, partition_dimensions, strict=True)):
            if size is not None and size % split != 0:
                raise ValueError(
                    f"Dimension {axis} of shape {shape} is {size}, which cannot be cut into {split}"
                    " equal pieces. Choose a divisor."
                )
        if num_pieces != count:
            raise ValueError(f"There must be one piece for each logical device: {pieces}.")
        return self._annotated(tensor, range(count), partition_dimensions)

    def replicate(self, tensor: Any) -> Tensor:
        """Returns `tensor`, annotated to lie on every logical device of its replica."""
        return self._annotated(tensor, range(self.count))

    def _annotated(
        self, tensor: Any, logical_devices: Sequence[int], splits: Sequence[int] | None = None
    ) -> Tensor:
        """Returns the same value as a tensor of its own, for which `placement` knows where it lies."""
        made = apply(lambda array: array, convert(tensor))
        mode = scope.current()
        replica = 0 if mode is None or mode.replica is None else mode.replica.local_index
        annotation = _Annotation(
            tuple(logical_devices), None if splits is None else tuple(splits), replica
        )
        key = id(made)
        forget = weakref.ref(made, lambda _: self._annotations.pop(key, None))
        self._annotations[key] = forget, annotation
        return made

    def placement(self, tensor: Any) -> Placement:
        """Returns which logical device holds which slice of a tensor, or of each replica's.

        A tensor that no logical-device call returned lies on logical device 0 of its replica.
        """
        if isinstance(tensor, DistributedValues):
            shards = [self._shards(part, index) for index, part in enumerate(tensor.values)]
            return Placement(itertools.chain.from_iterable(shards))
        return Placement(self._shards(convert(tensor), None))

    def _shards(self, value: Any, replica: int | None) -> list[Shard]:
        tensor = convert(value)
        reference, annotation = self._annotations.get(id(tensor), (None, None))
        if annotation is None or reference is None or reference() is not tensor:
            annotation = _Annotation((0,), None, replica or 0)
        shape = [int(dim or 0) for dim in tensor.shape]
        splits = annotation.splits
        whole = tuple(slice(0, size) for size in shape)
        shards = []
        for position, logical_device in enumerate(annotation.logical_devices):
            part = whole if splits is None else _piece(shape, splits, position)
            shards.append(
                Shard(
                    replica=annotation.replica,
                    logical_device=logical_device,
                    device=self._device_of(annotation.replica, logical_device),
                    slices=part,
                    value=tensor if splits is None else tensor[part],
                )
            )
        return shards


def _piece(shape: Sequence[int], splits: Sequence[int], position: int) -> tuple[slice, ...]:
    """Returns which slice piece number `position` is; pieces are counted row by row."""
    indices = np.unravel_index(position, splits)
    sizes = [size // count for size, count in zip(shape, splits, strict=True)]
    return tuple(
        slice(int(index) * size, (int(index) + 1) * size)
        for index, size in zip(indices, sizes, strict=True)
    )
