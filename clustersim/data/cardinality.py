"""How many elements a transformation leaves, where that can be said beforehand.

A cardinality is a count, `INFINITE` or `UNKNOWN`; each function takes what comes in and returns what
goes out.

Source: tensorflow/core/kernels/data/*_dataset_op.cc (CardinalityInternal), 2.21; case `input_06`.
"""

from collections.abc import Sequence

INFINITE = -1
UNKNOWN = -2


def batched(count: int, batch_size: int, *, drop_remainder: bool) -> int:
    """Returns the number of batches."""
    if count < 0:
        return count
    return count // batch_size if drop_remainder else -(-count // batch_size)


def unbatched(count: int, batch_size: int | None) -> int:
    """Returns the number of rows of batches of `batch_size`, None if that differs."""
    return UNKNOWN if batch_size is None or count < 0 else count * batch_size


def repeated(count: int, num_times: int | None) -> int:
    """Returns the number of elements of `num_times` passes, None for endless ones."""
    if num_times == 0 or count == 0:
        return 0
    if num_times is None:
        return INFINITE
    return count if count < 0 else count * num_times


def sharded(count: int, num_shards: int, index: int) -> int:
    """Returns the number of elements of one shard."""
    return count if count < 0 else len(range(index, count, num_shards))


def taken(count: int, num_taken: int) -> int:
    """Returns the number of elements among the first `num_taken`."""
    if count == UNKNOWN:
        return UNKNOWN
    return num_taken if count == INFINITE else min(count, num_taken)


def skipped(count: int, num_skipped: int) -> int:
    """Returns the number of elements after the first `num_skipped`."""
    return count if count < 0 else max(0, count - num_skipped)


def zipped(counts: Sequence[int]) -> int:
    """Returns the number of elements of the shortest."""
    if UNKNOWN in counts:
        return UNKNOWN
    return min((count for count in counts if count != INFINITE), default=INFINITE)


def concatenated(counts: Sequence[int]) -> int:
    """Returns the number of elements of all."""
    if INFINITE in counts:
        return INFINITE
    return UNKNOWN if UNKNOWN in counts else sum(counts)


def windowed(count: int, span: int, shift: int, *, drop_remainder: bool) -> int:
    """Returns the number of windows that reach over `span` elements, `shift` apart."""
    if count < 0:
        return count
    return max(0, (count - span) // shift + 1) if drop_remainder else -(-count // shift)
