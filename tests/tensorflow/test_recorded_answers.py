"""Recorded answers do not rot: a fixed set of the programs, against TensorFlow itself.

To record all of them anew, with an interpreter that has TensorFlow 2.21 (and then SHA256SUMS):

    python tests/conformance/programs/run_cases.py --python /path/to/python --record
"""

import os

import pytest

from tests.conformance.test_programs import differences

PYTHON = os.environ.get("TENSORFLOW_PYTHON")

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PYTHON is None, reason="TENSORFLOW_PYTHON names no Python with TensorFlow"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FIXED = (
    "device_01_parse",
    "input_12_rebatch_three",
    "mirrored_04_run_order",
    "mirrored_21_shape_mismatch_poisons",
    "mw_01_two_workers_reduce",
    "one_06_reduce_dtypes",
    "resolver_03_cluster_forms",
    "seed_12_reduce",
    "seed_13_logical_device_methods_absent",
    "tpu_01_device_assignment",
)


def test_tensorflow_still_gives_the_recorded_answers():
    assert differences(FIXED, python=PYTHON, module="tensorflow") == {}
