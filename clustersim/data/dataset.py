"""`Dataset`: a stream of elements that can be started again; where it comes from, what it ends in.

Its sources are here, what it is, and what takes its elements out: iterators and `reduce`. What makes
another dataset of it is in `transformations`, how the two are put together in `composed`.

Source: tensorflow/python/data/ops/dataset_ops.py and neighbours, 2.21; cases `input_01`..`input_09`.
"""

# ruff: noqa: ARG002, ARG004, FBT001  # TensorFlow's signatures

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from clustersim import errors
from clustersim.data import cardinality, flow
from clustersim.data.arguments import whole
from clustersim.data.cardinality import UNKNOWN
from clustersim.data.composed import Function, merged_options, together
from clustersim.data.elements import Row, element, hosted, map_shapes, normalized, row_of, spec_of
from clustersim.data.flow import Rows
from clustersim.data.functions import called, check_state, probed
from clustersim.data.generators import checking, yielded
from clustersim.data.iterator import DatasetIterator
from clustersim.data.options import Options
from clustersim.data.paths import matching
from clustersim.data.transformations import Transformations
from clustersim.values import nest
from clustersim.values.array_ops import constant
from clustersim.values.dtypes import as_dtype, int64
from clustersim.values.shapes import TensorShape, TensorSpec
from clustersim.values.tensor import Tensor


