"""TF_CONFIG read strictly: one clear error for each kind of fault, in TensorFlow's type."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.cluster.lint import lint_tf_config
from clustersim.cluster.resolvers import TFConfigClusterResolver
from clustersim.cluster.spec import ClusterSpec, Task
from clustersim.cluster.tf_config import TFConfig
from clustersim.errors import SpecError, SpecSyntaxError, SpecTypeError

GOOD = {
    "cluster": {"worker": ["localhost:12345", "localhost:23456"], "ps": ["localhost:34567"]},
    "task": {"type": "worker", "index": 1},
}


def with_(path, value):
    """Returns GOOD as JSON, with one part changed (removed if the value is ...)."""
    config = json.loads(json.dumps(GOOD))
    *way, last = path
    part = config
    for key in way:
        part = part[key]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return json.dumps(config)


def test_the_seed_pages_value_is_read():
    config = TFConfig.parse(json.dumps(GOOD))
    assert config.task == Task("worker", 1)
    assert config.cluster == ClusterSpec(GOOD["cluster"])
    assert {finding.rule for finding in config.warnings} == {"TFC127", "TFC128"}


def test_it_reads_back_what_it_writes():
    config = TFConfig.parse(json.dumps(GOOD))
    assert TFConfig.parse(config.to_json()) == config
    assert config.as_env().startswith("export TF_CONFIG='{")


@pytest.mark.parametrize("environ", [{}, {"TF_CONFIG": "{}"}])
def test_no_variable_and_an_empty_object_mean_a_process_alone(environ):
    config = TFConfig.from_environ(environ)
    assert config.task is None
    assert not config.cluster


FAULTS = [
    ("", SpecSyntaxError, "TFC001", "is empty"),
    ("   ", SpecSyntaxError, "TFC001", "is empty"),
    ("{'cluster': {}}", SpecSyntaxError, "TFC001", "double quotes"),
    ('{"cluster": {"worker": ["a:1",]}}', SpecSyntaxError, "TFC001", "comma"),
    ("'{}'", SpecSyntaxError, "TFC001", "quotes that an env file or a shell kept"),
    ('{\\"cluster\\": 1}', SpecSyntaxError, "TFC001", "backslashes"),
    ("\ufeff{}", SpecSyntaxError, "TFC001", "byte order mark"),
    ('{"task": {}, "task": {}}', SpecSyntaxError, "TFC003", "'task' appears twice"),
    ("[" * 10_000, SpecSyntaxError, "TFC001", "nested more than"),
    ("null", SpecTypeError, "TFC002", "null, not an object"),
    ("3", SpecTypeError, "TFC002", "a number, not an object"),
    ("[]", SpecError, "TFC002", "an array, not an object"),
    ('{"worker": ["a:1"]}', SpecError, "TFC006", "Wrap them"),
    ('{"sparseCluster": {}, "task": {}}', SpecError, "TFC122", "TensorFlow does not read it"),
    (with_(["task"], ...), SpecError, "TFC106", "task is missing"),
    (with_(["task"], None), SpecTypeError, "TFC106", "null, not an object"),
    (with_(["task", "index"], ...), SpecError, "TFC102", "task has type but no index"),
    (with_(["task", "type"], "wroker"), SpecError, "TFC101", "Did you mean 'worker'"),
    (with_(["task", "type"], "Worker"), SpecError, "TFC114", "Write 'worker'"),
    (with_(["task", "type"], None), SpecError, "TFC101", "null, not a job name"),
    (with_(["task", "type"], "chief"), SpecError, "TFC108", "cluster has only 'worker', 'ps'"),
    (with_(["task", "index"], 2), SpecError, "TFC103", 'is 2, but job "worker" has 2 task'),
    (with_(["task", "index"], -1), SpecError, "TFC103", "is -1"),
    (with_(["task", "index"], 0.9), SpecError, "TFC103", "0.9, not a whole number"),
    (with_(["task", "index"], True), SpecError, "TFC103", "true, not a whole number"),
    (with_(["task", "index"], None), SpecTypeError, "TFC103", "null, not a whole number"),
    (with_(["task", "index"], "zero"), SpecError, "TFC103", '"zero", not a whole number'),
    (with_(["cluster"], ["a:1"]), SpecTypeError, "TFC111", "not an object of job names"),
    (with_(["cluster", "ps"], "a:1"), SpecTypeError, "TFC111", "must be a list of addresses"),
    (with_(["cluster", "ps"], [5]), SpecTypeError, "TFC105", "5, not an address"),
    (with_(["cluster", "ps"], ["host:port"]), SpecError, "TFC105", "'port' where"),
    (with_(["cluster", "ps"], ["localhost:0"]), SpecError, "TFC105", "port 0"),
    (with_(["cluster", "ps"], ["127.0.0.1:12345"]), SpecError, "TFC104", "used twice"),
    (with_(["cluster", "ps_hosts"], ["a:1"]), SpecError, "TFC101", "Did you mean 'ps'"),
    (with_(["cluster", "chief"], ["a:1", "b:2"]), SpecError, "TFC109", "only one chief is allowed"),
    (with_(["cluster", "ps"], {"x": "c:3"}), SpecError, "TFC112", "'x' where an index"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "cls", "rule", "says"), FAULTS, ids=lambda v: str(v)[:40])
def test_a_fault_is_one_clear_error(text, cls, rule, says):
    with pytest.raises(cls) as caught:
        TFConfig.parse(text)
    assert type(caught.value) is cls
    assert says in str(caught.value)
    assert caught.value.code == rule
    for line in str(caught.value).splitlines():
        assert "TF_CONFIG: " in line
        assert line.endswith("]")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (with_(["task", "index"], "1"), "TFC103"),
        (with_(["environment2"], "x"), "TFC004"),
        (with_(["cluster"], ...), "TFC107"),
        (with_(["cluster", "master"], ["localhost:1"]), "TFC113"),
        (with_(["cluster", "trainer"], ["localhost:1"]), "TFC101"),
    ],
)
def test_what_tensorflow_accepts_is_a_warning(text, rule):
    assert rule in {finding.rule for finding in TFConfig.parse(text).warnings}


def test_an_evaluator_need_not_be_listed():
    text = json.dumps({**GOOD, "task": {"type": "evaluator", "index": 0}})
    assert TFConfig.parse(text).task == Task("evaluator", 0)


def test_all_findings_come_at_once():
    text = json.dumps({"cluster": {"worker": ["a", "b:0"]}, "task": {"type": "x", "index": 0}})
    with pytest.raises(SpecError) as caught:
        TFConfig.parse(text)
    assert len(caught.value.findings) == 3
    assert str(caught.value).count("also:") == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cluster", "task", "type", "index", "worker", "ps", "0"]) | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.text())
def test_lint_never_crashes_on_text(text):
    lint_tf_config(text)


@given(JSON)
def test_lint_never_crashes_on_json_and_parse_follows_it(value):
    text = json.dumps(value)
    linted = lint_tf_config(text)
    if linted.errors:
        with pytest.raises(SpecError):
            TFConfig.parse(text)
    else:
        TFConfig.parse(text)


@given(
    st.dictionaries(st.sampled_from(["chief", "worker", "ps"]), st.integers(1, 4), min_size=1),
    st.data(),
)
def test_every_spec_goes_through_the_environment_unchanged(counts, data):
    counts["chief"] = min(counts.get("chief", 1), 1)
    port = iter(range(1000, 2000))
    spec = ClusterSpec({job: [f"host:{next(port)}" for _ in range(n)] for job, n in counts.items()})
    task = data.draw(st.sampled_from(spec.tasks()))
    text = TFConfig(cluster=spec, task=task).to_json()
    back = TFConfig.from_environ({"TF_CONFIG": text})
    assert (back.cluster, back.task) == (spec, task)


@pytest.mark.parametrize("index", [-1, 0.9, 99])
def test_a_strict_resolver_raises_where_tensorflow_hands_nonsense_on(monkeypatch, index):
    monkeypatch.setenv("TF_CONFIG", with_(["task", "index"], index))
    assert TFConfigClusterResolver().task_id == int(index)
    with pytest.raises(SpecError, match="TFC103"):
        _ = TFConfigClusterResolver(strict=True).task_id
