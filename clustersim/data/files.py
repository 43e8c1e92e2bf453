"""Datasets of files: `TextLineDataset`.

Files are opened when somebody iterates, one after the other, and closed when they are read.

Source: tensorflow/python/data/ops/readers.py, 2.21.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from clustersim import errors
from clustersim.data.dataset import Dataset
from clustersim.data.elements import Row
from clustersim.values.dtypes import string
from clustersim.values.shapes import TensorSpec
from clustersim.values.tensor import convert


class TextLineDataset(Dataset):
    """The lines of text files, as bytes without their ends.

    Args:
        filenames: A path, several, or a dataset of paths.
        compression_type: Accepted if empty: files are read as they are.
        buffer_size: Accepted, and without effect; so are the other arguments.

    Raises:
        TypeError: `filenames` is no text.
        ValueError: A compression is asked for.
        NotFoundError: On iterating: a file is not there.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,  # noqa: ARG002  # TensorFlow's signature
        num_parallel_reads: int | None = None,  # noqa: ARG002
        name: str | None = None,  # noqa: ARG002
    ) -> None:
        if compression_type:
            raise ValueError(
                f"compression_type is {compression_type!r}. Only plain files can be read; leave it"
                " out."
            )
        super().__init__(lambda: _lines(_paths(filenames)), TensorSpec((), string))
        if not isinstance(filenames, Dataset):
            _paths(filenames)  # complains at once


TextLineDataset.__name__ = "TextLineDatasetV2"  # what it is called in TensorFlow


def _paths(filenames: Any) -> list[str]:
    if isinstance(filenames, Dataset):
        return [path for each in filenames for path in _paths(each)]
    if isinstance(filenames, Path):
        return [str(filenames)]
    tensor = convert([str(f) if isinstance(f, Path) else f for f in filenames]
                     if isinstance(filenames, list | tuple) else filenames)  # fmt: skip
    if tensor.dtype is not string:
        raise TypeError(f"filenames must be paths, not {filenames!r}.")
    return [path.decode() for path in tensor.host().reshape(-1)]


def _lines(paths: list[str]) -> Iterator[Row]:
    for path in paths:
        try:
            file = Path(path).open("rb")  # noqa: SIM115  # closed below, also by an iterator that is let go
        except FileNotFoundError:
            raise errors.NotFoundError(
                f"{path!r} is not there. Give paths of files that exist, from"
                f" {str(Path.cwd())!r} or absolute."
            ) from None
        with file:
            for line in file:
                value = np.empty((), dtype=object)
                value[()] = line.rstrip(b"\n").removesuffix(b"\r")
                yield (value,)
