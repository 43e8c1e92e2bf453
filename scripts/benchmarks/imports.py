"""How long the things take that nobody wants to wait for: imports, and the command's help."""

import json
import subprocess
import sys
from pathlib import Path

from clustersim.clock import SYSTEM_CLOCK
from clustersim.cluster.lint import lint_tf_config

REPEATS = 9
VALUE = '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}'
CLUSTERSIM = str(Path(sys.executable).parent / "clustersim")
COMMANDS = {
    "python (nothing)": [sys.executable, "-c", ""],
    "import clustersim": [sys.executable, "-c", "import clustersim"],
    "import clustersim.tf": [sys.executable, "-c", "import clustersim.tf"],
    "clustersim --help": [CLUSTERSIM, "--help"],
    "clustersim lint --value ...": [CLUSTERSIM, "lint", "--value", VALUE],
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
    hosts = [f"host-{i}:2222" for i in range(10_000)]
    text = json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": 0}})
    started = SYSTEM_CLOCK.now()
    lint_tf_config(text)
    print(
        f"| linting a map of 10,000 tasks (once) | {1e3 * (SYSTEM_CLOCK.now() - started):.0f} ms |"
    )


if __name__ == "__main__":
    main()
