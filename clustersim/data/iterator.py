"""Iterators over datasets, with TensorFlow's three ways to ask: next, get_next, get_next_as_optional.

Source: tensorflow/python/data/ops/iterator_ops.py and optional_ops.py, 2.21; case `input_07`.
"""

from collections.abc import Iterator
from typing import Any

from clustersim import errors
from clustersim.data.elements import Row, element, normalized, spec_of
from clustersim.values import nest
from clustersim.values.array_ops import constant
from clustersim.values.tensor import Tensor

_NOTHING = object()


class Optional:
    """An element, or none.

    Args:
        element_spec: The spec of the element.
        value: The element; none without it.
    """

    __slots__ = ("_element_spec", "_value")

    def __init__(self, element_spec: Any, value: Any = _NOTHING) -> None:
        self._element_spec = element_spec
        self._value = value

    @staticmethod
    def from_value(value: Any) -> "Optional":
        """Returns an optional that has a value: a tensor, or a nest of what becomes one.

        Raises:
            InvalidArgumentError: It holds no tensor.
            TypeError: A part of it is a list that no tensor can hold.
        """
        if value is None or not nest.flatten(value):
            raise errors.InvalidArgumentError(
                "An optional needs a tensor as its value. For none, use Optional.empty(spec)."
            )
        try:
            parts = normalized(value)
        except ValueError as error:
            raise TypeError(f"Could not build a `TypeSpec` for {value!r}: {error}") from error
        spec = spec_of(parts)
        return Optional(spec, element(spec, tuple(nest.flatten(parts))))

    @staticmethod
    def empty(element_spec: Any) -> "Optional":
        """Returns an optional without a value."""
        return Optional(element_spec)

    @property
    def element_spec(self) -> Any:
        """The spec of the element that there is, or could be."""
        return self._element_spec

    def has_value(self, name: str | None = None) -> Tensor:  # noqa: ARG002  # TensorFlow's signature
        """Returns whether there is an element, as a tensor."""
        return constant(self._value is not _NOTHING)

    def get_value(self, name: str | None = None) -> Any:  # noqa: ARG002  # TensorFlow's signature
        """Returns the element; InvalidArgumentError if there is none."""
        if self._value is _NOTHING:
            raise errors.InvalidArgumentError(
                "The given optional does not have a value. Ask has_value() first."
            )
        return self._value


# What type(x).__name__ says in TensorFlow.
Optional.__name__ = "_OptionalImpl"


class OwnedIterator(Iterator[Any]):
    """The three ways to ask for the next element, upon `__next__` and `element_spec`."""

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        raise NotImplementedError

    def __iter__(self) -> "OwnedIterator":
        return self

    def get_next(self, name: str | None = None) -> Any:  # noqa: ARG002  # TensorFlow's signature
        """Returns the next element.

        Raises:
            OutOfRangeError: There is none.
        """
        try:
            return next(self)
        except StopIteration:
            raise errors.OutOfRangeError("End of sequence.") from None

    def get_next_as_optional(self) -> Optional:
        """Returns the next element or an empty optional."""
        try:
            return Optional(self.element_spec, next(self))
        except StopIteration:
            return Optional(self.element_spec)


class DatasetIterator(OwnedIterator):
    """Iterates over one dataset, once."""

    def __init__(self, rows: Iterator[Row], element_spec: Any) -> None:
        self._rows = rows
        self._element_spec = element_spec

    @property
    def element_spec(self) -> Any:
        """The spec of the elements."""
        return self._element_spec

    def __next__(self) -> Any:
        return element(self._element_spec, next(self._rows))


DatasetIterator.__name__ = "OwnedIterator"  # what it is called in TensorFlow
