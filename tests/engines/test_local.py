"""`LocalCluster`, as a test or a notebook uses it."""

import pytest

import clustersim as cs

pytestmark = pytest.mark.process

FOREIGN = """
import json, os, socket, sys, time
config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
host, port = config["cluster"][task["type"]][task["index"]].split(":")
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((host, int(port)))
server.listen()
print(task["type"], task["index"], "serves", *sys.argv[1:], flush=True)
time.sleep(60)
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "foreign.py"
    path.write_text(FOREIGN)
    return path


@pytest.fixture
def cluster(script):
    with cs.LocalCluster(script, cs.ClusterSpec(worker=2, ps=1), args=["--x"], grace_s=1.0) as run:
        run.wait_ready(timeout_s=20)
        yield run


def test_it_is_ready_and_says_so_in_one_line(cluster):
    assert cluster.states() == dict.fromkeys(["worker:0", "worker:1", "ps:0"], "ready")
    assert "worker:1 ready" in repr(cluster)
    assert "\n" not in repr(cluster)
    assert "<td>worker:1</td>" in cluster._repr_html_()


def test_one_task_can_be_killed_and_the_run_fails_with_its_name(cluster):
    cluster["worker:1"].kill()
    result = cluster.wait(timeout_s=20)
    assert (result.ok, result.exit_code, result.root) == (False, 137, "worker:1")
    assert result.first_failure.exit_code == -9
    with pytest.raises(cs.TaskFailed, match="worker:1 died of SIGKILL") as caught:
        result.raise_for_status()
    assert (caught.value.task, caught.value.signal) == ("worker:1", "SIGKILL")
    assert caught.value.log.endswith("worker-1.log")


def test_a_paused_task_goes_on_when_it_is_resumed(cluster):
    cluster["worker:0"].pause()
    cluster["worker:0"].resume()
    assert cluster["worker:0"].log_tail() == ["worker 0 serves --x"]


def test_waiting_ends_with_its_limit_and_names_who_runs(cluster):
    with pytest.raises(cs.TimedOut, match="is not over after") as caught:
        cluster.wait(timeout_s=0.1)
    assert set(caught.value.waiting_for) == {"worker:0", "worker:1", "ps:0"}


def test_an_unknown_task_is_a_key_error(cluster):
    with pytest.raises(KeyError, match="worker:7"):
        cluster["worker:7"]


def test_closing_twice_and_stopping_afterwards_do_no_harm(script):
    run = cs.LocalCluster(script, grace_s=1.0)
    run.start()
    run.wait_ready(timeout_s=20)
    run.close()
    run.close()
    run.stop()
    assert run.wait(timeout_s=1).exit_code == 143


def test_a_run_that_ends_before_it_is_ready_says_who_was_missing(script):
    script.write_text("import sys; sys.exit(4)")
    with cs.LocalCluster(script) as run, pytest.raises(cs.NotReady) as caught:
        run.wait_ready(timeout_s=20)
    assert set(caught.value.missing) == {"worker:0", "worker:1"}


def test_given_addresses_are_used(script):
    from tests.runtime.test_server import free_port

    spec = cs.ClusterSpec({"worker": [f"localhost:{free_port()}"]})
    with cs.LocalCluster(script, spec, grace_s=1.0) as run:
        run.wait_ready(timeout_s=20)
        assert "localhost" in run._repr_html_()


def test_an_address_that_is_taken_is_refused(script):
    import socket

    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        spec = cs.ClusterSpec({"worker": [f"localhost:{owner.getsockname()[1]}"]})
        with (
            cs.LocalCluster(script, spec) as run,
            pytest.raises(cs.StartError, match="already in use"),
        ):
            run.wait(timeout_s=20)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda path: cs.LocalCluster(path.with_name("none.py")), cs.StartError),
        (lambda path: cs.LocalCluster(path, cs.ClusterSpec(ps=1)), cs.UsageError),
    ],
)
def test_what_cannot_be_started_is_refused_at_the_start(script, make, error):
    with pytest.raises(error):
        make(script).start()


def test_every_event_is_handed_on(script):
    seen = []
    script.write_text("print('hello')")
    with cs.LocalCluster(script, on_event=seen.append) as run:
        assert run.wait(timeout_s=20).ok
    assert (seen[0]["ev"], seen[-1]["ev"]) == ("run", "end")
    assert sum(event["ev"] == "log" for event in seen) == 2


def test_a_listener_that_raises_does_not_hold_the_run(script, caplog):
    def listener(_event):
        raise RuntimeError("the listener is broken")

    script.write_text("print('hello')")
    with cs.LocalCluster(script, on_event=listener) as run:
        assert run.wait(timeout_s=20).ok
    assert [record.message for record in caplog.records].count(
        "on_event raised; the run goes on without it"
    ) == 1
