"""The main program under real TensorFlow: the import line changed, the same losses.

Needs an interpreter with TensorFlow 2.21 in TENSORFLOW_PYTHON; scripts/test-tensorflow makes one.
"""

import json
import os

import pytest

from tests.conftest import ROOT

PYTHON = os.environ.get("TENSORFLOW_PYTHON")

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PYTHON is None, reason="TENSORFLOW_PYTHON names no Python with TensorFlow"),
]

OURS = "import clustersim.tf as tf"
THEIRS = "import tensorflow as tf"
STEPS = 40


def losses(path):
    return [json.loads(line)["loss"] for line in path.read_text().splitlines()]


@pytest.fixture
def moved_on(tmp_path):
    """workers/ as someone has it who moves on to TensorFlow: one line is another."""
    folder = tmp_path / "workers"
    (folder / "data").mkdir(parents=True)
    source = (ROOT / "workers" / "train.py").read_text()
    assert source.count(OURS) == 1
    (folder / "train.py").write_text(source.replace(OURS, THEIRS))
    data = ROOT / "workers" / "data" / "digits.npz"
    (folder / "data" / "digits.npz").write_bytes(data.read_bytes())
    return str(folder / "train.py")


def test_two_workers_train_to_the_losses_of_tensorflow(by_hand, moved_on, monkeypatch):
    import tests.by_hand

    monkeypatch.setattr(tests.by_hand, "LIMIT_S", 240)
    theirs, ours = by_hand.folder / "theirs", by_hand.folder / "ours"
    options = ("--steps", STEPS, "--losses")
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ""}
    done = by_hand.run(
        by_hand.cluster(worker=2), moved_on, *options, theirs, python=PYTHON, **quiet
    )
    assert [one.code for one in done.values()] == [0, 0], done
    by_hand.tasks.clear()
    program = str(ROOT / "workers" / "train.py")
    done = by_hand.run(by_hand.cluster(worker=2), program, *options, ours)
    assert [one.code for one in done.values()] == [0, 0], done
    assert losses(ours) == pytest.approx(losses(theirs), abs=1e-4)
    assert len(losses(ours)) == 2 * STEPS
