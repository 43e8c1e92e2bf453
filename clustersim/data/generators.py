"""What a Python generator yields, as rows: checked against the signature, with TensorFlow's errors.

Source: tensorflow/python/data/ops/from_generator_op.py and core/kernels/../py_func.cc, 2.21.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from clustersim import errors
from clustersim.data.elements import Row, hosted
from clustersim.devices.array import HostArray
from clustersim.values import nest
from clustersim.values.dtypes import string
from clustersim.values.shapes import TensorSpec


def yielded(generator: Callable[..., Any], args: Sequence[object]) -> Iterator[Any]:
    """Yields what `generator(*args)` does.

    Raises:
        OpError: What it raised, as the class that TensorFlow makes of it; the error is its cause.
    """
    try:
        yield from iter(generator(*args))
    except Exception as error:
        raise _kind_of(error)(
            f"The generator of a dataset raised {type(error).__name__}: {error}"
        ) from error


def _kind_of(error: Exception) -> type[errors.OpError]:
    if isinstance(error, ValueError | TypeError) and not isinstance(error, errors.OpError):
        return errors.InvalidArgumentError
    return errors.ResourceExhaustedError if isinstance(error, MemoryError) else errors.UnknownError


def checking(spec: Any) -> Callable[[Any], Row]:
    """Returns what makes a row of each value that a generator yielded.

    That raises InvalidArgumentError for a value that does not fit the signature.

    Raises:
        TypeError: The signature is no tuple or dict of specs.
    """
    _check_signature(spec)
    leaves = nest.flatten(spec)
    is_one = not nest.is_nested(spec)

    def checked(value: Any) -> Row:
        if is_one:
            return (_checked_leaf(value, spec),)
        if not _is_like(value, spec):
            raise _misfit(value, spec)
        values = _leaves(value, spec)
        return tuple(_checked_leaf(one, leaf) for one, leaf in zip(values, leaves, strict=True))

    return checked


def _check_signature(spec: Any) -> None:
    if isinstance(spec, Mapping | tuple):
        for part in spec.values() if isinstance(spec, Mapping) else spec:
            _check_signature(part)
    elif not isinstance(spec, TensorSpec):
        raise TypeError(
            f"`output_signature` must hold tf.TensorSpec, in tuples or dicts, not {spec!r}."
        )


def _is_like(value: Any, spec: Any) -> bool:
    """Returns whether a value nests as the signature does; a list is a value, and no nest."""
    if isinstance(spec, Mapping):
        is_like = isinstance(value, Mapping) and value.keys() == spec.keys()
        return is_like and all(_is_like(value[key], spec[key]) for key in spec)
    if isinstance(spec, tuple):
        is_like = isinstance(value, tuple) and len(value) == len(spec)
        return is_like and all(map(_is_like, value, spec))
    return True


def _leaves(value: Any, spec: Any) -> list[Any]:
    """Returns the leaves of a value that nests as the signature does."""
    if isinstance(spec, Mapping):
        return [leaf for key in sorted(spec) for leaf in _leaves(value[key], spec[key])]
    if isinstance(spec, tuple):
        return [leaf for one, each in zip(value, spec, strict=True) for leaf in _leaves(one, each)]
    return [value]


def _checked_leaf(value: Any, spec: TensorSpec) -> HostArray:
    kind = spec.dtype.as_numpy_dtype
    try:
        # Most yield arrays that fit; a copy, since the generator may fill the same one again.
        is_right = type(value) is np.ndarray and value.dtype == kind and spec.dtype is not string
        array = value.copy() if is_right else hosted(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise _misfit(value, spec) from error
    if not spec.shape.is_compatible_with(array.shape):
        raise _misfit(value, spec)
    return array


def _misfit(value: Any, spec: Any) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(f"The generator yielded {value!r}, expected {spec!r}.")
