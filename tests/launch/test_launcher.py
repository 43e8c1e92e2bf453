"""Ports, TF_CONFIGs and environments of tasks."""

import json
import socket

import pytest

from clustersim.cluster.spec import ClusterSpec, Task
from clustersim.errors import StartError
from clustersim.launch.containers import last_words
from clustersim.launch.launcher import Reservation, Surroundings, environment, place
from clustersim.launch.plan import RunPlan, tf_config
from clustersim.launch.sockets import listening_ports

SPEC = ClusterSpec({"worker": ["localhost:1", "localhost:2"], "ps": ["localhost:3"]})


@pytest.fixture
def reservation():
    held = Reservation()
    yield held
    held.close()


def plan(**changes):
    values = {"folder": "/nowhere", "name": "0001", "cluster": SPEC.as_dict(), "command": ("x",)}
    return RunPlan(**{**values, **changes})


def env_of(task, base=None, num_cores=8, **changes):
    around = Surroundings(plan=plan(**changes), cluster_id="cookie", num_cores=num_cores)
    return environment(SPEC, task, around, base or {})


def test_a_plan_reads_back_what_it_wrote():
    assert RunPlan.from_json(plan(timeout_s=3.0).to_json()) == plan(timeout_s=3.0)


def test_each_task_is_told_its_own_place():
    config = json.loads(env_of(Task("worker", 1))["TF_CONFIG"])
    assert config == {"cluster": SPEC.as_dict(), "task": {"type": "worker", "index": 1}}


def test_only_the_evaluators_own_map_lists_it():
    spec = ClusterSpec({**SPEC.as_dict(), "evaluator": ["localhost:4"]})
    assert "evaluator" not in tf_config(spec, Task("worker", 0)).cluster.jobs
    assert "evaluator" in tf_config(spec, Task("evaluator", 0)).cluster.jobs


def test_cores_are_divided_among_tasks_unless_it_is_said_otherwise():
    assert env_of(Task("ps", 0))["OMP_NUM_THREADS"] == "2"
    assert env_of(Task("ps", 0), num_cores=1)["OMP_NUM_THREADS"] == "1"
    assert env_of(Task("ps", 0), num_threads=5)["OMP_NUM_THREADS"] == "5"
    assert env_of(Task("ps", 0), {"OMP_NUM_THREADS": "7"})["OMP_NUM_THREADS"] == "7"


def test_a_proxy_does_not_catch_loopback():
    env = env_of(Task("worker", 0), {"no_proxy": "example.com"})
    assert env["no_proxy"] == "example.com,localhost,127.0.0.1,::1"
    assert env["no_grpc_proxy"] == "localhost,127.0.0.1,::1"


def test_a_ps_gets_no_gpu_unless_one_was_given():
    assert env_of(Task("ps", 0))["CUDA_VISIBLE_DEVICES"] == ""
    assert env_of(Task("ps", 0), {"CUDA_VISIBLE_DEVICES": "1"})["CUDA_VISIBLE_DEVICES"] == "1"
    assert "CUDA_VISIBLE_DEVICES" not in env_of(Task("worker", 0))


def test_a_map_that_no_variable_can_hold_is_refused():
    spec = ClusterSpec({"worker": [f"host-{i}:2222" for i in range(10_000)]})
    around = Surroundings(plan=plan(), cluster_id="", num_cores=1)
    with pytest.raises(StartError, match="more than one environment variable holds"):
        environment(spec, Task("worker", 0), around, {})


def test_ports_are_held_for_both_families_and_nobody_else_gets_them(reservation):
    placed = place(ClusterSpec(worker=20), reservation)
    ports = [placed.address(task).port for task in placed]
    assert len(set(ports)) == 20
    for _ in range(200):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            assert other.getsockname()[1] not in ports
    with socket.socket() as thief, pytest.raises(OSError, match="in use"):
        thief.bind(("127.0.0.1", ports[0]))


def test_a_port_that_is_held_can_be_bound_by_the_task(reservation):
    port = reservation.take()
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        assert port not in listening_ports()
        server.listen()
        assert port in listening_ports()


def test_a_port_that_was_chosen_and_is_taken_names_its_owner(reservation):
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        spec = ClusterSpec({"worker": [f"localhost:{owner.getsockname()[1]}"]})
        with pytest.raises(StartError, match=r"already in use by process \d+") as caught:
            place(spec, reservation)
    assert caught.value.code == "CSE203"


def test_a_host_that_is_not_this_machine_is_refused(reservation):
    with pytest.raises(StartError, match="not on this machine's loopback"):
        place(ClusterSpec({"worker": ["example.com:2222"]}), reservation)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "Creating x ... error\n\nERROR: for x  Range of CPUs\nEncountered errors while bringing up.",
            "ERROR: for x  Range of CPUs",
        ),
        (
            "Cannot connect. Is the docker daemon running?\n",
            "Cannot connect. Is the docker daemon running?",
        ),
        ("Error response from daemon: no\nUse --help", "Error response from daemon: no"),
        ("", "nothing, but it failed."),
    ],
)
def test_of_what_docker_says_the_reason_is_told(said, reason):
    assert last_words(said) == reason
