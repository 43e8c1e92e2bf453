"""Static shapes and element types: TensorShape and TensorSpec, with TensorFlow's behaviour.

Source: tensorflow/python/framework/tensor_shape.py and tensor.py (TensorSpec), 2.21.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, overload

from clustersim.values.dtypes import DType, as_dtype, float32

ShapeLike: TypeAlias = "TensorShape | Sequence[int | None] | int | None"


class TensorShape:
    """A shape; a dimension that is not known before the data is None.

    Raises:
        TypeError: A dimension is neither a whole number nor None.
        ValueError: A dimension is negative.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: ShapeLike) -> None:
        self._dims: tuple[int | None, ...] | None
        if isinstance(dims, TensorShape):
            self._dims = dims._dims  # noqa: SLF001  # of the same class
        elif dims is None:
            self._dims = None
        elif isinstance(dims, Iterable) and getattr(dims, "ndim", None) != 0:
            self._dims = tuple(_dimension(dim) for dim in dims)
        else:
            self._dims = (_dimension(dims),)

    @classmethod
    def of_array(cls, shape: tuple[int, ...]) -> "TensorShape":
        """Returns the shape of an array, unchecked."""
        made = cls.__new__(cls)
        made._dims = shape  # noqa: SLF001  # of the same class
        return made

    @property
    def rank(self) -> int | None:
        """How many dimensions there are, None if that is not known."""
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        """The same as `rank`."""
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The dimensions, None if their number is not known."""
        return None if self._dims is None else list(self._dims)

    def as_list(self) -> list[int | None]:
        """Returns the dimensions; ValueError if their number is not known."""
        return list(self._known())

    def known_dims(self) -> tuple[int, ...]:
        """Returns the dimensions, all of which must be known; TensorFlow has no such method.

        Raises:
            ValueError: One is not known, or their number.
        """
        if self._dims is None or None in self._dims:
            raise ValueError(
                f"Cannot convert a partially known TensorShape {self} to a Tensor. Give every"
                " dimension."
            )
        return tuple(int(dim or 0) for dim in self._dims)

    def num_elements(self) -> int | None:
        """Returns the number of elements, None if a dimension is not known."""
        if self._dims is None:
            return None
        count = 1
        for dim in self._dims:
            if dim is None:
                return None
            count *= dim
        return count

    def is_fully_defined(self) -> bool:
        """Returns whether all dimensions are known."""
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Returns whether a shape could be both; what is not known fits everything."""
        mine, theirs = self._dims, _dims_of(other)
        if mine is None or theirs is None:
            return True
        return len(mine) == len(theirs) and all(
            a is None or b is None or a == b for a, b in zip(mine, theirs, strict=True)
        )

    def is_subtype_of(self, other: "TensorShape") -> bool:
        """Returns whether every tensor of this shape has the other shape, too."""
        if other.rank is None:
            return True
        return self.rank == other.rank and all(
            its is None or mine == its for mine, its in zip(self, other, strict=True)
        )

    def merge_with(self, other: ShapeLike) -> "TensorShape":
        """Returns what is known of a tensor that has both shapes; ValueError if there is none."""
        mine, theirs = self._dims, _dims_of(other)
        self.assert_is_compatible_with(other)
        if mine is None or theirs is None:
            return TensorShape(theirs if mine is None else mine)
        return TensorShape([b if a is None else a for a, b in zip(mine, theirs, strict=True)])

    def most_specific_compatible_shape(self, other: ShapeLike) -> "TensorShape":
        """Returns what is known of a tensor that has either shape."""
        mine, theirs = self._dims, _dims_of(other)
        if mine is None or theirs is None or len(mine) != len(theirs):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(mine, theirs, strict=True)])

    def with_rank(self, rank: int) -> "TensorShape":
        """Returns the shape with so many dimensions; ValueError if it has others."""
        if self.rank not in {None, rank}:
            raise ValueError(f"Shape {self} must have rank {rank}.")
        return self if self.rank == rank else TensorShape([None] * rank)

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        """Returns this shape; ValueError if it has fewer dimensions."""
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}.")
        return self

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        """Returns this shape; ValueError if it has more dimensions."""
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}.")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises ValueError if the number of dimensions is another."""
        self.with_rank(rank)

    def assert_same_rank(self, other: ShapeLike) -> None:
        """Raises ValueError if the other shape has more or fewer dimensions."""
        other = TensorShape(other)
        if None not in {self.rank, other.rank} and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank.")

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ValueError if no shape could be both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible.")

    def assert_is_fully_defined(self) -> None:
        """Raises ValueError if a dimension is not known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined.")

    def concatenate(self, other: ShapeLike) -> "TensorShape":
        """Returns this shape with the other's dimensions behind it."""
        theirs = _dims_of(other)
        if self._dims is None or theirs is None:
            return TensorShape(None)
        return TensorShape([*self._dims, *theirs])

    def _known(self) -> tuple[int | None, ...]:
        if self._dims is None:
            raise ValueError("The number of dimensions of this TensorShape is not known.")
        return self._dims

    def __len__(self) -> int:
        return len(self._known())

    def __iter__(self) -> Iterator[int | None]:
        return iter(self._known())

    @overload
    def __getitem__(self, key: int) -> int | None: ...
    @overload
    def __getitem__(self, key: slice) -> "TensorShape": ...
    def __getitem__(self, key: int | slice) -> "TensorShape | int | None":
        if self._dims is None:
            return _part_of_unknown(key)
        return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]

    def __add__(self, other: ShapeLike) -> "TensorShape":
        return self.concatenate(other)

    def __radd__(self, other: ShapeLike) -> "TensorShape":
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self._dims == other._dims
        if other is None or isinstance(other, list | tuple | int):
            return self._dims == TensorShape(other)._dims
        return False

    def __hash__(self) -> int:
        return hash(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        inside = ", ".join(str(dim) for dim in self._dims)
        return f"({inside},)" if len(self._dims) == 1 else f"({inside})"

    def __repr__(self) -> str:
        return f"TensorShape({list(self._dims) if self._dims is not None else None})"


class TensorSpec:
    """The shape and dtype that the elements of a dataset have, or that a function takes."""

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, shape: ShapeLike, dtype: object = float32, name: str | None = None) -> None:
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.name = name

    def is_compatible_with(self, other: "TensorSpec") -> bool:
        """Returns whether a tensor could have both specs."""
        return self.dtype is other.dtype and self.shape.is_compatible_with(other.shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return (self.shape, self.dtype, self.name) == (other.shape, other.dtype, other.name)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


def _dimension(dim: object) -> int | None:
    if dim is None:
        return None
    index = getattr(dim, "__index__", None)
    if index is None:
        raise TypeError(f"A dimension must be a whole number or None, not {dim!r}.")
    value = int(index())
    if value < 0:
        raise ValueError(f"A dimension must not be negative, but one is {value}.")
    return value


def _part_of_unknown(key: int | slice) -> "TensorShape | None":
    """Returns what is known of a part of a shape of unknown rank: at most how many dimensions it has."""
    if not isinstance(key, slice):
        return None
    start, stop = key.start or 0, key.stop
    if stop is None or key.step is not None or min(start, stop) < 0:
        return TensorShape(None)
    return TensorShape([None] * max(stop - start, 0))


def _dims_of(shape: ShapeLike) -> list[int | None] | None:
    return TensorShape(shape).dims
