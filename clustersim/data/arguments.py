"""Numbers that transformations take: what is one, and what it comes to on a machine.

Source: tensorflow/core/kernels/data/*_dataset_op.cc, 2.21.
"""

from typing import Any

from clustersim import errors
from clustersim.data.elements import hosted

AUTOTUNE = -1

AUTOTUNED_PREFETCH = 2
"""What AUTOTUNE comes to for `prefetch`: one item in use, the next ones ready."""


def whole(value: Any, name: str) -> int:
    """Returns a whole number given as one, as a NumPy value or as a tensor.

    Raises:
        TypeError: It is none.
        InvalidArgumentError: It has a dimension.
    """
    number = hosted(value)
    if number.dtype.kind not in "iu":
        raise TypeError(f"{name} must be a whole number, not {value!r}.")
    if number.ndim:
        raise errors.InvalidArgumentError(f"{name} must be a scalar, not {value!r}.")
    return int(number)


def positive(value: Any, name: str) -> int:
    """Returns a whole number above 0.

    Raises:
        TypeError: It is no whole number.
        InvalidArgumentError: It is not above 0.
    """
    number = whole(value, name)
    if number < 1:
        raise errors.InvalidArgumentError(f"{name} is {number}. It must be greater than zero.")
    return number


def parallel_calls(value: Any) -> int | None:
    """Returns `num_parallel_calls`, which is checked and changes no result.

    Raises:
        TypeError: It is no whole number.
        InvalidArgumentError: It is neither above 0 nor AUTOTUNE.
    """
    if value is None or whole(value, "num_parallel_calls") == AUTOTUNE:
        return None if value is None else AUTOTUNE
    return positive(value, "num_parallel_calls")


def cycle_length(value: Any, num_parallel_calls: int | None, num_cores: int) -> int:
    """Returns how many datasets `interleave` reads in turn; left open, that follows the cores.

    Raises:
        TypeError: It is no whole number.
        InvalidArgumentError: It is neither above 0 nor AUTOTUNE, or less than `num_parallel_calls`.
    """
    if value is not None and whole(value, "cycle_length") != AUTOTUNE:
        length = positive(value, "cycle_length")
        if num_parallel_calls is not None and num_parallel_calls > length:
            raise errors.InvalidArgumentError(
                f"num_parallel_calls is {num_parallel_calls}, more than the cycle_length of {length}."
                " Give at most as many, or tf.data.AUTOTUNE."
            )
        return length
    if num_parallel_calls is None:
        return num_cores
    if num_parallel_calls == AUTOTUNE:
        return -(-num_cores // 3)  # each read by a thread, with two more ahead
    return min(num_parallel_calls, num_cores)
