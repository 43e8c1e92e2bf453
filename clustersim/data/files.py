"""Datasets of files: `TextLineDataset`, and `ArrayFileDataset` for NumPy's own files.

Files are opened when somebody iterates, one after the other, and closed when they are read. Several
workers divide them between each other (auto_shard_policy AUTO or FILE), whole files at a time.

Source of the first: tensorflow/python/data/ops/readers.py, 2.21.
"""

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from clustersim import errors
from clustersim.cores import usable_cores
from clustersim.data import flow
from clustersim.data.arguments import AUTOTUNE, positive, whole
from clustersim.data.dataset import Dataset
from clustersim.data.elements import Row, map_shapes, normalized, spec_of
from clustersim.data.flow import Rows
from clustersim.data.paths import as_paths
from clustersim.values import nest
from clustersim.values.dtypes import string
from clustersim.values.shapes import TensorSpec

_COMPRESSIONS = ("", "GZIP", "ZLIB")

_ZIP = b"PK"
"""How a .npz file begins. NumPy leaves such a file open where it is damaged, so it is opened here."""

_NO_ARRAYS = "it does not begin as a .npy or .npz file does, or it holds Python objects"


class _FilesDataset(Dataset):
    """The rows of several files, one file after the other, or some of them in turn."""

    def __init__(
        self,
        filenames: Any,
        rows_of: Callable[[str], Iterator[Row]],
        element_spec: Any,
        *,
        num_in_turn: int = 1,
    ) -> None:
        names = _names(filenames)

        def read(rows: Rows) -> Iterator[Row]:
            files = (rows_of(path) for row in rows() for path in _paths(row))
            return flow.interleaved(files, num_in_turn, 1)

        super().__init__(partial(read, names.rows), element_spec)
        self.shard_of_files = lambda n, i: partial(read, names.shard_of_elements(n, i))


