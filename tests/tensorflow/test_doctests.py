"""The examples of TensorFlow's documentation hold with clustersim.tf, but for a list with reasons.

The list stands in docs/tensorflow_examples.md and nowhere else.
"""

import json
import os
import re
import subprocess

import pytest

from tests.conftest import ROOT

PYTHON = os.environ.get("TENSORFLOW_PYTHON")

LIST = ROOT / "docs" / "tensorflow_examples.md"

ROW = re.compile(r"^\| `(tf\.[\w.]+)` \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def exceptions():
    """The reason of each example that does not hold, by its name."""
    return dict(ROW.findall(LIST.read_text()))


@pytest.fixture(scope="module")
def outcomes():
    """How each example that holds on TensorFlow ends with clustersim.tf."""
    if PYTHON is None:
        pytest.skip("TENSORFLOW_PYTHON names no Python with TensorFlow")
    done = subprocess.run(
        [PYTHON, "-m", "tests.tensorflow.doctests", "run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.process
@pytest.mark.timeout(300)
def test_an_example_of_a_name_that_is_there_holds(outcomes, exceptions):
    count = {kind: sum(one == kind for one in outcomes.values()) for kind in set(outcomes.values())}
    print(f"TensorFlow's documentation, {len(outcomes)} examples: {count}")
    differs = {name for name, outcome in outcomes.items() if outcome == "differs"}
    assert differs - set(exceptions) == set()


@pytest.mark.process
@pytest.mark.timeout(300)
def test_an_exception_is_one(outcomes, exceptions):
    kept = {name for name in exceptions if outcomes.get(name) != "differs"}
    assert kept == set(), "these hold, or are not there: take them off the list"


def test_every_exception_has_its_reason(exceptions):
    assert 0 < len(exceptions) <= 10
    assert all(len(reason) > 20 for reason in exceptions.values())
