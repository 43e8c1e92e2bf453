"""`tf.random`: numbers from one generator of this process, which `set_seed` starts anew.

The sequences are NumPy's, not TensorFlow's: a seed gives the same numbers again, but not those that
TensorFlow would give.

Source: tensorflow/python/ops/random_ops.py, 2.21 (signatures only).
"""

import threading

import numpy as np

from clustersim.values import dtypes
from clustersim.values.array_ops import cast, dims_of
from clustersim.values.dtypes import as_dtype
from clustersim.values.tensor import Tensor, make


class _Source:
    """The generator of this process."""

    def __init__(self, seed: int | None = None) -> None:
        self._lock = threading.Lock()  # guards the generator, which threads must not share
        self._generator = np.random.default_rng(seed)

    def start_anew(self, seed: int) -> None:
        """Begins the sequence of a seed."""
        with self._lock:
            self._generator = np.random.default_rng(seed)

    def uniform(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        """Returns numbers from `low` up to but without `high`, float64."""
        with self._lock:
            return make(np.asarray(self._generator.uniform(low, high, shape)))

    def integers(self, shape: tuple[int, ...], low: float, high: float) -> Tensor:
        """Returns whole numbers from `low` up to but without `high`, int64."""
        with self._lock:
            return make(np.asarray(self._generator.integers(int(low), int(high), shape)))

    def normal(self, shape: tuple[int, ...], mean: float, stddev: float) -> Tensor:
        """Returns normally distributed numbers, float64."""
        with self._lock:
            return make(np.asarray(self._generator.normal(mean, stddev, shape)))


_SOURCE = _Source()


def set_seed(seed: int) -> None:
    """Starts the sequence of a seed."""
    _SOURCE.start_anew(seed)


def uniform(
    shape: object,
    minval: float = 0,
    maxval: float | None = None,
    dtype: object = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,  # noqa: ARG001  # TensorFlow's signature
) -> Tensor:
    """Returns numbers from `minval` up to but without `maxval` (1 for floats).

    Raises:
        ValueError: Whole numbers are asked for without `maxval`.
    """
    want, source = as_dtype(dtype), _SOURCE if seed is None else _Source(seed)
    if want.is_integer and maxval is None:
        raise ValueError("Must specify maxval for integer dtype.")
    high = 1 if maxval is None else maxval
    draw = source.integers if want.is_integer else source.uniform
    return cast(draw(dims_of(shape), minval, high), want)


def normal(
    shape: object,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: object = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,  # noqa: ARG001  # TensorFlow's signature
) -> Tensor:
    """Returns normally distributed numbers."""
    source = _SOURCE if seed is None else _Source(seed)
    return cast(source.normal(dims_of(shape), mean, stddev), dtype)
