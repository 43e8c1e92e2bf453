"""What the transformations of a dataset do to the stream of its rows, as plain generators.

Each takes functions that start a stream (so that it can be started again) and yields rows. Knows
nothing of specs or tensors.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count, islice
from typing import TypeAlias

import numpy as np

from clustersim import errors
from clustersim.data.elements import Row, column

Rows: TypeAlias = Callable[[], Iterator[Row]]
"""Starts a stream of rows."""


def slices(arrays: Row) -> Iterator[Row]:
    """Yields row i of every array."""
    for index in range(len(arrays[0])):
        yield tuple(column(array, index) for array in arrays)


def batched(rows: Iterator[Row], batch_size: int, *, drop_remainder: bool) -> Iterator[Row]:
    """Yields `batch_size` rows stacked; fewer at the end unless they are dropped."""
    while group := list(islice(rows, batch_size)):
        if drop_remainder and len(group) < batch_size:
            return
        yield stacked(group)


def stacked(group: list[Row]) -> Row:
    """Returns one row of the given ones, leaf by leaf.

    Raises:
        InvalidArgumentError: Their shapes differ.
    """
    try:
        return tuple(np.stack(leaves) for leaves in zip(*group, strict=True))
    except ValueError as error:
        raise errors.InvalidArgumentError(
            "Cannot batch tensors with different shapes:"
            f" {[[np.shape(leaf) for leaf in row] for row in group]}."
        ) from error


def unbatched(rows: Iterator[Row]) -> Iterator[Row]:
    """Yields the rows of each batch.

    Raises:
        InvalidArgumentError: A part of a batch has no rows, or more or fewer than the others.
    """
    return chain.from_iterable(map(_checked_slices, rows))


def _checked_slices(row: Row) -> Iterator[Row]:
    lengths = {array.shape[:1] for array in row}
    if len(lengths) != 1 or () in lengths:
        raise errors.InvalidArgumentError(
            f"Input element must have the same number of rows in each part, but the shapes are"
            f" {[array.shape for array in row]}."
        )
    return slices(row)


def repeated(rows: Rows, num_times: int | None) -> Iterator[Row]:
    """Yields the whole stream again and again; for ever if `num_times` is None."""
    for _ in range(num_times) if num_times is not None else count():
        is_empty = True
        for row in rows():
            is_empty = False
            yield row
        if is_empty:
            return


def shuffled(
    rows: Iterator[Row], buffer_size: int, generator: np.random.Generator
) -> Iterator[Row]:
    """Yields a random one of the next `buffer_size` rows, again and again."""
    buffer = list(islice(rows, buffer_size))
    for row in rows:
        position = int(generator.integers(len(buffer)))
        yield buffer[position]
        buffer[position] = row
    while buffer:
        yield buffer.pop(int(generator.integers(len(buffer))))


class ShuffleSeeds:
    """The random generators of one `shuffle`: one for each pass over it."""

    def __init__(self, seed: int | None, *, is_new_each_time: bool) -> None:
        self._lock = threading.Lock()  # guards _num_passes
        self._num_passes = 0
        self._seeds = np.random.SeedSequence(seed)
        self._is_new_each_time = is_new_each_time

    def next(self) -> np.random.Generator:
        """Returns the generator of the next pass."""
        with self._lock:
            number = self._num_passes if self._is_new_each_time else 0
            self._num_passes += 1
        return np.random.default_rng((*self._entropy(), number))

    def _entropy(self) -> tuple[int, ...]:
        entropy = self._seeds.entropy
        return (abs(int(entropy)),) if isinstance(entropy, int) else tuple(entropy or ())


def interleaved(
    streams: Iterator[Iterator[Row]], cycle_length: int, block_length: int
) -> Iterator[Row]:
    """Yields `block_length` rows of each of `cycle_length` streams in turn.

    A place whose stream ended is filled when its turn comes again, as in TensorFlow.
    """
    places: list[Iterator[Row] | None] = [None] * cycle_length
    is_more = True
    while is_more or any(places):
        for position, place in enumerate(places):
            stream = place if place is not None else next(streams, None)
            if stream is None:
                is_more = False
                continue
            block = list(islice(stream, block_length))
            places[position] = stream if len(block) == block_length else None
            yield from block


def windows(
    rows: Iterator[Row], size: int, shift: int, stride: int, *, drop_remainder: bool
) -> Iterator[list[Row]]:
    """Yields lists of every `stride`-th row, `size` of them, starting `shift` rows apart."""
    span = (size - 1) * stride + 1
    buffer: list[Row] = []
    while True:
        buffer += islice(rows, span - len(buffer))
        if not buffer or (drop_remainder and len(buffer) < span):
            return
        yield buffer[::stride][:size]
        num_beyond = max(0, shift - len(buffer))
        buffer = buffer[shift:]
        deque(islice(rows, num_beyond), maxlen=0)


class Memory:
    """What one `cache` remembers of a stream."""

    def __init__(self) -> None:
        self._rows: list[Row] | None = None

    def remembered(self, rows: Rows) -> Iterator[Row]:
        """Yields the stream; from memory once a pass was completed."""
        if self._rows is not None:
            yield from self._rows
            return
        seen: list[Row] = []
        for row in rows():
            seen.append(row)
            yield row
        if self._rows is None:
            self._rows = seen


def every(rows: Iterable[Row], num_shards: int, index: int) -> Iterator[Row]:
    """Yields rows `index`, `index + num_shards`, ..."""
    return islice(iter(rows), index, None, num_shards)


def shard_of_files(names: Iterable[Row], num_shards: int, index: int) -> Iterator[Row]:
    """Yields rows `index`, `index + num_shards`, ... of rows that stand for files.

    Raises:
        InvalidArgumentError: There are fewer than shards.
    """
    first = list(islice(it := iter(names), num_shards))
    if len(first) < num_shards:
        raise errors.InvalidArgumentError(
            f"Could not apply FILE based sharding: the dataset only has {len(first)} file(s), which is"
            f" not enough for the required {num_shards} shards/workers. Consider setting the auto"
            " sharding policy to either DATA or OFF using the"
            " `experimental_distribute.auto_shard_policy` option of `tf.data.Options()`."
        )
    return every(chain(first, it), num_shards, index)
