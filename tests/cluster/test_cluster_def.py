"""ClusterDef and JobDef: a cluster map as TensorFlow's programs hand it around."""

import pytest

from clustersim import tf
from clustersim.cluster.spec import ClusterSpec

MAP = {"worker": ["a:1", "b:2"], "ps": {3: "c:3"}}


def test_a_spec_becomes_a_def_and_comes_back():
    made = ClusterSpec(MAP).as_cluster_def()
    assert [(job.name, job.tasks) for job in made.job] == [
        ("ps", {3: "c:3"}),
        ("worker", {0: "a:1", 1: "b:2"}),
    ]
    assert ClusterSpec(made) == ClusterSpec(MAP)


def test_a_def_can_be_built_piece_by_piece():
    made = tf.train.ClusterDef()
    worker = made.job.add(name="worker")
    worker.tasks[0] = "a:1"
    worker.tasks[1] = "b:2"
    made.job.add().name = "ps"
    made.job[1].tasks[3] = "c:3"
    assert tf.train.ClusterSpec(made).as_dict() == MAP


def test_a_def_can_be_built_at_once():
    job = tf.train.JobDef(name="worker", tasks={0: "a:1", 1: "b:2"})
    made = tf.train.ClusterDef(job=[job])
    assert tf.train.ClusterSpec(made).num_tasks("worker") == 2
    assert made == tf.train.ClusterDef(job=[tf.train.JobDef(name="worker", tasks=job.tasks)])
    assert made != tf.train.ClusterDef()
    with pytest.raises(TypeError):
        hash(made)


def test_a_changed_def_changes_no_spec():
    made = ClusterSpec(MAP).as_cluster_def()
    spec = ClusterSpec(made)
    made.job[1].tasks[0] = "z:9"
    assert spec.task_address("worker", 0) == "a:1"


def test_a_def_prints_as_the_message_does():
    made = tf.train.ClusterDef(job=[tf.train.JobDef(name="worker", tasks={0: 'a"b:1'})])
    assert str(made) == (
        'job {\n  name: "worker"\n  tasks {\n    key: 0\n    value: "a\\"b:1"\n  }\n}\n'
    )
