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
