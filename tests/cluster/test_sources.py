"""TF_CONFIGs in files of many kinds, and other platforms' lists."""

import json

import pytest

from clustersim.cluster.dialects import expand_counts, expand_hosts, from_sagemaker, from_slurm
from clustersim.cluster.sources import from_file
from clustersim.errors import UsageError

TEXT = json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})


def found(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return {one.name.rpartition("#")[2]: one.text for one in from_file(path)}


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
    assert found(tmp_path, "docker-compose.yml", text) == {"one": TEXT, "two": TEXT}


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
