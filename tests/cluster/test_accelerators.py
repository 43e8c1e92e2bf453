"""Resolvers count the accelerators of this process, simulated ones included, as TensorFlow does."""

import json

import pytest

from clustersim.cluster.platform_resolvers import KubernetesClusterResolver
from clustersim.cluster.resolvers import (
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionResolver,
)
from clustersim.cluster.spec import ClusterSpec
from clustersim.devices.machine import Machine
from tests.array_libraries import becoming

CLUSTER = {"worker": ["a:1", "b:1"]}


@pytest.fixture
def machine():
    with becoming(Machine("gpu:2;tpu:8")) as machine:
        yield machine


def test_without_a_task_all_accelerators_count(monkeypatch, machine):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert TFConfigClusterResolver().num_accelerators() == {"GPU": 2, "TPU": 8}
    assert KubernetesClusterResolver(override_client=object()).num_accelerators() == {
        "GPU": 2,
        "TPU": 8,
    }


def test_with_a_task_those_count_whose_names_say_so(monkeypatch, machine):
    task = {"type": "worker", "index": 1}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": CLUSTER, "task": task}))
    resolver = TFConfigClusterResolver()
    assert resolver.num_accelerators() == {}  # TensorFlow's names hold no job before it joined
    machine.set_task("worker", 1)
    assert resolver.num_accelerators() == {"GPU": 2, "TPU": 8}
    assert resolver.num_accelerators("worker", 0) == {}
    assert resolver.num_accelerators()["XPU"] == 0
    with pytest.raises(ValueError, match="worker"):
        resolver.num_accelerators("worker", 7)


def test_a_process_without_accelerators_counts_none(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with becoming(Machine("cpu:2")):
        assert TFConfigClusterResolver().num_accelerators() == {}


def test_what_was_given_to_a_simple_resolver_is_not_counted_again(machine):
    given = SimpleClusterResolver(ClusterSpec(CLUSTER), num_accelerators={"GPU": 7})
    assert given.num_accelerators() == {"GPU": 7}
    assert UnionResolver(given, TFConfigClusterResolver()).num_accelerators() == {"GPU": 7}