class Dataset(Transformations):
    """A stream of elements. Made by the `from_...` functions and by transformations."""

    # -- sources --------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> "Dataset":
        """Returns a dataset of one element."""
        value = normalized(tensors)
        row = tuple(nest.flatten(value))
        return _kind("_TensorDataset")(lambda: iter([row]), spec_of(value), num_elements=1)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> "Dataset":
        """Returns a dataset of the rows of an array, or of a nest of arrays of equal length.

        Raises:
            ValueError: An array has no rows, or the lengths differ.
        """
        value = normalized(tensors)
        arrays = tuple(nest.flatten(value))
        lengths = {array.shape[:1] for array in arrays}
        if lengths == {()} or () in lengths:
            raise ValueError(
                f"from_tensor_slices needs arrays with rows; {tensors!r} is or holds a scalar. Use"
                " from_tensors for a single element."
            )
        if len(lengths) != 1:
            raise ValueError(
                f"The arrays have different lengths: {[len(array) for array in arrays]}. Give them"
                " the same number of rows."
            )
        spec = map_shapes(spec_of(value), lambda shape: shape[1:])
        return _kind("_TensorSliceDataset")(
            lambda: flow.slices(arrays), spec, num_elements=len(arrays[0])
        )

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[object] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> "Dataset":
        """Returns a dataset of what `generator(*args)` yields, each checked against the signature.

        Raises:
            TypeError: `generator` is not callable, or the signature is missing or holds lists.

        On iterating, what the generator raises comes as TensorFlow's error (InvalidArgumentError for
        ValueError and TypeError, else mostly UnknownError), with the original one as its cause.
        """
        if not callable(generator):
            raise TypeError(f"`generator` must be callable, not {generator!r}.")
        if output_signature is None and output_types is None:
            raise TypeError("from_generator needs `output_signature` (or `output_types`).")
        spec = output_signature
        if spec is None:
            spec = nest.map_structure(lambda kind: TensorSpec(None, kind), output_types)
            if output_shapes is not None:
                shapes = nest.map_structure_up_to(output_types, TensorShape, output_shapes)
                spec = nest.map_structure(
                    lambda one, shape: TensorSpec(shape, one.dtype), spec, shapes
                )
        given = tuple(hosted(arg)[()] for arg in args or ())
        row_of_yielded = checking(spec)
        return _kind("_FlatMapDataset")(
            lambda: map(row_of_yielded, yielded(generator, given)), spec
        )

    @staticmethod
    def range(*args: Any, output_type: object = int64, name: str | None = None) -> "Dataset":
        """Returns a dataset of whole numbers, as Python's `range`; int64.

        Raises:
            ValueError: There is no argument, or there are more than three.
            InvalidArgumentError: The step is 0.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range takes 1 to 3 numbers, not {len(args)}.")
        bounds = [whole(arg, "an argument of range") for arg in args]
        if bounds[2:] == [0]:
            raise errors.InvalidArgumentError("The step of a range must not be 0.")
        numbers = range(*bounds)
        dtype = as_dtype(output_type)
        kind = dtype.as_numpy_dtype
        return _kind("_RangeDataset")(
            lambda: ((np.asarray(number, kind),) for number in numbers),
            TensorSpec((), dtype),
            num_elements=len(numbers),
        )

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: Any = None,
        name: str | None = None,
    ) -> "Dataset":
        """Returns a dataset of the paths (strings) that match a pattern, or one of several.

        In random order, another one on each pass; in alphabetical order if `shuffle` is False.

        Raises:
            TypeError: A pattern is no text.
            InvalidArgumentError: Nothing matches.
        """
        paths = matching(file_pattern)
        made = Dataset.from_tensor_slices(paths)
        return made if shuffle is False else made.shuffle(len(paths), seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> "Dataset":
        """Returns a dataset of nests with one element of each; ends with the shortest.

        Raises:
            TypeError: No dataset was given, or something else, or a list.
        """
        if datasets is None:
            if not args:
                raise TypeError("Dataset.zip needs datasets: zip(a, b) or zip((a, b)).")
            datasets = args[0] if len(args) == 1 else args
        parts: list[Dataset] = nest.flatten(datasets)
        if isinstance(datasets, list) or not all(isinstance(part, Dataset) for part in parts):
            raise TypeError(
                f"Dataset.zip takes datasets, or a tuple or dict of them, not {datasets!r}."
            )
        spec = nest.map_structure(lambda part: part.element_spec, datasets)

        def rows(parts_rows: Sequence[Rows]) -> Iterator[Row]:
            streams = [part_rows() for part_rows in parts_rows]
            return (tuple(chain.from_iterable(group)) for group in zip(*streams, strict=False))

        count = cardinality.zipped([part.num_elements for part in parts])
        made = _kind("_ZipDataset")(
            lambda: rows([part.rows for part in parts]),
            spec,
            num_elements=count,
            options=merged_options(parts),
        )
        made.shard_of_files = together(parts, rows)
        return made

    # -- what it is -----------------------------------------------------------------------------

    def cardinality(self) -> Tensor:
        """Returns the number of elements: int64, -1 infinite, -2 unknown."""
        return constant(self.num_elements, int64)

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self.rows(), self._element_spec)

    def as_numpy_iterator(self) -> Iterator[Any]:
        """Returns an iterator over elements whose leaves are NumPy values."""
        return (nest.map_structure(_as_numpy, value) for value in self)

    def __len__(self) -> int:
        if self.num_elements < 0:
            kind = "infinite" if self.num_elements == cardinality.INFINITE else "unknown"
            raise TypeError(f"The dataset is {kind} in length. Use cardinality() to ask.")
        return self.num_elements

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self._element_spec!r}>"

    def __str__(self) -> str:
        return repr(self)

    # -- what takes its elements out ------------------------------------------------------------

    def apply(self, transformation_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Returns what a function makes of this dataset.

        Raises:
            TypeError: That is no dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"`transformation_func` must return a tf.data.Dataset, not {made!r}.")
        return made

    def reduce(self, initial_state: Any, reduce_func: Function, name: str | None = None) -> Any:
        """Returns the last state of `state = reduce_func(state, element)`, on the host.

        The state keeps its structure and its dtypes; its shapes may change.

        Raises:
            InvalidArgumentError: The function returns more or fewer tensors than the state has.
            TypeError: It returns other dtypes.
        """
        state = normalized(initial_state)
        state_spec, row = spec_of(state), tuple(nest.flatten(state))
        both = (state_spec, self._element_spec)
        check_state(state_spec, probed(reduce_func, both, self._single))
        for each in self.rows():
            row = row_of(called(reduce_func, both, row + each))
        return element(state_spec, row)

    # -- how it is made -------------------------------------------------------------------------

    def of_kind(
        self,
        kind: str,
        rows: Rows,
        element_spec: Any,
        *,
        num_elements: int = UNKNOWN,
        options: Options | None = None,
    ) -> Any:
        """Returns a new dataset, of the class that TensorFlow calls `kind`."""
        return _kind(kind)(rows, element_spec, num_elements=num_elements, options=options)


@functools.cache
def _kind(name: str) -> type[Dataset]:
    """Returns the class of datasets that TensorFlow calls `name`; they differ in nothing else."""
    return type(name, (Dataset,), {"__doc__": Dataset.__doc__})


def _as_numpy(leaf: Any) -> Any:
    return leaf.as_numpy_iterator() if isinstance(leaf, Dataset) else leaf.numpy()
