"""One rank of the all-reduce benchmark: times the gRPC ring for each size; rank 0 prints JSON.

Started by scripts/benchmarks/all_reduce.py through `clustersim run`. Checks every result.
"""

import argparse
import json

import numpy as np

from clustersim.clock import SYSTEM_CLOCK
from clustersim.cluster.tf_config import TFConfig
from clustersim.collectives.communicator import Communicator
from clustersim.config import TaskSettings
from clustersim.runtime import task as runtime_task

BUDGET_S = 1.0


def main() -> None:
    """Runs this rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", type=int, nargs="+", help="bytes")
    sizes = parser.parse_args().sizes
    config = TFConfig.from_environ()
    if config.task is None:
        parser.error("TF_CONFIG is not set")
    runtime = runtime_task.ensure(config.cluster, config.task, TaskSettings.from_environ())
    runtime.wait_ready()
    transport = runtime.transport()
    comm = Communicator(transport)
    runtime.keep(transport, comm)
    rows = []
    for size_bytes in sizes:
        data = np.full(max(1, size_bytes // 4), comm.rank + 1, dtype=np.float32)
        expected = comm.size * (comm.size + 1) / 2
        assert (comm.all_reduce(data) == expected).all(), "a wrong sum"
        started = SYSTEM_CLOCK.now()
        comm.all_reduce(data)
        # All ranks repeat as often as rank 0 says.
        once_s = np.array(SYSTEM_CLOCK.now() - started)
        repeats = int(np.clip(BUDGET_S / float(comm.broadcast(once_s)), 3, 300))
        times = []
        for _ in range(repeats):
            started = SYSTEM_CLOCK.now()
            comm.all_reduce(data)
            times.append(SYSTEM_CLOCK.now() - started)
        rows.append({"size_bytes": data.nbytes, "median_s": float(np.median(times))})
    if comm.rank == 0:
        print(json.dumps({"ranks": comm.size, "rows": rows}), flush=True)
    comm.barrier()


if __name__ == "__main__":
    main()
