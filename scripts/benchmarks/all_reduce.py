"""The gRPC ring all-reduce: time, algbw and busbw, as nccl-tests print them, 4 B to 100 MiB.

algbw = S / t      busbw = algbw * 2 (P - 1) / P: what the slowest link carries
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from clustersim.units import format_size

TASK = Path(__file__).with_name("all_reduce_task.py")
CLUSTERSIM = Path(sys.executable).with_name("clustersim")
SIZES = (4, 64 * 2**10, 2**20, 16 * 2**20, 100 * 2**20)


def main(sizes: tuple[int, ...]) -> None:
    """Prints a row for each size and number of ranks."""
    print("| ranks | size | median time | algbw | busbw |\n|---|---|---|---|---|")
    for ranks in (2, 4):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [CLUSTERSIM, "run", "-q", "-n", str(ranks), TASK, *map(str, sizes)],
                cwd=folder, check=True, capture_output=True, text=True, timeout=180,
            )  # fmt: skip
        for row in json.loads(done.stdout)["rows"]:
            size_bytes, time_s = row["size_bytes"], row["median_s"]
            algbw = size_bytes / time_s
            busbw = algbw * 2 * (ranks - 1) / ranks
            print(
                f"| {ranks} | {format_size(size_bytes)} | {1e3 * time_s:.2f} ms"
                f" | {algbw / 1e9:.3f} GB/s | {busbw / 1e9:.3f} GB/s |",
                flush=True,
            )


if __name__ == "__main__":
    main(SIZES[:3] if "--quick" in sys.argv else SIZES)
