"""`ComposeCluster` and `run --engine compose`, with a stand-in for the engine's commands."""

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from clustersim import ClusterSpec, StartError, UsageError
from clustersim.engines.compose import ComposeCluster, within
from clustersim.errors import SupervisorLost

pytestmark = pytest.mark.process

HELLO = """
import json, os, sys
task = json.loads(os.environ["TF_CONFIG"])["task"]
print(f"{task['type']} {task['index']} in {os.environ['CLUSTERSIM_LISTEN']}", *sys.argv[1:], flush=True)
print("to stderr", file=sys.stderr)
"""

REPORTS = """
import os, sys, time
from clustersim.runtime.report import Report
report = Report(int(os.environ["CLUSTERSIM_REPORT_FD"]))
sys.stderr.write("half a "); sys.stderr.flush()
report.write("serving", address="x")
sys.stderr.write("line\\n"); sys.stderr.flush()
report.write("joined", generation=1, replicas=2)
report.write("step", step=7, where="train.py:9")
if len(sys.argv) > 1: time.sleep(float(sys.argv[1]))
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A folder to run in, and a `docker` that starts processes; returns the folder it writes to."""
    state, work, bin_ = (tmp_path / name for name in ("state", "work", "bin"))
    for folder in (state, work, bin_):
        folder.mkdir()
    cli = Path(__file__).with_name("docker_cli.py")
    docker = bin_ / "docker"
    docker.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(cli))} "$@"\n'
    )
    docker.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_), prepend=os.pathsep)
    monkeypatch.setenv("DOCKER_CLI_STATE", str(state))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.chdir(work)
    return state


def script(text, name="train.py"):
    Path(name).write_text(text)
    return name


def run(*words):
    return subprocess.run(
        [sys.executable, "-m", "clustersim", "run", "--engine", "compose", *words],
        capture_output=True,
        text=True,
        timeout=25,
        check=False,
    )


def calls(engine):
    return [json.loads(line) for line in (engine / "calls").read_text().splitlines()]


def test_output_has_prefixes_and_streams_and_the_run_its_verdict(engine):
    done = run("--worker", "1", "--ps", "1", "--env", "X=$HOME", script(HELLO), "--a", "$b 'c'")
    assert done.returncode == 0, done.stderr
    lines = set(done.stdout.splitlines())
    assert lines == {"worker:0 | worker 0 in own --a $b 'c'", "ps:0     | ps 0 in own --a $b 'c'"}
    assert "worker:0 | to stderr" in done.stderr.splitlines()
    assert "done     2 tasks" in done.stderr
    assert (engine / "down").exists()


def test_nothing_is_pulled_or_built(engine):
    run(script(HELLO))
    assert not [words for words in calls(engine) if {"pull", "build", "--build"} & set(words)]


def test_reports_come_on_stderr_and_are_not_shown(engine):
    with ComposeCluster(script(REPORTS), args=["20"], grace_s=1.0) as cluster:
        cluster.wait_ready(timeout_s=20)
        assert set(cluster.states().values()) == {"ready"}
        cluster.stop()
        result = cluster.wait(timeout_s=20)
        assert result.tasks["worker:0"].step == 7
        assert cluster["worker:0"].log_tail() == ["half a line"]
    assert (result.exit_code, cluster.is_over()) == (143, True)


def test_a_program_that_does_not_report_is_ready_when_it_is_healthy(engine):
    with ComposeCluster(script("import time; time.sleep(20)"), grace_s=0.5) as cluster:
        cluster.wait_ready(timeout_s=20)


def test_the_first_failure_ends_the_others_and_gives_its_code(engine):
    program = HELLO + "import time\nif task['index'] == 1: sys.exit(5)\ntime.sleep(20)\n"
    done = run("--grace", "1", script(program))
    assert done.returncode == 5
    assert "failed   worker:1 left with code 5 (first failure)" in done.stderr
    assert "then we stopped worker:0" in done.stderr
    assert (engine / "down").exists()


def test_a_killed_task_died_of_a_signal_whatever_number_the_engine_gives_it(engine):
    with ComposeCluster(script(REPORTS), args=["20"], grace_s=1.0) as cluster:
        cluster.wait_ready(timeout_s=20)
        cluster["worker:1"].pause()
        cluster["worker:1"].resume()
        cluster["worker:1"].kill()
        result = cluster.wait(timeout_s=20)
    assert (result.root, result.first_failure.exit_code, result.exit_code) == ("worker:1", -9, 137)
    verbs = [words[0] for words in calls(engine)]
    assert verbs.count("pause") == verbs.count("unpause") == 1


def test_containers_of_a_dead_supervisor_are_taken_away(engine):
    with ComposeCluster(script(REPORTS), args=["20"]) as cluster:
        cluster.wait_ready(timeout_s=20)
        cluster._supervisor.kill()
        with pytest.raises(SupervisorLost):
            cluster.wait(timeout_s=20)
        assert (engine / "down").exists()


