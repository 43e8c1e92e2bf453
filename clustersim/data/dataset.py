"""`Dataset`: a stream of elements that can be started again, and its transformations.

A dataset is a function that starts a stream of rows, the spec of its elements, its cardinality and
its options; a transformation wraps the function (see `flow`) and says what becomes of the rest.
Nothing is computed before somebody iterates, except that a mapped function is called once on made-up
values to learn what it returns, where TensorFlow traces it.

Source: tensorflow/python/data/ops/dataset_ops.py and neighbours, 2.21; cases `input_01`..`input_09`.
"""

# ruff: noqa: ARG002, ARG004, FBT001, FBT002  # TensorFlow's signatures

import functools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, takewhile
from typing import Any, TypeAlias

import numpy as np

from clustersim import errors
from clustersim.cores import usable_cores
from clustersim.data import arguments, cardinality, flow
from clustersim.data.arguments import AUTOTUNE, AUTOTUNED_PREFETCH, parallel_calls, positive, whole
from clustersim.data.elements import (
    DatasetSpec,
    Row,
    element,
    hosted,
    joined_spec,
    map_shapes,
    normalized,
    row_of,
    spec_of,
)
from clustersim.data.flow import Rows
from clustersim.data.functions import (
    called,
    check_predicate,
    check_state,
    probed,
    probed_dataset,
)
from clustersim.data.generators import checking, yielded
from clustersim.data.iterator import DatasetIterator
from clustersim.data.options import Options
from clustersim.data.paths import matching
from clustersim.data.prefetch import Prefetch
from clustersim.values import nest
from clustersim.values.array_ops import constant
from clustersim.values.dtypes import as_dtype, int64
from clustersim.values.shapes import TensorShape, TensorSpec
from clustersim.values.tensor import Tensor

Function = Callable[..., Any]

Through: TypeAlias = Callable[[Rows], Iterator[Row]]
"""What a transformation does to a stream, which it may start more than once."""

Shard: TypeAlias = Callable[[int, int], Rows]
"""Takes the number of shards and the index of one; returns what starts its stream."""

_NUM_CORES = usable_cores()


