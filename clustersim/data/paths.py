"""Paths of files: text, path objects or tensors of them, and patterns that are looked up.

A tensor holds a path as the bytes that the file system has; they need not be UTF-8.

Source: tensorflow/python/data/ops/dataset_ops.py, `list_files`, 2.21.
"""

import glob
import os
from typing import Any

from clustersim import errors
from clustersim.values import nest
from clustersim.values.dtypes import string
from clustersim.values.tensor import convert


def as_paths(value: Any, name: str) -> list[str]:
    """Returns the paths that an argument holds: one, or a nest or tensor of several.

    Raises:
        TypeError: It is no text.
    """
    if isinstance(value, list | tuple):
        value = nest.map_structure(_as_bytes, list(value))
    tensor = convert(_as_bytes(value))
    paths = list(tensor.host().reshape(-1))
    if paths and tensor.dtype is not string:
        raise TypeError(
            f"The `{name}` argument must contain `tf.string` elements. Got {value!r}, which is"
            f" {tensor.dtype.name}."
        )
    return [os.fsdecode(path) for path in paths]


def matching(file_pattern: Any) -> list[bytes]:
    """Returns the paths that match one of the patterns, as the file system has them, sorted.

    Raises:
        TypeError: A pattern is no text.
        InvalidArgumentError: Nothing matches.
    """
    patterns = as_paths(file_pattern, "file_pattern")
    found = sorted({path for pattern in patterns for path in glob.glob(pattern)})  # noqa: PTH207  # as written
    if not found:
        raise errors.InvalidArgumentError(
            f"No files matched pattern: {', '.join(patterns)}. Patterns are looked up from"
            f" {os.getcwd()!r}."  # noqa: PTH109  # as text
        )
    return [os.fsencode(path) for path in found]


def _as_bytes(path: Any) -> Any:
    return os.fsencode(path) if isinstance(path, str | os.PathLike) else path
