"""A dataset's transformations: map, filter, batch, shuffle, ...; each returns a new dataset.

Nothing is computed before somebody iterates, except that a mapped function is called once on made-up
values to learn what it returns, where TensorFlow traces it.

Source: tensorflow/python/data/ops/dataset_ops.py and neighbours, 2.21; cases `input_01`..`input_09`.
"""

# ruff: noqa: ARG002, FBT001, FBT002  # TensorFlow's signatures

from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, takewhile
from typing import Any, Self

import numpy as np

from clustersim import errors
from clustersim.cores import usable_cores
from clustersim.data import arguments, cardinality, flow
from clustersim.data.arguments import AUTOTUNE, AUTOTUNED_PREFETCH, parallel_calls, positive, whole
from clustersim.data.composed import Composed, Function, merged_options, same, together
from clustersim.data.elements import (
    DatasetSpec,
    Row,
    joined_spec,
    map_shapes,
    row_of,
    rows_of_spec,
)
from clustersim.data.flow import Rows
from clustersim.data.functions import check_predicate, probed
from clustersim.data.options import Options
from clustersim.data.prefetch import Prefetch
from clustersim.values import nest
from clustersim.values.dtypes import int64
from clustersim.values.shapes import TensorShape, TensorSpec


class Transformations(Composed):
    """What makes one dataset of another."""

    def with_options(self, options: Options, name: str | None = None) -> Self:
        """Returns the same dataset with other options laid over."""
        return self._derived("_OptionsDataset", same, options=self._options.merge(options))

    def map(
        self,
        map_func: Function,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Self:
        """Returns the results of a function of each element; a tuple is passed as arguments.

        Elements are mapped one after the other, in order, whatever `num_parallel_calls` and
        `deterministic` say.

        Raises:
            ValueError: `map_func` is no function.
            InvalidArgumentError: `num_parallel_calls` is neither above 0 nor AUTOTUNE.
        """
        is_parallel = parallel_calls(num_parallel_calls) is not None
        spec = probed(map_func, self._element_spec, self._single)
        return self._derived(
            "_ParallelMapDataset" if is_parallel else "_MapDataset",
            lambda rows: (row_of(self._called(map_func, row)) for row in rows()),
            spec=spec,
        )

    def filter(self, predicate: Function, name: str | None = None) -> Self:
        """Returns the elements for which the predicate holds.

        Raises:
            ValueError: It does not return one truth value.
        """
        check_predicate(probed(predicate, self._element_spec, self._single))
        return self._derived(
            "_FilterDataset",
            lambda rows: (row for row in rows() if bool(self._called(predicate, row))),
            num_elements=cardinality.UNKNOWN,
        )

    def take_while(self, predicate: Function, name: str | None = None) -> Self:
        """Returns the elements before the first for which the predicate does not hold.

        Raises:
            ValueError: It does not return one truth value.
        """
        check_predicate(probed(predicate, self._element_spec, self._single))
        return self._derived(
            "_TakeWhileDataset",
            lambda rows: takewhile(lambda row: bool(self._called(predicate, row)), rows()),
            num_elements=cardinality.UNKNOWN,
        )

    def flat_map(self, map_func: Function, name: str | None = None) -> Self:
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
    ) -> Self:
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
    ) -> Self:
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

    def unbatch(self, name: str | None = None) -> Self:
        """Returns the rows of each element.

        Raises:
            ValueError: A part of the elements has no rows, or they have different numbers of them.
        """
        size = rows_of_spec(self._element_spec)
        return self._derived(
            "_UnbatchDataset",
            lambda rows: flow.unbatched(rows()),
            spec=map_shapes(self._element_spec, lambda shape: shape[1:]),
            num_elements=cardinality.unbatched(self.num_elements, size),
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Self:
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
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Self:
        """Returns the elements in random order: always one of the next `buffer_size`.

        With a seed, a new dataset gives the same order again; a second pass over the same dataset
        gives another unless `reshuffle_each_iteration` is False.

        Raises:
            InvalidArgumentError: `buffer_size` is not positive.
        """
        size = positive(buffer_size, "buffer_size")
        entropy = None if seed is None else whole(seed, "seed")
        generators = flow.ShuffleSeeds(
            entropy, is_new_each_time=reshuffle_each_iteration is not False
        )

        def shuffled(rows: Rows) -> Iterator[Row]:
            return flow.shuffled(rows(), size, generators.next())

        made = self._derived("_ShuffleDataset", shuffled)
        made._in_order, made._shuffled = self._in_order, shuffled  # noqa: SLF001  # one of us
        return made

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Self:
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

    def take(self, count: Any, name: str | None = None) -> Self:
        """Returns the first `count` elements; all for -1."""
        n = whole(count, "count")
        if n < 0:
            return self._derived("_TakeDataset", same)
        total = cardinality.taken(self.num_elements, n)
        return self._derived("_TakeDataset", lambda rows: islice(rows(), n), num_elements=total)

    def skip(self, count: Any, name: str | None = None) -> Self:
        """Returns the elements after the first `count`; none for -1."""
        n = whole(count, "count")
        if n < 0:
            return self._derived("_SkipDataset", lambda _rows: iter(()), num_elements=0)
        total = cardinality.skipped(self.num_elements, n)
        return self._derived(
            "_SkipDataset", lambda rows: islice(rows(), n, None), num_elements=total
        )

    def concatenate(self, dataset: Composed, name: str | None = None) -> Self:
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
            options=merged_options([self, dataset]),
        )
        made.shard_of_files = together(
            [self, dataset], lambda parts: chain.from_iterable(rows() for rows in parts)
        )
        return made

    def enumerate(self, start: Any = 0, name: str | None = None) -> Self:
        """Returns pairs of a number (int64, from `start`) and the element."""
        first = whole(start, "start")

        def numbered(rows: Rows) -> Iterator[Row]:
            for number, row in enumerate(rows(), first):
                yield (np.asarray(number, np.int64), *row)

        spec = (TensorSpec((), int64), self._element_spec)
        made = self._derived("_ZipDataset", numbered, spec=spec)
        made.shard_of_files = None  # numbers are no files: TensorFlow zips with a range
        return made

    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Returns elements that are datasets of `size` of this one's, one per leaf.

        Raises:
            InvalidArgumentError: `size`, `shift` or `stride` is not positive.
        """
        leaves = nest.flatten(self._element_spec)
        num, step = positive(size, "size"), positive(stride, "stride")
        distance = num if shift is None else positive(shift, "shift")
        is_exact = bool(drop_remainder)

        def as_datasets(group: list[Row]) -> Row:
            columns = zip(*group, strict=True)
            return tuple(
                self._of_rows([(leaf,) for leaf in column], spec)
                for column, spec in zip(columns, leaves, strict=True)
            )

        return self._derived(
            "_WindowDataset",
            lambda rows: map(
                as_datasets,
                flow.windows(rows(), num, distance, step, drop_remainder=is_exact),
            ),
            spec=nest.map_structure(DatasetSpec, self._element_spec),
            num_elements=cardinality.windowed(
                self.num_elements,
                (num - 1) * step + 1,
                distance,
                drop_remainder=is_exact,
            ),
        )

    def cache(self, filename: str = "", name: str | None = None) -> Self:
        """Returns the same elements, remembered by the first complete pass."""
        memory = flow.Memory()
        made = self._derived("CacheDataset", memory.remembered)
        if self.shard_of_files is not None:
            of_files = self.shard_of_files  # a shard has a memory of its own
            made.shard_of_files = lambda n, i: partial(flow.Memory().remembered, of_files(n, i))
        return made

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Self:
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
            return self._derived("_PrefetchDataset", same)
        return self._derived("_PrefetchDataset", lambda rows: Prefetch(rows, bound=bound))

    def _of_rows(self, rows: list[Row], spec: Any) -> Self:
        return self.of_kind("_VariantDataset", lambda: iter(rows), spec, num_elements=len(rows))
