"""Resolvers of other platforms; what they answer was recorded from TensorFlow 2.21."""

import os
from types import SimpleNamespace

import pytest

from clustersim.cluster.platform_resolvers import (
    KubernetesClusterResolver,
    SageMakerClusterResolver,
    SlurmClusterResolver,
)

SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_NODELIST": "t02n[13-14]",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
}


@pytest.fixture
def slurm(monkeypatch):
    def set_variables(**changes):
        for name in (*SLURM, "CUDA_VISIBLE_DEVICES"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {**SLURM, **changes}.items():
            monkeypatch.setenv(name, value)

    set_variables()
    return set_variables


def test_slurm_all_are_workers_and_ports_count_on_within_a_node(slurm):
    resolver = SlurmClusterResolver()
    assert resolver.get_task_info() == (None, None)
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["t02n13:8888", "t02n13:8889", "t02n14:8888"]
    }
    assert resolver.get_task_info() == ("worker", 2)
    assert resolver.master() == "grpc://t02n14:8888"
    assert resolver.master("worker", 0, rpc_layer="x") == "x://t02n13:8888"


def test_slurm_jobs_are_dealt_out_by_name_and_gpus_by_task(slurm):
    resolver = SlurmClusterResolver(
        jobs={"worker": 2, "ps": 1},
        gpus_per_node=4,
        gpus_per_task=2,
        tasks_per_node={"b": 2, "a": 1},
    )
    assert resolver.cluster_spec().as_dict() == {
        "ps": ["a:8888"],
        "worker": ["b:8888", "b:8889"],
    }
    assert resolver.get_task_info() == ("worker", 1)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert resolver.num_accelerators() == {"GPU": 2}


def test_slurm_gpus_are_those_that_are_visible(slurm):
    slurm(CUDA_VISIBLE_DEVICES="0,1,2,3")
    resolver = SlurmClusterResolver(auto_set_gpu=False)
    assert resolver.num_accelerators() == {"GPU": 2}
    resolver.cluster_spec()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"jobs": {"worker": 5}}, "has 5 tasks, but Slurm assigned 3"),
        ({"gpus_per_node": 1, "gpus_per_task": 1}, "want 1 GPUs each, and it has 1"),
    ],
)
def test_slurm_what_does_not_fit_is_a_runtime_error(slurm, arguments, says):
    with pytest.raises(RuntimeError, match=says):
        SlurmClusterResolver(**arguments)


def test_slurm_outside_of_a_step_is_a_runtime_error(slurm, monkeypatch):
    monkeypatch.delenv("SLURM_PROCID")
    with pytest.raises(RuntimeError, match="SLURM_PROCID not found"):
        SlurmClusterResolver()


def test_sagemaker_hosts_are_workers_in_sorted_order(monkeypatch):
    monkeypatch.setenv("SM_HOSTS", '["algo-2", "algo-1"]')
    monkeypatch.setenv("SM_CURRENT_HOST", "algo-2")
    resolver = SageMakerClusterResolver()
    assert resolver.cluster_spec().as_dict() == {"worker": ["algo-1:2223", "algo-2:2223"]}
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert resolver.master() == "algo-2:2223"
    assert resolver.master("worker", 0, "grpc") == "grpc://algo-1:2223"
    resolver.task_type, resolver.task_id = "x", 7
    assert (resolver.task_type, resolver.task_id) == ("x", 7)


def test_sagemaker_alone_or_elsewhere_there_is_no_master(monkeypatch):
    monkeypatch.setenv("SM_HOSTS", '["algo-1"]')
    monkeypatch.setenv("SM_CURRENT_HOST", "algo-1")
    assert SageMakerClusterResolver().master() == ""
    monkeypatch.setenv("SM_CURRENT_HOST", "other")
    assert not SageMakerClusterResolver().cluster_spec()
    assert SageMakerClusterResolver().task_id is None


def test_sagemaker_without_its_variables_is_an_assertion_error(monkeypatch):
    monkeypatch.delenv("SM_HOSTS", raising=False)
    with pytest.raises(AssertionError, match="Not a SageMaker environment"):
        SageMakerClusterResolver().cluster_spec()


def pod(name, ip, phase="Running"):
    status = SimpleNamespace(phase=phase, host_ip=ip)
    return SimpleNamespace(metadata=SimpleNamespace(name=name), status=status)


class RecordedApi:
    """What an API server answered, by selector."""

    def __init__(self, **answers):
        self.answers = answers

    def list_pod_for_all_namespaces(self, *, label_selector):
        return SimpleNamespace(items=self.answers[label_selector])


def test_kubernetes_pods_are_listed_by_name_within_each_selector():
    api = RecordedApi(a=[pod("w-1", "10.1.2.4"), pod("w-0", "10.1.2.3")], b=[pod("p", "10.1.2.9")])
    resolver = KubernetesClusterResolver({"worker": ["a"], "ps": ["b"]}, override_client=api)
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.1.2.3:8470", "10.1.2.4:8470"],
        "ps": ["10.1.2.9:8470"],
    }
    assert resolver.master() == ""
    resolver.task_type, resolver.task_id = "worker", 1
    assert resolver.master() == "grpc://10.1.2.4:8470"


def test_kubernetes_a_pod_that_does_not_run_is_a_runtime_error():
    api = RecordedApi(**{"job-name=tensorflow": [pod("w", "10.1.2.3", "Failed")]})
    with pytest.raises(RuntimeError, match='Pod "w" is not running; phase: "Failed"'):
        KubernetesClusterResolver(override_client=api).cluster_spec()


def test_kubernetes_without_a_client_is_an_import_error():
    with pytest.raises(ImportError, match="override_client"):
        KubernetesClusterResolver()
