"""What `strategy.run` costs beyond its step, beside TensorFlow where TENSORFLOW_PYTHON names one."""

import json
import os
import subprocess
import sys
from pathlib import Path

TASK = Path(__file__).with_name("strategy_run_task.py")


def once(python: str, module: str) -> dict[str, float]:
    """Returns seconds per call by case."""
    done = subprocess.run(
        [python, TASK, module], check=True, capture_output=True, text=True, timeout=120
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Prints a row for each case."""
    ours = once(sys.executable, "clustersim.tf")
    peer = os.environ.get("TENSORFLOW_PYTHON")
    theirs = once(peer, "tensorflow") if peer else {}
    print("| call | clustersim | TensorFlow 2.21 | ratio |\n|---|---|---|---|")
    for name, ours_s in ours.items():
        theirs_s = theirs.get(name)
        text = f"{1e6 * theirs_s:.0f} us" if theirs_s else "not measured"
        ratio = f"{theirs_s / ours_s:.1f}" if theirs_s else "-"
        print(f"| {name} | {1e6 * ours_s:.1f} us | {text} | {ratio} |")


if __name__ == "__main__":
    main()
