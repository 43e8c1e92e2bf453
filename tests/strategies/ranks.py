"""Several ranks of one strategy in one process: threads, and a `CrossReplica` between them.

It sums in the order of ranks and refuses calls that differ, as the real group does; it sends nothing.
"""

import threading

import numpy as np

from clustersim import errors
from clustersim.collectives.schedule import ReduceOp
from clustersim.devices.current import MACHINE
from clustersim.events import CollectiveFinished
from clustersim.observe.metrics import Metrics
from clustersim.strategies.base import Strategy
from clustersim.strategies.cross_replica import mean_dtype
from clustersim.strategies.replicated import ReplicatedExtended

LIMIT_S = 10
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


class Table:
    """Where the ranks of one group put what they bring to a call."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size)
        self.brought = [None] * size

    def exchange(self, rank, call):
        """Returns what all ranks brought, by rank."""
        self.brought[rank] = call
        self.barrier.wait(LIMIT_S)
        everybody = list(self.brought)
        self.barrier.wait(LIMIT_S)
        return everybody


class Rank:
    """One rank's side of the group."""

    def __init__(self, table, rank, metrics):
        self.table, self.rank, self.size = table, rank, len(table.brought)
        self.metrics = metrics
        self.calls = []

    def _exchange(self, kind, value):
        self.calls.append(kind)
        everybody = self.table.exchange(self.rank, (kind, value))
        if len({one for one, _ in everybody}) > 1:
            raise errors.InternalError(f"Calls differ: {[one for one, _ in everybody]}.")
        return [brought for _, brought in everybody]

    def all_reduce(self, arrays, op, *, options=None):
        everybody = self._exchange(f"all_reduce {op.name}", [np.array(a) for a in arrays])
        sums = [sum(parts[1:], parts[0]) for parts in zip(*everybody, strict=True)]
        size_bytes = sum(array.nbytes for array in arrays)
        self.metrics.record(
            CollectiveFinished(
                kind="all_reduce", step=1, size_bytes=size_bytes, waiting_s=0.0, network_s=0.0
            )
        )
        if op is ReduceOp.SUM:
            return sums
        return [np.divide(s, self.size, dtype=mean_dtype(s.dtype)) for s in sums]

    def all_gather(self, array, *, axis, options=None):
        return np.concatenate(self._exchange("all_gather", array), axis=axis)

    def broadcast(self, array, *, root=0):
        return self._exchange("broadcast", np.array(array))[root]


def on_ranks(size, body, *, devices=None):
    """Runs `body(strategy, rank)` on each rank in a thread; returns the results, raises an error."""
    table = Table(size)
    results, failures = [None] * size, []

    def work(rank):
        metrics = Metrics()
        extended = ReplicatedExtended(
            devices=devices or (MACHINE.default().name,),
            cross_replica=Rank(table, rank, metrics),
            metrics=metrics,
        )
        try:
            results[rank] = body(Strategy(extended), rank)
        except Exception as error:
            failures.append(error)
            table.barrier.abort()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S * 3)
        assert not thread.is_alive(), "a rank hangs"
    if failures:
        raise failures[0]
    return results
