"""What small expressions come to in TensorFlow: the answers in tests/tf/expressions do not rot."""

import json
import os
import subprocess

import pytest

from tests.conftest import ROOT
from tests.tf.test_expressions import ANSWERS, is_like

PYTHON = os.environ.get("TENSORFLOW_PYTHON")

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PYTHON is None, reason="TENSORFLOW_PYTHON names no Python with TensorFlow"),
]


def test_tensorflow_still_answers_as_was_recorded():
    done = subprocess.run(
        [PYTHON, str(ROOT / "tests" / "tf" / "expressions" / "answers.py")],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    theirs = json.loads(done.stdout)
    assert [one for one in ANSWERS if not is_like(theirs[one], ANSWERS[one])] == []
