"""What a place in a cluster means, as TensorFlow's strategies see it."""

import pytest

from clustersim.cluster import roles
from clustersim.cluster.spec import ClusterSpec

PLAIN = ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})
CHIEF = ClusterSpec({"chief": ["d:4"], "worker": ["a:1", "b:2"], "evaluator": ["e:5"]})


@pytest.mark.parametrize(
    ("spec", "task", "expected"),
    [
        (PLAIN, ("worker", 0), True),
        (PLAIN, ("worker", 1), False),
        (PLAIN, ("ps", 0), False),
        (PLAIN, (None, None), True),
        (CHIEF, ("chief", 0), True),
        (CHIEF, ("worker", 0), False),
        (CHIEF, ("evaluator", 0), True),
    ],
)
def test_who_is_the_chief(spec, task, expected):
    assert roles.is_chief(spec, *task) is expected


def test_ranks_are_the_chief_then_the_workers():
    assert roles.id_in_cluster(CHIEF, "chief", 0) == 0
    assert roles.id_in_cluster(CHIEF, "worker", 1) == 2
    assert roles.id_in_cluster(PLAIN, "worker", 1) == 1
    assert roles.id_in_cluster(CHIEF, "evaluator", 0) == 0
    with pytest.raises(ValueError, match="no id for task_type 'ps'"):
        roles.id_in_cluster(PLAIN, "ps", 0)


def test_how_many_train():
    assert roles.worker_count(PLAIN, "worker") == 2
    assert roles.worker_count(CHIEF, "chief") == 3
    assert roles.worker_count(CHIEF, "evaluator") == 1
    with pytest.raises(KeyError):
        roles.worker_count(PLAIN, "evaluator")


@pytest.mark.parametrize(
    ("cluster", "task", "says"),
    [
        ({"trainer": ["a:1"]}, ("worker", 0), "Disallowed task type"),
        ({"worker": ["a:1"]}, ("Worker", 0), "Unrecognized task_type"),
        ({"worker": ["a:1"]}, ("chief", 0), "not found in cluster_spec"),
        ({"chief": ["a:1", "b:2"]}, ("chief", 0), "at most one 'chief'"),
        ({"evaluator": ["a:1", "b:2"]}, ("evaluator", 0), "at most one 'evaluator'"),
        ({"worker": ["a:1"]}, ("worker", 1), "exceeds the maximum id"),
    ],
)
def test_what_strategies_refuse(cluster, task, says):
    with pytest.raises(ValueError, match=says):
        roles.validate(ClusterSpec(cluster), *task)


def test_an_evaluator_need_not_be_in_the_cluster():
    roles.validate(PLAIN, "evaluator", 0)


def test_who_leads_collectives_and_who_saves():
    assert roles.collective_leader(CHIEF, "worker") == "/job:chief/replica:0/task:0"
    assert roles.collective_leader(PLAIN, "worker") == "/job:worker/replica:0/task:0"
    assert roles.collective_leader(PLAIN, "evaluator") == ""
    assert roles.should_checkpoint(PLAIN, "worker", 0)
    assert not roles.should_checkpoint(CHIEF, "worker", 0)