class Dataset:
    """A stream of elements. Made by the `from_...` functions and by transformations.

    Args:
        rows: Starts the stream.
        element_spec: A nest of specs: shape and dtype of each leaf.
        num_elements: How many elements there are, or a constant of `cardinality`.
        options: What was set with `with_options`.
    """

    def __init__(
        self,
        rows: Rows,
        element_spec: Any,
        *,
        num_elements: int = cardinality.UNKNOWN,
        options: Options | None = None,
    ) -> None:
        self.rows = rows
        self._element_spec = element_spec
        self.num_elements = num_elements
        self._options = options or Options()
        self.shard_of_files: Shard | None = None
        """Starts the stream with every n-th of the files that it reads, from the i-th on. None: it
        reads no files, or not files alone, so it cannot be divided by them."""
        self._in_order = rows
        self._shuffled: Through = _same
        # `_in_order` is the stream without its shuffles, `_shuffled` the last of them.

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
                shapes = _shapes_like(output_types, output_shapes)
                spec = nest.map_structure(
                    lambda one, shape: TensorSpec(shape, one.dtype), spec, shapes
                )
        given = tuple(hosted(arg)[()] for arg in args or ())
        row_of_yielded = checking(spec)
        return _kind("_FlatMapDataset")(
            lambda: map(row_of_yielded, yielded(generator, given)), spec
        )

    @staticmethod
    def range(*args: int, output_type: object = int64, name: str | None = None) -> "Dataset":
        """Returns a dataset of whole numbers, as Python's `range`; int64.

        Raises:
            ValueError: There is no argument, or there are more than three.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Dataset.range takes 1 to 3 numbers, not {len(args)}.")
        numbers = range(*(whole(arg, "an argument of range") for arg in args))
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
        seed: int | None = None,
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
            options=_merged(parts),
        )
        made.shard_of_files = _together(parts, rows)
        return made

    # -- what it is -----------------------------------------------------------------------------

    @property
    def element_spec(self) -> Any:
        """A nest of specs: shape and dtype of each leaf of an element."""
        return self._element_spec

    def cardinality(self) -> Tensor:
        """Returns the number of elements: int64, -1 infinite, -2 unknown."""
        return constant(self.num_elements, int64)

    def options(self) -> Options:
        """Returns the options that are in force."""
        return self._options

    def with_options(self, options: Options, name: str | None = None) -> "Dataset":
        """Returns the same dataset with other options laid over."""
        return self._derived("_OptionsDataset", _same, options=self._options.merge(options))

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

    # -- transformations ------------------------------------------------------------------------

    def map(
        self,
        map_func: Function,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> "Dataset":
        """Returns the results of a function of each element; a tuple is passed as arguments.

        Elements are mapped one after the other, in order, whatever `num_parallel_calls` and
        `deterministic` say.

        Raises:
            ValueError: `map_func` is no function.
            InvalidArgumentError: `num_parallel_calls` is neither above 0 nor AUTOTUNE.
        """
        is_parallel = parallel_calls(num_parallel_calls) is not None
        spec = probed(map_func, self._element_spec, _single)
        return self._derived(
            "_ParallelMapDataset" if is_parallel else "_MapDataset",
            lambda rows: (row_of(self._called(map_func, row)) for row in rows()),
            spec=spec,
        )

    def filter(self, predicate: Function, name: str | None = None) -> "Dataset":
        """Returns the elements for which the predicate holds.

        Raises:
            ValueError: It does not return one truth value.
        """
        check_predicate(probed(predicate, self._element_spec, _single))
        return self._derived(
            "_FilterDataset",
            lambda rows: (row for row in rows() if bool(self._called(predicate, row))),
            num_elements=cardinality.UNKNOWN,
        )

    def take_while(self, predicate: Function, name: str | None = None) -> "Dataset":
        """Returns the elements before the first for which the predicate does not hold.

        Raises:
            ValueError: It does not return one truth value.
        """
        check_predicate(probed(predicate, self._element_spec, _single))
        return self._derived(
            "_TakeWhileDataset",
            lambda rows: takewhile(lambda row: bool(self._called(predicate, row)), rows()),
            num_elements=cardinality.UNKNOWN,
        )

    def flat_map(self, map_func: Function, name: str | None = None) -> "Dataset":
        """Returns the elements of the datasets that a function returns, one after the other.

        Raises:
            TypeError: The function returns a nest; AttributeError: it returns a tensor.
        """
        return self._joined(
            "_FlatMapDataset",
            map_func,
            lambda rows: chain.from_iterable(self._called(map_func, row).rows() for row in rows()),
        )

    def interleave(
        self,
        map_func: Function,
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Returns the elements of several of a function's datasets in turn, in blocks.

        Raises:
            TypeError: The function returns a nest; AttributeError: it returns a tensor.
            InvalidArgumentError: A number is neither above 0 nor AUTOTUNE, or `num_parallel_calls`
                is more than `cycle_length`.
        """
        num_calls = parallel_calls(num_parallel_calls)
        cycle = arguments.cycle_length(cycle_length, num_calls, usable_cores())
        block = 1 if block_length is None else positive(block_length, "block_length")
        return self._joined(
            "_InterleaveDataset" if num_calls is None else "_ParallelInterleaveDataset",
            map_func,
            lambda rows: flow.interleaved(
                (self._called(map_func, row).rows() for row in rows()), cycle, block
            ),
        )

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> "Dataset":
        """Returns groups of elements, stacked; the last may be short unless it is dropped.

        Raises:
            InvalidArgumentError: `batch_size` or `num_parallel_calls` is not positive.
        """
        n = positive(batch_size, "batch_size")
        is_exact = bool(drop_remainder)
        is_parallel = parallel_calls(num_parallel_calls) is not None
        size = n if is_exact else None
        count = cardinality.batched(self.num_elements, n, drop_remainder=is_exact)
        return self._derived(
            "_ParallelBatchDataset" if is_parallel else "_BatchDataset",
            lambda rows: flow.batched(rows(), n, drop_remainder=is_exact),
            spec=map_shapes(self._element_spec, lambda shape: TensorShape([size]) + shape),
            num_elements=count,
        )

    def unbatch(self, name: str | None = None) -> "Dataset":
        """Returns the rows of each element."""
        sizes = {leaf.shape[0] for leaf in nest.flatten(self._element_spec) if leaf.shape.rank}
        size = next(iter(sizes)) if len(sizes) == 1 else None
        return self._derived(
            "_UnbatchDataset",
            lambda rows: flow.unbatched(rows()),
            spec=map_shapes(self._element_spec, lambda shape: shape[1:]),
            num_elements=cardinality.unbatched(self.num_elements, size),
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> "Dataset":
        """Returns the elements `count` times; for ever for None or -1."""
        asked = -1 if count is None else whole(count, "count")
        times = None if asked < 0 else asked
        total = cardinality.repeated(self.num_elements, times)
        return self._derived(
            "_RepeatDataset", lambda rows: flow.repeated(rows, times), num_elements=total
        )

    def shuffle(
        self,
        buffer_size: Any,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> "Dataset":
        """Returns the elements in random order: always one of the next `buffer_size`.

        With a seed, a new dataset gives the same order again; a second pass over the same dataset
        gives another unless `reshuffle_each_iteration` is False.

        Raises:
            InvalidArgumentError: `buffer_size` is not positive.
        """
        size = positive(buffer_size, "buffer_size")
        generators = flow.ShuffleSeeds(seed, is_new_each_time=reshuffle_each_iteration is not False)

        def shuffled(rows: Rows) -> Iterator[Row]:
            return flow.shuffled(rows(), size, generators.next())

        made = self._derived("_ShuffleDataset", shuffled)
        made._in_order, made._shuffled = self._in_order, shuffled  # noqa: SLF001  # one of us
        return made

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> "Dataset":
        """Returns elements `index`, `index + num_shards`, ...

        Raises:
            InvalidArgumentError: There is no such shard.
        """
        n, i = whole(num_shards, "num_shards"), whole(index, "index")
        if not 0 <= i < n:
            raise errors.InvalidArgumentError(
                f"There is no shard {i} of {n}. Give 0 <= index < num_shards."
            )
        count = cardinality.sharded(self.num_elements, n, i)
        return self._derived(
            "_ShardDataset", lambda rows: flow.every(rows(), n, i), num_elements=count
        )

    def take(self, count: Any, name: str | None = None) -> "Dataset":
        """Returns the first `count` elements; all for -1."""
        n = whole(count, "count")
        if n < 0:
            return self._derived("_TakeDataset", _same)
        total = cardinality.taken(self.num_elements, n)
        return self._derived("_TakeDataset", lambda rows: islice(rows(), n), num_elements=total)

    def skip(self, count: Any, name: str | None = None) -> "Dataset":
        """Returns the elements after the first `count`; none for -1."""
        n = whole(count, "count")
        if n < 0:
            return self._derived("_SkipDataset", lambda _rows: iter(()), num_elements=0)
        total = cardinality.skipped(self.num_elements, n)
        return self._derived(
            "_SkipDataset", lambda rows: islice(rows(), n, None), num_elements=total
        )

    def concatenate(self, dataset: "Dataset", name: str | None = None) -> "Dataset":
        """Returns the elements of this dataset, then those of another.

        Raises:
            TypeError: Their elements differ in structure or type.
        """
        total = cardinality.concatenated([self.num_elements, dataset.num_elements])
        spec = joined_spec(self._element_spec, dataset.element_spec)
        made = self._derived(
            "_ConcatenateDataset",
            lambda rows: chain(rows(), dataset.rows()),
            spec=spec,
            num_elements=total,
            options=_merged([self, dataset]),
        )
        made.shard_of_files = _together(
            [self, dataset], lambda parts: chain.from_iterable(rows() for rows in parts)
        )
        return made

    def enumerate(self, start: int = 0, name: str | None = None) -> "Dataset":
        """Returns pairs of a number (int64, from `start`) and the element."""

        def numbered(rows: Rows) -> Iterator[Row]:
            for number, row in enumerate(rows(), int(start)):
                yield (np.asarray(number, np.int64), *row)

        spec = (TensorSpec((), int64), self._element_spec)
        made = self._derived("_ZipDataset", numbered, spec=spec)
        made.shard_of_files = None  # numbers are no files: TensorFlow zips with a range
        return made

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> "Dataset":
        """Returns elements that are datasets of `size` of this one's, one per leaf."""
        leaves = nest.flatten(self._element_spec)

        def as_datasets(group: list[Row]) -> Row:
            columns = zip(*group, strict=True)
            return tuple(
                _of_rows([(leaf,) for leaf in column], spec)
                for column, spec in zip(columns, leaves, strict=True)
            )

        return self._derived(
            "_WindowDataset",
            lambda rows: map(
                as_datasets,
                flow.windows(rows(), size, shift or size, stride, drop_remainder=drop_remainder),
            ),
            spec=nest.map_structure(DatasetSpec, self._element_spec),
            num_elements=cardinality.windowed(
                self.num_elements,
                (size - 1) * stride + 1,
                shift or size,
                drop_remainder=drop_remainder,
            ),
        )

    def cache(self, filename: str = "", name: str | None = None) -> "Dataset":
        """Returns the same elements, remembered by the first complete pass."""
        memory = flow.Memory()
        made = self._derived("CacheDataset", memory.remembered)
        if self.shard_of_files is not None:
            of_files = self.shard_of_files  # a shard has a memory of its own
            made.shard_of_files = lambda n, i: partial(flow.Memory().remembered, of_files(n, i))
        return made

    def prefetch(self, buffer_size: Any, name: str | None = None) -> "Dataset":
        """Returns the same elements; a thread keeps up to `buffer_size` of them ready.

        Raises:
            InvalidArgumentError: `buffer_size` is less than -1 (AUTOTUNE).
        """
        size = whole(buffer_size, "buffer_size")
        if size < AUTOTUNE:
            raise errors.InvalidArgumentError(
                f"buffer_size is {size}. Give 0 or more elements, or tf.data.AUTOTUNE."
            )
        bound = AUTOTUNED_PREFETCH if size == AUTOTUNE else size
        if bound == 0:
            return self._derived("_PrefetchDataset", _same)
        return self._derived("_PrefetchDataset", lambda rows: Prefetch(rows, bound=bound))

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
        check_state(state_spec, probed(reduce_func, both, _single))
        for each in self.rows():
            row = row_of(called(reduce_func, both, row + each))
        return element(state_spec, row)

    # -- parts ----------------------------------------------------------------------------------

    def _derived(
        self,
        kind: str,
        through: Through,
        *,
        spec: Any = None,
        num_elements: int | None = None,
        options: Options | None = None,
    ) -> "Dataset":
        """Returns what a transformation makes of this dataset, and of each shard of its files."""
        made = _kind(kind)(
            partial(through, self.rows),
            self._element_spec if spec is None else spec,
            num_elements=self.num_elements if num_elements is None else num_elements,
            options=options or self._options,
        )
        if self.shard_of_files is not None:
            of_files = self.shard_of_files
            made.shard_of_files = lambda n, i: partial(through, of_files(n, i))
        made._in_order = partial(through, self._in_order)  # noqa: SLF001  # one of us
        made._shuffled = self._shuffled  # noqa: SLF001
        return made

    def _joined(self, kind: str, map_func: Function, through: Through) -> "Dataset":
        """Returns the datasets of a function as one; if they read files, elements stand for files."""
        inner, spec = probed_dataset(map_func, self._element_spec, _single)
        made = self._derived(kind, through, spec=spec, num_elements=cardinality.UNKNOWN)
        if inner.shard_of_files is not None:
            made.shard_of_files = lambda n, i: partial(through, self.shard_of_elements(n, i))
        return made

    def _called(self, func: Function, row: Row) -> Any:
        return called(func, self._element_spec, row)

    def shard_of_elements(self, num_shards: int, index: int) -> Rows:
        """Returns what starts the stream of every n-th element, where elements stand for files.

        As in TensorFlow they are divided first and shuffled then: two workers whose shuffles differ
        would read one file twice and another never.
        """
        return partial(
            self._shuffled, lambda: flow.shard_of_files(self._in_order(), num_shards, index)
        )


@functools.cache
def _kind(name: str) -> type[Dataset]:
    """Returns the class of datasets that TensorFlow calls `name`; they differ in nothing else."""
    return type(name, (Dataset,), {"__doc__": Dataset.__doc__})


def _same(rows: Rows) -> Iterator[Row]:
    return rows()


def _together(
    parts: Sequence[Dataset], through: Callable[[Sequence[Rows]], Iterator[Row]]
) -> Shard | None:
    """Returns the shard of several datasets' files; None if one of them reads none."""
    shards = [part.shard_of_files for part in parts]
    if None in shards:
        return None
    return lambda n, i: partial(through, [shard(n, i) for shard in shards if shard is not None])


def _of_rows(rows: list[Row], spec: Any) -> Dataset:
    return Dataset(lambda: iter(rows), spec, num_elements=len(rows))


def _single(spec: Any, row: Row) -> Dataset:
    return Dataset(lambda: iter([row]), spec)


def _merged(datasets: Sequence[Dataset]) -> Options:
    options = Options()
    for dataset in datasets:
        options = options.merge(dataset.options())
    return options


def _as_numpy(leaf: Any) -> Any:
    return leaf.as_numpy_iterator() if isinstance(leaf, Dataset) else leaf.numpy()


def _shapes_like(types: Any, shapes: Any) -> Any:
    if not nest.is_nested(types):
        return TensorShape(shapes)
    return nest.map_structure(TensorShape, shapes)
