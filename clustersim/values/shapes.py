"""Static shapes and element types: TensorShape and TensorSpec, with TensorFlow's behaviour.

Source: tensorflow/python/framework/tensor_shape.py and tensor.py (TensorSpec), 2.21.
"""

from collections.abc import Iterator, Sequence
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
        elif isinstance(dims, int):
            self._dims = (_dimension(dims),)
        else:
            self._dims = tuple(_dimension(dim) for dim in dims)

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
        dims = self._known()
        return TensorShape(dims[key]) if isinstance(key, slice) else dims[key]

    def __add__(self, other: ShapeLike) -> "TensorShape":
        return self.concatenate(other)

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


def _dims_of(shape: ShapeLike) -> list[int | None] | None:
    return TensorShape(shape).dims