def is_running(pid):
    """Whether the process is there, and no corpse that nobody collects."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_killed_runs_left_is_taken_away_by_the_next(engine):
    words = [sys.executable, "-m", "clustersim", "run", "--engine", "compose", "-n", "2"]
    killed = subprocess.Popen(
        [*words, "--json", script(REPORTS), "30"], stdout=subprocess.PIPE, text=True
    )
    supervisor = None
    for line in killed.stdout:
        event = json.loads(line)
        if event["ev"] == "state" and supervisor is None:
            supervisor = psutil.Process(event["pid"]).parent()
        if event["ev"] == "ready":
            break
    left = [int(one.read_text()) for one in engine.glob("*.pid")]
    killed.kill()  # both at once: nobody is left to take the containers away
    supervisor.kill()
    killed.communicate(timeout=10)
    assert len(left) == 2
    assert all(map(is_running, left))
    done = run("-n", "1", script(HELLO, "hello.py"))
    assert done.returncode == 0, done.stderr
    assert "note     2 containers of runs that were killed are taken away" in done.stderr
    assert not any(map(is_running, left))
    assert not list(engine.glob("network"))


def test_a_network_without_room_is_refused_in_a_dry_run_too(engine):
    done = run("--subnet", "198.18.0.0/30", "--dry-run", script(HELLO))
    assert done.returncode == 2
    assert "has addresses for 1 tasks, but there are 2" in done.stderr


def test_what_the_engine_refuses_is_told_in_its_words(engine):
    (engine / "broken-ps").write_text("the disk is full")
    done = run(script(HELLO))
    assert done.returncode == 69
    assert done.stderr.splitlines()[-1] == (
        "error CSE208  The engine says: Error response from daemon: the disk is full"
    )
    assert (engine / "down").exists()


def test_what_could_not_be_taken_away_is_said_with_the_command_that_does(engine):
    seen = []
    with ComposeCluster(script(REPORTS), args=["1"], on_event=seen.append) as cluster:
        cluster.wait_ready(timeout_s=20)
        (engine / "broken-compose").write_text("the engine is gone")
        cluster.wait(timeout_s=20)
    (text,) = [one["text"] for one in seen if one["ev"] == "message" and one["task"] == "engine"]
    assert "the engine is gone" in text
    assert "down --volumes" in text


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--image", "nowhere:1", "train.py"], 69, "CSE209  The image nowhere:1 is not on this"),
        (["--memory", "lots", "train.py"], 2, "--memory is 'lots'"),
        (["--memory", "3m", "train.py"], 2, "--memory is '3m'"),
        (["--cpus", "0", "train.py"], 2, "--cpus is 0"),
        (["--publish", "70000", "train.py"], 2, "--publish is 70000"),
        (["--subnet", "8.8.8.0/24", "train.py"], 2, "public internet"),
        (["--subnet", "198.18.0.1/24", "train.py"], 2, "has host bits set"),
        (["--image", "-x", "train.py"], 2, "--image is '-x'"),
        (["--env", "X", "train.py"], 2, "--env 'X' is no setting"),
        (["--env", "TF_CONFIG={}", "train.py"], 2, "each task gets its own"),
        (["--listen", "own", "train.py"], 2, "Leave them out with --engine compose"),
        (["none.py"], 69, "No such script: none.py"),
        (["/etc/hostname"], 69, ""),
    ],
)
def test_wrong_input_is_one_line_and_leaves_nothing(engine, words, code, says):
    script(HELLO)
    done = run(*words)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (code, "")
    assert line.startswith("error CSE")
    assert says in line
    assert not (engine / "calls").exists() or "up" not in str(calls(engine))


def test_a_port_that_is_taken_is_refused_before_anything_is_made(engine):
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        done = run("--publish", str(owner.getsockname()[1]), script(HELLO))
    assert done.returncode == 69
    assert "error CSE203" in done.stderr
    assert "cannot be published" in done.stderr


def test_limits_of_containers_are_refused_for_processes(engine):
    script(HELLO)
    done = subprocess.run(
        [sys.executable, "-m", "clustersim", "run", "--image", "x", "train.py"],
        capture_output=True, text=True, timeout=25, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--image is for containers. Add --engine compose" in done.stderr


def test_without_docker_or_with_a_dead_engine_it_says_so(engine, monkeypatch):
    (engine / "broken-version").write_text("Cannot connect to the Docker daemon.")
    with pytest.raises(StartError, match=r"No container engine answers: .*Cannot connect"):
        ComposeCluster(script(HELLO)).start()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(StartError, match="`docker` is not installed"):
        ComposeCluster(script(HELLO)).start()


def test_without_compose_it_says_so(engine, monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(os.pathsep)[0])
    (engine / "broken-compose").write_text("'compose' is not a docker command")
    with pytest.raises(StartError, match="Docker Compose is not installed"):
        ComposeCluster(script(HELLO)).start()


def test_addresses_are_refused(engine):
    with pytest.raises(UsageError, match="Give counts instead of addresses"):
        ComposeCluster(script(HELLO), ClusterSpec({"worker": ["localhost:1"]})).start()


def test_the_script_is_named_as_containers_see_it(tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "x.py").touch()
    tmp_path.chmod(0o755)
    assert within(tmp_path, (str(tmp_path / "a b" / "x.py"), "--y")) == ("a b/x.py", "--y")
    assert within(tmp_path, ("-m", "package.module")) == ("-m", "package.module")
    with pytest.raises(StartError, match="is not below"):
        within(tmp_path / "a b", (str(tmp_path / "y.py"),))


@pytest.mark.skipif(
    os.getuid() != 0, reason="another user is the container's user, and can read it"
)
def test_a_script_that_only_root_can_read_is_refused(tmp_path):
    (tmp_path / "x.py").touch(mode=0o600)
    tmp_path.chmod(0o755)
    with pytest.raises(StartError, match=r"x\.py can be read by root only"):
        within(tmp_path, (str(tmp_path / "x.py"),))
    tmp_path.chmod(0o700)
    with pytest.raises(StartError, match="can be read by root only"):
        within(tmp_path, ("-m", "package.module"))
