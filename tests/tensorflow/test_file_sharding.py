"""What TensorFlow reads of files that workers divide: the answers in tests/data do not rot."""

import json
import os
import subprocess

import pytest

from tests.conftest import ROOT
from tests.data.file_pipelines import ANSWERS

PYTHON = os.environ.get("TENSORFLOW_PYTHON")

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PYTHON is None, reason="TENSORFLOW_PYTHON names no Python with TensorFlow"),
]


def test_tensorflow_still_divides_files_as_was_recorded():
    done = subprocess.run(
        [PYTHON, str(ROOT / "tests" / "data" / "file_pipelines.py")],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    assert json.loads(done.stdout) == ANSWERS
