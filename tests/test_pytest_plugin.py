"""The pytest plugin, as its users meet it: in a pytest of their own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

USERS = """
import json, os
import pytest

def role():
    return json.loads(os.environ["TF_CONFIG"])["task"]

@pytest.mark.each_task(chief=1, worker=2, ps=1)
def test_branches():
    assert role()["type"] in {"chief", "worker", "ps"}

def test_fixture(tf_config):
    tf_config("worker:1", worker=2, ps=1)
    assert role() == {"type": "worker", "index": 1}

def test_broken(tf_config):
    tf_config("{'cluster': ")
    assert os.environ["TF_CONFIG"] == "{'cluster': "

def test_afterwards():
    assert os.environ["TF_CONFIG"] == "as before"

def test_what_collection_loads():
    import sys
    assert not {"grpc", "numpy", "psutil"} & set(sys.modules)
"""


def users_pytest(tmp_path, text, *arguments):
    (tmp_path / "test_users.py").write_text(text)
    import os

    environ = {**os.environ, "TF_CONFIG": "as before"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", *arguments],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("-n", "4")], ids=["alone", "four at once"])
def test_a_test_runs_once_for_each_place_and_leaves_the_variable_as_it_was(tmp_path, arguments):
    done = users_pytest(tmp_path, USERS, *arguments)
    assert "8 passed" in done.stdout, done.stdout
    for name in ("chief:0", "worker:0", "worker:1", "ps:0"):
        assert f"test_branches[{name}]" in done.stdout


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import pytest\n@pytest.mark.each_task(boss=1)\ndef test(): pass", "take counts of chief"),
        ("def test(tf_config): tf_config('worker:5', worker=2)", "is not in this cluster"),
    ],
)
def test_wrong_use_is_said(tmp_path, text, says):
    assert says in users_pytest(tmp_path, text).stdout


UNITTEST = """
import unittest
import pytest

class TestOld(unittest.TestCase):
    @pytest.mark.each_task(worker=2)
    def test_place(self):
        pass
"""

OLD_CLASS = """
import unittest
import pytest

@pytest.mark.each_task(worker=2)
class TestOld(unittest.TestCase):
    def test_place(self):
        pass
"""


@pytest.mark.parametrize("text", [UNITTEST, OLD_CLASS], ids=["method", "class"])
def test_a_unittest_method_is_refused_since_it_would_run_once_and_without_a_place(tmp_path, text):
    done = users_pytest(tmp_path, text)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "TestOld::test_place: each_task does nothing for a TestCaseFunction" in done.stderr


CLASS = """
import json, os
import pytest

@pytest.mark.each_task(worker=2)
class TestPlaces:
    def test_own(self):
        assert json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "worker"

    @staticmethod
    def test_static():
        assert json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "worker"

    @pytest.mark.each_task(ps=1, chief=1)
    def test_nearer_marker(self):
        assert json.loads(os.environ["TF_CONFIG"])["task"]["type"] in {"ps", "chief"}
"""


def test_a_class_gives_every_test_its_places(tmp_path):
    done = users_pytest(tmp_path, CLASS)
    assert "6 passed" in done.stdout, done.stdout


NO_COUNTS = ["2", "worker=-1", "worker='2'", "worker=True", "wroker=2", "", "worker=10**9"]


def test_what_are_no_counts_is_refused_in_one_line(tmp_path):
    for number, counts in enumerate(NO_COUNTS):
        text = f"import pytest\n@pytest.mark.each_task({counts})\ndef test_a():\n    pass\n"
        (tmp_path / f"test_{number}.py").write_text(text)
    done = users_pytest(tmp_path, "")
    said = "each_task and tf_config take counts of chief, worker, ps, evaluator"
    assert done.stdout.count(f"\n{said}") == len(NO_COUNTS), done.stdout
    assert "pytest_plugin.py" not in done.stdout


ASYNC = """
import pytest

@pytest.mark.each_task(worker=2)
async def test_a():
    pass
"""


def test_an_async_test_fails_where_no_plugin_runs_it(tmp_path):
    done = users_pytest(tmp_path, ASYNC)
    assert "2 failed" in done.stdout, done.stdout