class TextLineDataset(_FilesDataset):
    """The lines of text files, as bytes without their ends.

    Args:
        filenames: A path, several, or a dataset of paths.
        compression_type: "" (or None), "GZIP" or "ZLIB".
        buffer_size: Accepted, and without effect.
        num_parallel_reads: From how many files lines are taken in turn. Default: from one.

    Raises:
        TypeError: `filenames` is no text.
        InvalidArgumentError: `num_parallel_reads` is not positive; on iterating: the compression is
            not known, or there are fewer files than workers that divide them.
        NotFoundError: On iterating: a file is not there.
        FailedPreconditionError: On iterating: it is a folder.
        DataLossError: On iterating: it is not compressed as was said.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,  # noqa: ARG002  # TensorFlow's signature
        num_parallel_reads: int | None = None,
        name: str | None = None,  # noqa: ARG002
    ) -> None:
        super().__init__(
            filenames,
            lambda path: _lines(path, compression_type or ""),
            TensorSpec((), string),
            num_in_turn=_in_turn(num_parallel_reads),
        )


TextLineDataset.__name__ = "TextLineDatasetV2"  # what it is called in TensorFlow


class ArrayFileDataset(_FilesDataset):
    """The rows of the arrays in `.npy` and `.npz` files, one file after the other.

    TensorFlow has no such reader; there, convert the files, or read them in a generator. An element
    is a row of a `.npy` file's array, or a dict of rows of a `.npz` file's arrays by name. The first
    file says which; a `.npy` file is mapped into memory, not read whole.

    Args:
        filenames: A path, several, or a dataset of paths; files of one kind, with arrays of one dtype
            and row shape.

    Raises:
        TypeError: `filenames` is no text, or an array's dtype is one that tensors do not have.
        NotFoundError: The first file, or on iterating another, is not there.
        DataLossError: The same where one is no NumPy file, or holds Python objects.
        InvalidArgumentError: There is none; or on iterating: a file's arrays are not like the first's,
            or of unequal lengths, or there are fewer files than workers that divide them.
    """

    def __init__(self, filenames: Any) -> None:
        names = _names(filenames)
        first = next(names.rows(), None)
        if first is None:
            raise errors.InvalidArgumentError("ArrayFileDataset needs at least one file, not [].")
        _, spec = _arrays(_paths(first)[0])
        super().__init__(names, lambda path: _array_rows(path, spec), spec)


def _names(filenames: Any) -> Dataset:
    """Returns paths as a dataset of strings."""
    if isinstance(filenames, Dataset):
        spec = filenames.element_spec
        if not isinstance(spec, TensorSpec) or spec.dtype is not string:
            raise TypeError(f"filenames must be paths, but the dataset's elements are {spec!r}.")
        if spec.shape.rank != 0:
            raise TypeError(
                f"filenames must be single paths, but the dataset's elements have shape {spec.shape}."
            )
        return filenames
    paths = [os.fsencode(path) for path in as_paths(filenames, "filenames")]
    return Dataset.from_tensor_slices(np.array(paths, dtype=object))


def _paths(row: Row) -> list[str]:
    return [os.fsdecode(path) for path in np.ravel(row[0])]


def _in_turn(num_parallel_reads: int | None) -> int:
    if num_parallel_reads is None:
        return 1
    if whole(num_parallel_reads, "num_parallel_reads") == AUTOTUNE:
        return usable_cores()
    return positive(num_parallel_reads, "num_parallel_reads")


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except FileNotFoundError:
        raise errors.NotFoundError(
            f"{path}; No such file or directory. Give paths of files that exist, from"
            f" {str(Path.cwd())!r} or absolute."
        ) from None
    except IsADirectoryError:
        raise errors.FailedPreconditionError(
            f"{path}; Is a directory. Give the files in it, as Dataset.list_files does."
        ) from None
    except PermissionError:
        raise errors.PermissionDeniedError(
            f"{path}; Permission denied. Make it readable."
        ) from None
    except (OSError, ValueError) as error:  # a loop of links, a zero byte, a name too long
        raise errors.UnknownError(f"{path!r} cannot be opened: {error}.") from None


def _lines(path: str, compression: str) -> Iterator[Row]:
    if compression not in _COMPRESSIONS:
        raise errors.InvalidArgumentError(
            f"Unsupported compression_type {compression!r}. It must be one of {_COMPRESSIONS}."
        )
    with _opened(path) as file:
        try:
            for line in _plain(file, compression):
                value = np.empty((), dtype=object)
                value[()] = line.removesuffix(b"\n").replace(b"\r", b"")  # as TensorFlow reads them
                yield (value,)
        except (zlib.error, gzip.BadGzipFile, EOFError) as error:
            raise errors.DataLossError(f"{path} is no {compression} file: {error}.") from None
        except OSError as error:
            raise errors.UnknownError(f"{path} cannot be read: {error}.") from None


def _plain(file: BinaryIO, compression: str) -> Iterator[bytes]:
    if compression == "GZIP":
        return iter(gzip.GzipFile(fileobj=file))
    if compression == "ZLIB":
        return iter(io.BytesIO(zlib.decompress(file.read())))
    return iter(file)


def _arrays(path: str) -> tuple[Any, Any]:
    """Returns a file's array, or its arrays by name, and the spec of a row.

    Raises:
        DataLossError: It is no NumPy file, holds no array, or Python objects.
        TypeError: A dtype is one that tensors do not have.
    """
    try:
        arrays = _loaded(path)
    except errors.OpError:
        raise
    except Exception as error:  # noqa: BLE001  # NumPy lets through whatever a damaged file leads to
        why = _NO_ARRAYS if "pickle" in str(error) else error
        raise errors.DataLossError(f"{path} is no file of arrays: {why}.") from None
    try:
        return arrays, map_shapes(spec_of(arrays), lambda shape: shape[1:])
    except TypeError as error:
        raise TypeError(f"{path} holds what no tensor can: {error}") from None


def _loaded(path: str) -> Any:
    with _opened(path) as file:  # says what is wrong with the path before NumPy does
        if file.read(2) != _ZIP:
            return _host(np.load(path, mmap_mode="r", allow_pickle=False))
        file.seek(0)
        with np.load(file, allow_pickle=False) as found:
            if not found.files:
                raise ValueError("it holds no array")
            return {name: _host(found[name]) for name in sorted(found.files)}


def _host(array: Any) -> Any:
    if array.ndim == 0:
        raise ValueError("it holds a single value, which has no rows")
    # Numbers stay where they are, mapped; text becomes what strings are here.
    return normalized(array) if array.dtype.kind in "SU" else np.asarray(array)


def _array_rows(path: str, spec: Any) -> Iterator[Row]:
    arrays, found = _arrays(path)
    if found != spec:
        raise errors.InvalidArgumentError(
            f"A row of {path} is {found!r}, one of the first file {spec!r}. Give files of one kind."
        )
    leaves: Sequence[Any] = nest.flatten(arrays)
    lengths = {len(leaf) for leaf in leaves}
    if len(lengths) > 1:
        raise errors.InvalidArgumentError(
            f"The arrays of {path} have different lengths: {sorted(lengths)}. Give them the same."
        )
    return flow.slices(tuple(leaves))
