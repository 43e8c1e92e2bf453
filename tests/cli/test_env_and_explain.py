"""`clustersim env` and `clustersim explain`."""

import json
import subprocess

import pytest
from click.testing import CliRunner

from clustersim.cli import main
from clustersim.cluster.lint import lint_tf_config
from clustersim.cluster.rules import RULES
from clustersim.cluster.tf_config import TFConfig
from clustersim.errors import CODES

SLURM = {
    "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_PROCID": "1",
}


def call(*arguments, **environ):
    env = {"TF_CONFIG": None, **environ}
    return CliRunner().invoke(main, list(map(str, arguments)), env=env)


def test_a_shell_reads_what_export_prints():
    line = call("env", "--chief", "1", "--worker", "2", "--task", "worker:1").output
    done = subprocess.run(
        ["bash", "-c", f'{line}printf %s "$TF_CONFIG"'], capture_output=True, text=True, check=True
    )
    config = TFConfig.parse(done.stdout)
    assert str(config.task) == "worker:1"
    assert len(config.cluster.tasks()) == 3


@pytest.mark.parametrize("style", ["json", "dotenv"])
def test_every_format_round_trips_without_an_error(style):
    done = call(
        "env", "--worker", "2", "--ps", "1", "--chief", "1", "--task", "ps:0", "--format", style
    )
    text = done.output.removeprefix("TF_CONFIG=")
    assert not lint_tf_config(text).errors
    assert TFConfig.parse(text).task.type == "ps"


def test_all_prints_one_for_each_task_with_the_evaluator_in_its_own():
    lines = call("env", "--worker", "2", "--evaluator", "1", "--all", "--format", "dotenv").output
    values = [json.loads(one[10:]) for one in lines.splitlines() if one.startswith("TF_CONFIG=")]
    assert ["evaluator" in value["cluster"] for value in values] == [False, False, True]


def test_a_cluster_file_says_the_same(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text('[cluster]\nworker = 2\nps = ["localhost:7"]\n')
    done = call("env", "-f", path, "--task", "ps:0", "--format", "dotenv")
    assert json.loads(done.output[10:])["cluster"]["ps"] == ["localhost:7"]


@pytest.mark.parametrize(
    ("dialect", "environ", "index", "addresses"),
    [
        ("slurm", SLURM, 1, ["n1:8888", "n2:8888"]),
        (
            "sagemaker",
            {"SM_HOSTS": '["algo-1", "algo-2"]', "SM_CURRENT_HOST": "algo-2"},
            1,
            ["algo-1:2223", "algo-2:2223"],
        ),
        (
            "torch",
            {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "29500"},
            0,
            ["h:29501", "h:29502"],
        ),
        (
            "k8s",
            {
                "JOB_NAME": "j",
                "SERVICE": "s",
                "JOB_COMPLETIONS": "2",
                "JOB_COMPLETION_INDEX": "1",
            },
            1,
            ["j-0.s:2222", "j-1.s:2222"],
        ),
    ],
)
def test_another_platforms_words_are_understood(dialect, environ, index, addresses):
    done = call("env", "--from", dialect, "--format", "json", **environ)
    value = json.loads(done.output)
    assert value["cluster"]["worker"] == addresses
    assert value["task"] == {"type": "worker", "index": index}
    assert not lint_tf_config(done.output).errors


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--worker", "2"], "Name a task with --task"),
        (["--task", "worker:0"], "The cluster is empty"),
        (["--worker", "2", "--task", "worker:2"], "is not in this cluster"),
        (["--worker", "2", "--task", "worker"], "job, colon, index"),
        (["--from", "slurm"], "SLURM_STEP_NODELIST"),
        (["-f", "none.toml", "--all"], "cannot be read"),
    ],
)
def test_what_is_wrong_is_said_with_exit_code_2(arguments, says):
    done = call("env", *arguments)
    assert done.exit_code == 2
    assert says in done.output


SEED = {"worker": ["localhost:12345", "localhost:23456"], "ps": ["localhost:34567"]}


def explained(task, index, cluster=None):
    value = {"cluster": cluster or SEED, "task": {"type": task, "index": index}}
    return call("explain", TF_CONFIG=json.dumps(value)).output


def test_a_worker_learns_who_saves_and_whom_it_waits_for():
    text = explained("worker", 1)
    assert "You are worker:1 of 3 tasks (worker:0, worker:1, ps:0)." in text
    assert "You are not the chief: worker:0 is" in text
    assert "2 replicas, you are replica 1" in text
    assert "waits for worker:0 at localhost:12345" in text


def test_each_role_is_told_what_it_is():
    assert "You are the chief" in explained("worker", 0)
    assert "You serve" in explained("ps", 0)
    assert "You evaluate" in explained("evaluator", 0)
    assert "Strategies refuse" in explained("master", 0, {"master": ["a:1"]})
    assert "you coordinate" in explained("chief", 0, {"chief": ["c:1"], **SEED})
    assert "works alone" in call("explain").output


def test_the_trial_of_a_search_is_said():
    value = {"cluster": SEED, "task": {"type": "worker", "index": 1, "trial": "7"}}
    assert "Trial 7 of a search" in call("explain", TF_CONFIG=json.dumps(value)).output
    assert "rial" not in explained("worker", 1)


def test_a_broken_value_is_refused_with_its_finding():
    done = call("explain", TF_CONFIG="{'cluster': {}}")
    assert done.exit_code == 2
    assert "single quotes" in done.output


@pytest.mark.parametrize("code", [*RULES, *CODES])
def test_every_code_is_explained(code):
    done = call("explain", code.lower())
    assert done.exit_code == 0
    assert done.output.startswith(f"{code}: ")


def test_an_unknown_code_is_wrong_usage():
    assert call("explain", "TFC999").exit_code == 2


def test_another_platforms_place_is_explained():
    assert "You are worker:1 of 2 tasks" in call("explain", "--from", "slurm", **SLURM).output
    assert call("explain", "--from", "slurm").exit_code == 2
