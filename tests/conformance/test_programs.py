"""TensorFlow's own answers: the recorded programs, run under the name clustersim.tf.

`programs/` is a byte-for-byte copy; nobody edits a program or an expected answer. The programs about
parameter servers wait for parameter servers. `DEVIATIONS` are the programs whose answer differs on
purpose: docs/deviations.md says why, and `test_deviations.py` shows ours.
"""

import argparse
import hashlib
import json
import runpy
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
EXPECTED = json.loads((PROGRAMS / "EXPECTED.json").read_text())

DEVIATIONS = {
    "mirrored_21_shape_mismatch_poisons",
    "mw_20_ps_in_cluster_blocks",
    "mw_21_ps_task_gets_error",
    "seed_04_distribute_dataset",
    "seed_11_make_numpy_dataset_state",
    "seed_13_logical_device_methods_absent",
}

# The recorded runner does not close what it reads, and it is not ours to change.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KINDS = ("device", "input", "mirrored", "mw", "one", "resolver", "seed", "tpu")

NUM_AT_A_TIME = 2


def run_all(names, *, python=sys.executable, module="clustersim.tf"):
    """Runs programs, two at a time, each task in a process of its own; returns their answers."""
    runner = runpy.run_path(str(PROGRAMS / "run_cases.py"))
    options = argparse.Namespace(python=python, module=module, cuda="")
    paths = [str(PROGRAMS / f"{name}.py") for name in names]
    with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
        answers = list(pool.map(lambda path: runner["run_case"](path, options), paths))
    return dict(zip(names, answers, strict=True)), runner["same"]


def differences(names, **options):
    """Returns the programs whose answers differ from the recorded ones, with both."""
    answers, is_same = run_all(names, **options)
    return {
        name: {"got": answer, "expected": EXPECTED[name]["expected"]}
        for name, answer in answers.items()
        if not is_same(EXPECTED[name]["expected"], answer)
    }


def test_programs_and_answers_are_those_that_were_recorded():
    listed = dict(
        reversed(line.split(maxsplit=1)) for line in (HERE / "SHA256SUMS").read_text().splitlines()
    )
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in PROGRAMS.iterdir()
        if path.is_file()
    }
    assert found == listed


def test_every_program_is_run_or_deviates_or_waits_for_parameter_servers():
    kinds = {name.split("_")[0] for name in EXPECTED}
    assert kinds == {*KINDS, "ps"}
    assert set(EXPECTED) >= DEVIATIONS
    assert len(DEVIATIONS) <= 12


@pytest.mark.process
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_tensorflows(kind):
    names = [n for n in EXPECTED if n.split("_")[0] == kind and n not in DEVIATIONS]
    assert differences(names) == {}


@pytest.mark.process
@pytest.mark.timeout(120)
def test_what_deviates_does_not_silently_agree():
    assert set(differences(sorted(DEVIATIONS))) == DEVIATIONS
