"""Pure: ring algorithms: each rank sends only to its right neighbour.

P ranks hold S bytes each. Reduce-scatter and all-gather around the ring, S cut into P chunks:

    all-reduce   rounds 2 (P - 1)    bytes per rank  2 (P - 1) / P * S    (optimal; latency ~ P)
    all-gather   rounds   (P - 1)    bytes per rank    (P - 1) * S        (S = each rank's own part)
    broadcast    rounds   (P - 1)    bytes per rank    at most S          (a chain from the root)

Knows nothing of bytes, time or transports: see `schedule` for the vocabulary.
Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
2009.
"""

from collections.abc import Iterator

import numpy as np

from clustersim.collectives.schedule import Move, Round


def ring_all_reduce(size: int) -> Iterator[Round]:
    """Yields the rounds of a ring all-reduce among `size` ranks, on `size` chunks."""
    _check(size)
    rank = np.arange(size)
    right = (rank + 1) % size
    # Invariant: after reduce round t, rank r + 1 holds chunk r - t summed over t + 2 ranks.
    for t in range(size - 1):
        yield Round(source=rank, target=right, chunk=(rank - t) % size, move=Move.REDUCE)
    # Rank r now owns chunk r + 1 completely, and passes it on unchanged.
    for t in range(size - 1):
        yield Round(source=rank, target=right, chunk=(rank + 1 - t) % size, move=Move.COPY)


def ring_all_gather(size: int) -> Iterator[Round]:
    """Yields the rounds of a ring all-gather among `size` ranks; chunk r is rank r's part."""
    _check(size)
    rank = np.arange(size)
    right = (rank + 1) % size
    for t in range(size - 1):
        yield Round(source=rank, target=right, chunk=(rank - t) % size, move=Move.COPY)


def chain_broadcast(size: int, root: int) -> Iterator[Round]:
    """Yields the rounds of a broadcast of one chunk along the ring, beginning at `root`."""
    _check(size)
    if not 0 <= root < size:
        raise ValueError(f"The root must be a rank within 0..{size - 1}, not {root!r}.")
    chunk = np.zeros(1, dtype=np.int64)
    for t in range(size - 1):
        source = np.array([(root + t) % size])
        yield Round(source=source, target=(source + 1) % size, chunk=chunk, move=Move.COPY)


def _check(size: int) -> None:
    if size < 1:
        raise ValueError(f"A ring needs at least 1 rank, not {size!r}.")
