"""TF_CONFIGs in files of many kinds, and other platforms' lists."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.cluster.dialects import expand_counts, expand_hosts, from_sagemaker, from_slurm
from clustersim.cluster.lint import lint_tf_config
from clustersim.cluster.sources import from_file, from_files
from clustersim.errors import UsageError

TEXT = json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})


def found(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return {one.place: one.text for one in from_file(path)}


def test_a_compose_file_in_either_form(tmp_path):
    text = f"""
services:
  one:
    environment:
      TF_CONFIG: '{TEXT}'
  two:
    environment:
      - 'TF_CONFIG={TEXT}'
"""
    assert found(tmp_path, "docker-compose.yml", text) == {"service one": TEXT, "service two": TEXT}


def test_a_pod_manifest(tmp_path):
    text = f"""
kind: Pod
spec:
  containers:
    - name: train
      env:
        - name: TF_CONFIG
          value: '{TEXT}'
"""
    assert list(found(tmp_path, "pod.yaml", text).values()) == [TEXT]


def test_a_cluster_file_gives_every_task(tmp_path):
    names = found(tmp_path, "cluster.toml", "[cluster]\nworker = 2\nps = 1\n")
    assert list(names) == ["worker:0", "worker:1", "ps:0"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.toml", "x =", "is not TOML"),
        ("a.toml", "[other]", "has no table"),
        ("a.toml", "[cluster]\nworker = 'x'", "Give a count"),
        ("a.yml", "a: [", "is not YAML"),
        ("a.yml", "a: 1", "sets TF_CONFIG nowhere"),
    ],
)
def test_a_file_without_one_is_named(tmp_path, name, text, says):
    with pytest.raises(UsageError, match=says):
        found(tmp_path, name, text)


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("n[1-3,5],login", ["n1", "n2", "n3", "n5", "login"]),
        ("n[08-10]x", ["n08x", "n09x", "n10x"]),
    ],
)
def test_slurms_host_lists(text, hosts):
    assert expand_hosts(text) == hosts


def test_slurms_task_counts():
    assert expand_counts("2(x3),1") == [2, 2, 2, 1]
    with pytest.raises(UsageError, match="no list of task counts"):
        expand_counts("two")


@pytest.mark.parametrize(
    ("read", "environ", "says"),
    [
        (from_slurm, {}, "is not set"),
        (
            from_slurm,
            {"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "1", "SLURM_PROCID": "0"},
            "2 nodes and 1 task counts",
        ),
        (
            from_slurm,
            {"SLURM_JOB_NODELIST": "a", "SLURM_TASKS_PER_NODE": "1", "SLURM_PROCID": "x"},
            "not a number",
        ),
        (
            from_slurm,
            {"SLURM_JOB_NODELIST": "a", "SLURM_TASKS_PER_NODE": "1", "SLURM_PROCID": "4"},
            "process 4 of 1",
        ),
        (from_sagemaker, {"SM_HOSTS": '["a"]', "SM_CURRENT_HOST": "b"}, "not in SM_HOSTS"),
    ],
)
def test_a_platform_that_does_not_say_enough_is_an_error(read, environ, says):
    with pytest.raises(UsageError, match=says):
        read(environ)


# -- scripts, env files, programs ---------------------------------------------------------------

BAD = TEXT.replace('"worker", "index"', '"wroker", "index"')
DUMPED = "json.dumps({'cluster': {'worker': ['a:1']}, 'task': {'type': 'wroker', 'index': 0}})"


def values(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return [one.text for one in from_file(path)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", f"export TF_CONFIG='{TEXT}'\npython train.py\n"),
        ("run.sh", f"env A=b TF_CONFIG='{TEXT}' python train.py\n"),
        ("run.sh", f"TF_CONFIG='{TEXT}' \\\n  python train.py &\n"),
        ("run.sh", f"docker run -e TF_CONFIG='{TEXT}' image  # said\n"),
        ("run.sh", f"docker run --env=TF_CONFIG='{TEXT}' image\n"),
        ("run.sh", 'export TF_CONFIG="' + TEXT.replace('"', '\\"') + '"\n'),
        ("run.sh", f"export TF_CONFIG=$(cat <<'EOF'\n{TEXT}\nEOF\n)\n"),
        ("run.sh", f"read -r -d '' TF_CONFIG <<'EOF'\n{TEXT}\nEOF\n"),
        ("run.sh", f"cat > w.env <<EOF\nTF_CONFIG={TEXT}\nEOF\n"),
        ("run.sh", f"python - <<'EOF'\nimport os\nos.environ['TF_CONFIG'] = '{TEXT}'\nEOF\n"),
        ("run.sh", "ssh h \"export TF_CONFIG='" + TEXT.replace('"', '\\"') + "'; python t.py\"\n"),
        ("run.csh", f"setenv TF_CONFIG '{TEXT}'\n"),
        ("run", f"#!/bin/sh\nexport TF_CONFIG='{TEXT}'\n"),
        ("run.ps1", f"$env:TF_CONFIG = '{TEXT}'\npython t.py\n"),
        ("run.bat", f"set TF_CONFIG={TEXT}\n"),
        (".env", f"A=b\nTF_CONFIG={TEXT}\n"),
        ("w.env", f"TF_CONFIG='{TEXT}'\n"),
        ("Dockerfile", f"FROM x\nENV A=b \\\n    TF_CONFIG='{TEXT}'\n"),
        ("Dockerfile.gpu", f"FROM x\nENV TF_CONFIG '{TEXT}'\n"),
        ("t.py", f"import os\nos.environ['TF_CONFIG'] = '{TEXT}'\n"),
        ("t.py", f"os.environ.setdefault('TF_CONFIG', '{TEXT}')\n"),
        ("t.py", f"def f(monkeypatch):\n    monkeypatch.setenv('TF_CONFIG', '{TEXT}')\n"),
        ("t.py", f"subprocess.run(a, env={{'TF_CONFIG': '{TEXT}'}})\n"),
        ("t.py", f"e = dict(os.environ, TF_CONFIG='{TEXT}')\n"),
        ("t.py", f"os.environ['TF_CONFIG'] = json.dumps({TEXT})\n"),
        ("t.py", f"c = {TEXT}\nprint(c)\nos.environ['TF_CONFIG'] = json.dumps(c)\n"),
        ("t.py", f"c = {TEXT.replace('0}', '7}')}\nc['task']['index'] = 0\nos.environ['TF_CONFIG'] = json.dumps(c)\n"),
        ("t.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": [f"%env TF_CONFIG={TEXT}"]}]})),
        ("job.yaml", f"steps:\n  - env:\n      TF_CONFIG: '{TEXT}'\n"),
        ("pod.json", json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
            "containers": [{"name": "c", "env": [{"name": "TF_CONFIG", "value": TEXT}]}]}}, indent=1)),
    ],
)  # fmt: skip
def test_what_sets_it_is_read_as_it_would_be_set(tmp_path, name, text):
    assert values(tmp_path, name, text) == [TEXT]


@pytest.mark.parametrize("style", ["export", "dotenv", "json", "docker"])
def test_what_env_prints_for_all_tasks_can_be_read_again(tmp_path, style):
    from click.testing import CliRunner

    from clustersim.cli import main

    printed = CliRunner().invoke(
        main, ["env", "--worker", "2", "--ps", "1", "--all", "--format", style]
    )
    read = [json.loads(one) for one in values(tmp_path, "printed", printed.output)]
    assert [(one["task"]["type"], one["task"]["index"]) for one in read] == [
        ("worker", 0), ("worker", 1), ("ps", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("run.sh", f"\nexport TF_CONFIG='{BAD}'\n", 2, 19 + BAD.index('"wroker')),
        ("w.env", f"# a\nTF_CONFIG={BAD}\n", 2, 11 + BAD.index('"wroker')),
        ("t.py", f"import os\nos.environ['TF_CONFIG'] = {DUMPED}\n", 2, 27 + DUMPED.index("'wroker")),
        ("a.yml", f"services:\n  w:\n    environment:\n      TF_CONFIG: |\n        {BAD}\n", 5, 9 + BAD.index('"wroker')),
    ],
)  # fmt: skip
def test_a_fault_stands_where_the_file_has_it(tmp_path, name, text, line, column):
    path = tmp_path / name
    path.write_text(text)
    (source,) = from_file(path)
    (found,) = (f for f in lint_tf_config(source.text).findings if f.rule == "TFC101")
    moved = source.origin.moved(found, source.text)
    assert (moved.line, moved.column) == (line, column)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("run.sh", "export TF_CONFIG=$(python make.py)\n"),
        ("run.sh", 'export TF_CONFIG="$1"\n'),
        ("t.py", "os.environ['TF_CONFIG'] = make(sys.argv)\n"),
        (
            "t.py",
            "for i in range(2):\n    os.environ['TF_CONFIG'] = json.dumps({'task': {'index': i}})\n",
        ),
        ("t.py", "c = {}\nchange(c)\nos.environ['TF_CONFIG'] = json.dumps(c)\n"),
        ("t.py", "c = {}\nif a:\n    c['x'] = 1\nos.environ['TF_CONFIG'] = json.dumps(c)\n"),
        ("a.yml", "services: {w: {environment: {TF_CONFIG: '${TF_CONFIG}'}}}\n"),
        ("a.yml", "services: {w: {environment: [TF_CONFIG]}}\n"),
    ],
)
def test_what_only_a_run_can_know_is_said_to_be_so(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    found = from_files([str(path)])
    assert found.sources == []
    assert len(found.unread) == 1


def test_what_a_shell_fills_in_is_told_from_what_it_does_not(tmp_path):
    (live,) = from_file_of(tmp_path, 'export TF_CONFIG="{\\"task\\": $I}"\n')
    assert {live.text[at] for at in live.filled_in} == {"$"}
    (dead,) = from_file_of(tmp_path, "export TF_CONFIG='{\"task\": $I}'\n")
    assert dead.filled_in == frozenset()


def from_file_of(tmp_path, text):
    path = tmp_path / "run.sh"
    path.write_text(text)
    return from_file(path)


def test_an_anchor_that_holds_itself_ends(tmp_path):
    assert values(tmp_path, "a.yaml", f"a: &a\n  b: *a\n  TF_CONFIG: '{TEXT}'\n") == [TEXT]


@given(st.text(alphabet="TF_CONFIG= '\"\\${}()`<EOF\n#|&;:-[],aenvxport", max_size=80))
def test_no_script_makes_it_crash_or_loop(text):
    from clustersim.cluster.shell_text import dockerfile, dotenv, heredocs, script

    for read in (script, dotenv, dockerfile):
        read("f", "TF_CONFIG=" + text)
    list(heredocs(text))
