"""How long the things take that nobody wants to wait for: imports, and the command's help."""

import subprocess
import sys
from pathlib import Path

from clustersim.clock import SYSTEM_CLOCK

REPEATS = 9
COMMANDS = {
    "python (nothing)": [sys.executable, "-c", ""],
    "import clustersim": [sys.executable, "-c", "import clustersim"],
    "import clustersim.tf": [sys.executable, "-c", "import clustersim.tf"],
    "clustersim --help": [str(Path(sys.executable).parent / "clustersim"), "--help"],
}


def main() -> None:
    """Prints the median of each, as a whole process."""
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEATS):  # interleaved: a busy moment hits all alike
        for name, command in COMMANDS.items():
            started = SYSTEM_CLOCK.now()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=30)
            times[name].append(SYSTEM_CLOCK.now() - started)
    print("| command | median of 9 |\n|---|---|")
    for name, values in times.items():
        print(f"| `{name}` | {1e3 * sorted(values)[REPEATS // 2]:.0f} ms |")


if __name__ == "__main__":
    main()
