"""From the command to all tasks past their first barrier; and the memory of an idle task."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from clustersim.clock import SYSTEM_CLOCK
from clustersim.units import format_size

TASK = Path(__file__).with_name("spin_up_task.py")
CLUSTERSIM = Path(sys.executable).with_name("clustersim")
REPEATS = 5


def main(sizes: tuple[int, ...]) -> None:
    """Prints a row for each number of tasks, the median of five runs."""
    print("| tasks | command to barrier | PSS of one task |\n|---|---|---|")
    for size in sizes:
        rows = sorted(once(size) for _ in range(REPEATS))
        spin_up_s, pss_bytes = rows[REPEATS // 2]
        print(f"| {size} | {spin_up_s:.2f} s | {format_size(round(pss_bytes))} |", flush=True)


def once(size: int) -> tuple[float, float]:
    """Returns seconds to the barrier, and bytes of one task, of one run."""
    with tempfile.TemporaryDirectory() as folder:
        started = SYSTEM_CLOCK.now()
        done = subprocess.run(
            [CLUSTERSIM, "run", "-q", "-n", str(size), TASK],
            cwd=folder, check=True, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    tasks = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(tasks) == size, done.stdout
    sizes = sorted(one["pss_bytes"] for one in tasks)
    return max(one["now_s"] for one in tasks) - started, sizes[size // 2]


if __name__ == "__main__":
    main((2, 4) if "--quick" in sys.argv else (2, 4, 8, 16))
