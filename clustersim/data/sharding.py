"""Who gets which rows: the arithmetic of auto-sharding and rebatching, without any dataset.

With P workers of L replicas each there are R = P * L replicas.

    DATA         each batch of B rows is cut into R pieces of ceil(B / R) rows, the last ones short or
                 empty; piece k * P + w goes to replica k of worker w
    OFF, HINT    every worker sees all rows, in pieces of floor(B / R) + 1 rows for the first B mod R
                 of R pieces and floor(B / R) for the others, that order turned by worker; replicas
                 take pieces in turn, and only at the very end are there empty ones
    FILE         as OFF, but each worker reads every P-th file only
    AUTO         FILE if there are several workers and the dataset reads files, else DATA

A round is what the replicas of one worker get in one step: a row each, or None where there is none.

Source: tensorflow/python/distribute/input_lib.py and data/experimental/ops/distribute.py
(_LegacyRebatchDataset, batch_sizes_for_worker), 2.21; cases `input_11`..`18`, `mw_11`, `mw_12`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice, zip_longest
from typing import TypeAlias

import numpy as np

from clustersim import errors
from clustersim.data.elements import Row
from clustersim.data.options import AutoShardPolicy

Round: TypeAlias = tuple[Row | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the replicas are spread over workers, and which worker this is."""

    num_workers: int = 1
    worker: int = 0
    num_local: int = 1
    """Replicas of each worker."""

    @property
    def num_replicas(self) -> int:
        """All replicas of all workers."""
        return self.num_workers * self.num_local


class InputContext:
    """What a dataset function is told: how many pipelines there are, and which one it makes."""

    __slots__ = ("_input_pipeline_id", "_num_input_pipelines", "_num_replicas_in_sync")

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self._num_input_pipelines = num_input_pipelines
        self._input_pipeline_id = input_pipeline_id
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def num_input_pipelines(self) -> int:
        """How many datasets are made in all."""
        return self._num_input_pipelines

    @property
    def input_pipeline_id(self) -> int:
        """Which of them this one is, from 0."""
        return self._input_pipeline_id

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas share a global batch."""
        return self._num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Returns a replica's share of a global batch.

        Raises:
            ValueError: It cannot be shared evenly.
        """
        if global_batch_size % self._num_replicas_in_sync != 0:
            raise ValueError(
                f"The global batch size {global_batch_size!r} is not divisible by the"
                f" {self._num_replicas_in_sync} replicas in sync. Choose a multiple."
            )
        return global_batch_size // self._num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self._input_pipeline_id},"
            f" total: {self._num_input_pipelines})"
        )


def piece_bounds(num_rows: int, num_pieces: int) -> list[tuple[int, int]]:
    """Returns first and one-past-last row of each piece, as DATA cuts a batch."""
    size = -(-num_rows // num_pieces)
    return [(min(k * size, num_rows), min((k + 1) * size, num_rows)) for k in range(num_pieces)]


def piece_sizes(batch_size: int, layout: Layout) -> list[int]:
    """Returns the sizes of the pieces that one worker takes in turn, as OFF cuts full batches."""
    floor, num_larger = divmod(batch_size, layout.num_replicas)
    sizes = [floor + (k < num_larger) for k in range(layout.num_replicas)]
    first = layout.worker * layout.num_local
    return sizes[first:] + sizes[:first]


def is_by_files(policy: AutoShardPolicy, layout: Layout, *, reads_files: bool) -> bool:
    """Returns whether each worker reads files of its own.

    Raises:
        NotFoundError: The policy is FILE, there are several workers and no files.
    """
    if layout.num_workers == 1:
        return False
    if policy is AutoShardPolicy.FILE and not reads_files:
        raise errors.NotFoundError(
            "Found an unshardable source dataset: its auto_shard_policy is FILE, but it does not read"
            " files, or not files alone. Use DATA or AUTO, or make it from files."
        )
    return reads_files and policy in {AutoShardPolicy.AUTO, AutoShardPolicy.FILE}


def rounds(rows: Iterator[Row], layout: Layout, *, by_rows: bool) -> Iterator[Round]:
    """Yields the rounds of one worker from a stream of global batches.

    Args:
        rows: All of them; or, where files are divided, those of this worker's files.
        layout: The replicas.
        by_rows: Whether workers share each batch (DATA), and not the stream (OFF, FILE).

    Raises:
        IndexError: An element is not batched.
    """
    if by_rows:
        return (_cut(row, layout) for row in rows)
    return grouped(_rebatched(rows, layout), layout.num_local)


def grouped(rows: Iterator[Row], num_local: int) -> Iterator[Round]:
    """Yields rounds of consecutive rows; the last is filled up with None."""
    while group := tuple(islice(rows, num_local)):
        yield group + (None,) * (num_local - len(group))


def paired(streams: list[Iterator[Row]]) -> Iterator[Round]:
    """Yields rounds of one row of each stream, None where one has ended."""
    return zip_longest(*streams)


def _cut(row: Row, layout: Layout) -> Round:
    bounds = piece_bounds(_num_rows(row), layout.num_replicas)
    mine = [bounds[k * layout.num_workers + layout.worker] for k in range(layout.num_local)]
    return tuple(_part(row, start, stop) for start, stop in mine)


def _rebatched(rows: Iterator[Row], layout: Layout) -> Iterator[Row]:
    """Yields pieces of the sizes that the first batch fixes, filled across batches."""
    first = next(rows, None)
    if first is None:
        return
    sizes = cycle(piece_sizes(_num_rows(first), layout))
    kept, size = first, next(sizes)
    for row in rows:
        while _num_rows(kept) >= size:
            yield _part(kept, 0, size)
            kept, size = _part(kept, size, _num_rows(kept)), next(sizes)
        kept = tuple(np.concatenate(pair) for pair in zip(kept, row, strict=True))
    while _num_rows(kept):
        yield _part(kept, 0, size)
        kept, size = _part(kept, size, _num_rows(kept)), next(sizes)


def _part(row: Row, start: int, stop: int) -> Row:
    return tuple(leaf[start:stop] for leaf in row)


def _num_rows(row: Row) -> int:
    if any(leaf.ndim == 0 for leaf in row):
        raise IndexError(
            "The dataset is not batched: an element is a scalar, so it cannot be divided between"
            " replicas. Batch it by the global batch size."
        )
    return len(row[0])
