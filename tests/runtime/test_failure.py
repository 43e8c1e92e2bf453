"""A failure as the program's writer sees it: real tracebacks of real programs, without our frames."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

PROGRAMS = {
    "an operation": "tf.reshape([1, 2], 3.5)",
    "a server": "tf.distribute.Server({'worker': ['localhost:0']}, 'worker', 3)",
    "a dataset": "list(tf.data.TextLineDataset('/nowhere'))",
    "with a cause": """
def made():
    raise KeyError("inner")
    yield 1
list(tf.data.Dataset.from_generator(made, output_signature=tf.TensorSpec(())))
""",
    "while another is handled": """
try:
    tf.reshape([1, 2], [3])
except Exception:
    tf.zeros([-1])
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("is_full", [False, True], ids=["short", "full"])
def test_a_traceback_ends_where_the_program_called_us(tmp_path, program, is_full):
    script = tmp_path / "program.py"
    script.write_text(f"import clustersim.tf as tf\n{program}\n")
    environ = {**os.environ, "CLUSTERSIM_TRACEBACK": "1" if is_full else "0"}
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env=environ,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "program.py" in done.stderr
    ours = f"{os.sep}clustersim{os.sep}"
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert any(ours in line for line in frames) is is_full, done.stderr
