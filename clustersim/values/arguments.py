"""Whole numbers that functions take - an axis, a size, a shape - in whatever form they are given.

    one         3, np.int64(3), tf.constant(3), tf.Variable(3)
    several     [1, 2], (1, 2), an array, a tensor, a variable, [1, tf.constant(2)], a TensorShape

They are read on the host, since shapes are known there; one that was written in Python goes by way of
no device. A per-replica value counts as the replica's own. Floats and texts are refused, not cut off.

Source: tensorflow/python/framework/constant_op.py and what kernels say of wrong attributes, 2.21.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from clustersim import errors
from clustersim.values.dtypes import to_host_array
from clustersim.values.shapes import TensorShape
from clustersim.values.tensor import TensorLike, convert


def whole(value: object, name: str) -> int:
    """Returns one whole number.

    Raises:
        InvalidArgumentError: It is no whole number, or several.
    """
    if type(value) is int:
        return value
    host = host_numbers(value, name)
    if host.ndim:
        raise errors.InvalidArgumentError(
            f"{name} must be one whole number, not {value!r} of shape {host.shape}."
        )
    return int(host)


def wholes(value: object, name: str) -> tuple[int, ...]:
    """Returns several whole numbers; one alone counts as a list of it.

    Raises:
        InvalidArgumentError: They are no whole numbers.
    """
    if isinstance(value, list | tuple) and all(type(each) is int for each in value):
        return tuple(value)
    return tuple(int(each) for each in host_numbers(value, name).reshape(-1))


def vector(value: object, name: str, length: int) -> tuple[int, ...]:
    """Returns a list of so many whole numbers.

    Raises:
        InvalidArgumentError: They are no whole numbers, more or fewer, or not in a list.
    """
    if isinstance(value, list | tuple) and len(value) == length:
        return wholes(value, name)
    host = host_numbers(value, name)
    if host.shape != (length,):
        raise errors.InvalidArgumentError(
            f"{name} must be a list of {length} numbers, one for each axis, not {value!r} of shape"
            f" {host.shape}."
        )
    return tuple(int(each) for each in host)


def host_numbers(value: object, name: str) -> npt.NDArray[Any]:
    """Returns whole numbers as an array of the host's, which the caller must not change.

    Raises:
        InvalidArgumentError: They are no whole numbers.
    """
    host = _on_host(value)
    if host.size and host.dtype.kind not in "iu":
        raise errors.InvalidArgumentError(
            f"{name} takes whole numbers, not {value!r} of type {host.dtype}."
        )
    return host


def axis_within(axis: object, ndim: int, name: str = "axis") -> int:
    """Returns an axis that there is, counted from the front.

    Raises:
        InvalidArgumentError: There is no such axis, or it is no whole number.
    """
    position = whole(axis, name)
    if not -ndim <= position < ndim:
        raise errors.InvalidArgumentError(
            f"{name} is {position}, but there are {ndim} axes. Give {-ndim} to {ndim - 1}."
        )
    return position % ndim


def _on_host(value: object) -> npt.NDArray[Any]:
    if isinstance(value, TensorLike | TensorShape):
        return convert(value).host()
    if isinstance(value, list | tuple) and any(
        isinstance(each, TensorLike | list | tuple) for each in value
    ):
        try:
            return np.stack([_on_host(each) for each in value])
        except ValueError:
            raise ValueError(
                f"Can't convert non-rectangular Python sequence to Tensor: {value!r}. Give rows of"
                " equal length."
            ) from None
    return to_host_array(value, None)
