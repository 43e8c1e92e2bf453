"""The cluster map: TensorFlow's words, and ours."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.cluster.spec import Address, ClusterSpec, Task

SPEC = ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"], "chief": ["d:4"]})


def test_tensorflows_words_give_tensorflows_answers():
    sparse = ClusterSpec({"worker": {"3": "x:1", 1: "y:2"}, "ps": []})
    assert sparse.jobs == ["worker", "ps"]
    assert sparse.as_dict() == {"worker": {3: "x:1", 1: "y:2"}, "ps": {}}
    assert sparse.num_tasks("worker") == 2
    assert sparse.task_indices("worker") == [1, 3]
    assert sparse.job_tasks("worker") == [None, "y:2", None, "x:1"]
    assert sparse.task_address("worker", 3) == "x:1"
    assert repr(SPEC) == "ClusterSpec({'chief': ['d:4'], 'ps': ['c:3'], 'worker': ['a:1', 'b:2']})"
    assert ClusterSpec(sparse) == sparse
    assert ClusterSpec({"worker": ["a:1"]}) == {"worker": {0: "a:1"}}
    assert ClusterSpec({"worker": ["a:1"]}) != {"worker": ["a:1"]}
    assert ClusterSpec({"worker": [b"a:1"]}).as_dict() == {"worker": ["a:1"]}
    assert not ClusterSpec({})
    assert ClusterSpec({"worker": []})


def test_a_cluster_def_is_read_by_its_shape():
    jobs = [SimpleNamespace(name="worker", tasks={1: "b:2", 0: "a:1"})]
    assert ClusterSpec(SimpleNamespace(job=jobs)).as_dict() == {"worker": ["a:1", "b:2"]}


@pytest.mark.parametrize(
    "bad", [None, 3, ["a:1"], {"worker": "a:1"}, {"worker": 3}, {"worker": [5]}, {3: ["a:1"]}]
)
def test_wrong_types_are_type_errors(bad):
    with pytest.raises(TypeError):
        ClusterSpec(bad)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: SPEC.num_tasks("evaluator"),
        lambda: SPEC.task_indices("x"),
        lambda: SPEC.task_address("worker", 2),
        lambda: ClusterSpec({"worker": []}).job_tasks("worker"),
        lambda: ClusterSpec({"worker": {"a": "b:1"}}),
        lambda: ClusterSpec(worker=-1),
    ],
)
def test_what_is_not_there_is_a_value_error(ask):
    with pytest.raises(ValueError, match=r"."):
        ask()


def test_counts_give_tasks_whose_ports_come_at_launch():
    spec = ClusterSpec(chief=1, worker=2, ps=1, evaluator=1)
    assert [str(task) for task in spec] == [
        "chief:0",
        "worker:0",
        "worker:1",
        "ps:0",
        "evaluator:0",
    ]
    placed = spec.with_addresses({Task("worker", 1): "localhost:7"})
    assert placed.task_address("worker", 1) == "localhost:7"
    assert placed.task_address("worker", 0) == "localhost:0"


def test_the_chief_leads_else_the_first_worker_never_a_ps():
    assert str(SPEC.leader()) == "chief:0"
    assert str(SPEC.without("chief").leader()) == "worker:0"
    with pytest.raises(ValueError, match="nobody can lead"):
        ClusterSpec(ps=1).leader()


def test_training_tasks_are_in_rank_order():
    assert [str(task) for task in SPEC.training_tasks()] == ["chief:0", "worker:0", "worker:1"]


def test_the_digest_ignores_the_evaluator_and_the_order_of_jobs():
    more = ClusterSpec({"evaluator": ["e:5"], **SPEC.as_dict()})
    assert more.digest() == SPEC.digest()
    assert SPEC.without("ps").digest() != SPEC.digest()


@given(st.from_regex(r"\A[a-z]{1,8}\Z"), st.integers(0, 10**9))
def test_a_task_reads_back_what_it_prints(job, index):
    assert Task.parse(str(Task(job, index))) == Task(job, index)


@pytest.mark.parametrize("text", ["", "worker", "worker:", ":0", "worker:-1", "worker:1.5", "w:٣"])
def test_what_names_no_task_is_refused(text):
    with pytest.raises(ValueError, match="job, colon, index"):
        Task.parse(text)


@pytest.mark.parametrize("text", ["localhost:1", "[::1]:65535", "a-b.c:22"])
def test_an_address_reads_back_what_it_prints(text):
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("localhost", "no port"),
        ("grpc://a:1", "scheme"),
        ("me@host:1", "user name"),
        (":1", "host name"),
        (" a:1", "host name"),
        ("a b:1", "host name"),
        ("::1:2222", "IPv6 without brackets"),
        ("a:port", "'port' where the port number belongs"),
        ("a:0", "port 0, outside"),
        ("a:65536", "port 65536, outside"),
        ("a:-1", "'-1' where"),
        ("a:\uff11", "where the port number belongs"),
    ],
)
def test_a_bad_address_says_which_part(text, says):
    with pytest.raises(ValueError, match=says):
        Address.parse(text)
