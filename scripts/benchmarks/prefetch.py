"""What prefetch hides: time of a step against max(t_in, t_step), beside tf.data and torch's DataLoader.

The peers are measured where this interpreter has them, or the one that TENSORFLOW_PYTHON or TORCH_PYTHON
names. Each library has a process of its own, and they take turns, so that all see the same machine.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

TASK = Path(__file__).with_name("prefetch_task.py")

VARIABLES = {"tensorflow": "TENSORFLOW_PYTHON", "torch": "TORCH_PYTHON"}

CASES_MS = ((5, 5), (5, 2), (2, 5), (1, 1))
DEPTH = 2
STEPS, ROUNDS = 100, 9


class Asked:
    """A process that answers how long a step takes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.has_begun = self._line() == "ready"

    def per_step_s(self, input_s: float, step_s: float, depth: int, steps: int) -> float:
        """Returns seconds per step."""
        assert self._process.stdin is not None
        print(input_s, step_s, depth, steps, file=self._process.stdin, flush=True)
        return float(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def asked(python: str, library: str) -> Iterator[Asked]:
    """Starts a library's process, and ends it."""
    environ = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    with subprocess.Popen(
        [python, TASK, library],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environ,
    ) as process:
        try:
            yield Asked(process)
        finally:
            process.kill()


def main() -> None:
    """Prints a row for each pair of input and step time."""
    is_quick = "--quick" in sys.argv[1:]
    rounds = 2 if is_quick else ROUNDS
    pythons = {"sleep": sys.executable, "clustersim.tf": sys.executable} | {
        library: os.environ.get(variable, sys.executable) for library, variable in VARIABLES.items()
    }
    with ExitStack() as stack:
        begun = {
            library: stack.enter_context(asked(python, library))
            for library, python in pythons.items()
        }
        table({library: one for library, one in begun.items() if one.has_begun}, rounds)
    for library in [library for library, one in begun.items() if not one.has_begun]:
        print(
            f"\nNot measured: {library}, which {pythons[library]} cannot import"
            f" ({VARIABLES[library]} names another)."
        )


def table(running: dict[str, Asked], rounds: int) -> None:
    """Measures in turns, and prints medians."""
    names = [name for name in running if name != "sleep"]
    print("| t_in | t_step | ideal | step alone | no prefetch |", *(f"{n} |" for n in names))
    print("|---" * (5 + len(names)) + "|")
    for input_ms, step_ms in CASES_MS:
        input_s, step_s = input_ms / 1e3, step_ms / 1e3
        ideal_s = max(input_s, step_s)
        took: dict[str, list[float]] = {name: [] for name in [*running, "plain"]}
        for _ in range(rounds):
            for name, one in running.items():
                took[name].append(one.per_step_s(input_s, step_s, DEPTH, STEPS))
            plain_s = running["clustersim.tf"].per_step_s(input_s, step_s, 0, STEPS // 4)
            took["plain"].append(plain_s)
        middle_s = {name: median(times) for name, times in took.items()}
        cells = [
            f"{1e3 * middle_s[name]:.2f} ms ({middle_s[name] / ideal_s:.3f})" for name in names
        ]
        print(
            f"| {input_ms} ms | {step_ms} ms | {1e3 * ideal_s:.2f} ms"
            f" | {1e3 * middle_s['sleep']:.2f} ms | {1e3 * middle_s['plain']:.2f} ms |",
            *(f"{cell} |" for cell in cells),
        )


if __name__ == "__main__":
    main()
