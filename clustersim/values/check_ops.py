"""Assertions on values: functions that raise TensorFlow's errors, and return nothing.

Source: tensorflow/python/ops/check_ops.py, 2.21.
"""

# ruff: noqa: ARG001  # TensorFlow's signatures: `name`

from clustersim import errors
from clustersim.values.tensor import same_dtype


def assert_equal(
    x: object,
    y: object,
    message: str | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> None:
    """Raises InvalidArgumentError unless all elements are equal."""
    first, second = same_dtype(x, y)
    if not bool((first.host() == second.host()).all()):
        raise errors.InvalidArgumentError(
            f"{message or 'Condition x == y did not hold.'} x is {first}, y is {second}."
        )
