"""pytest plugin: TF_CONFIG in tests, without starting a process.

    tf_config                fixture: sets TF_CONFIG for this test only
    @pytest.mark.each_task   runs the test once for every place in a cluster

Loaded with pytest, so it imports neither gRPC nor NumPy, and nothing of ours until it is used.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pytest

from clustersim.cluster.cluster_file import MOST_TASKS, parse_task, with_ports
from clustersim.cluster.spec import EVALUATOR, JOBS, UNASSIGNED, ClusterSpec
from clustersim.cluster.tf_config import VARIABLE, TFConfig
from clustersim.errors import ClusterSimError

_MARKER = "each_task"

_PLACE = "_clustersim_task"
"""The fixture that each place in the cluster is a parameter of."""


class SetTFConfig(Protocol):
    """What the fixture `tf_config` is."""

    def __call__(self, task: str, /, **jobs: int) -> str:
        """Sets TF_CONFIG and returns it.

        Valid calls:
            tf_config("worker:1", worker=2, ps=1)     a place in a cluster of these counts
            tf_config('{"cluster": ')                 any text, as it is
        """
        ...


@pytest.fixture
def tf_config(monkeypatch: pytest.MonkeyPatch) -> SetTFConfig:
    """Sets TF_CONFIG for this test only: `tf_config("worker:1", worker=2, ps=1)`."""

    def set_tf_config(task: str, /, **jobs: int) -> str:
        text = _config(task, jobs) if jobs else task
        monkeypatch.setenv(VARIABLE, text)
        return text

    return set_tf_config


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line(
        "markers",
        "each_task(chief=0, worker=0, ps=0, evaluator=0): run the test once for each place in the"
        " cluster, with TF_CONFIG set; no process is started",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Turns one test with the marker into one for each task, named `[worker:1]`."""
    marker = metafunc.definition.get_closest_marker(_MARKER)
    if marker is None:
        return
    if marker.args:
        raise pytest.Collector.CollectError(_expected(marker.args))
    try:
        spec = _spec(marker.kwargs)
    except pytest.UsageError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    names = [str(task) for task in spec.tasks()]
    metafunc.parametrize(
        _PLACE,
        [(name, dict(marker.kwargs)) for name in names],
        ids=names,
        indirect=True,
    )


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuses the marker where it would do nothing: pytest cannot run a unittest method several times.

    Raises:
        pytest.UsageError: A test has the marker, and no place in a cluster.
    """
    for item in items:
        if item.get_closest_marker(_MARKER) is None:
            continue
        callspec = getattr(item, "callspec", None)
        if callspec is None or _PLACE not in callspec.params:
            raise pytest.UsageError(
                f"{item.nodeid}: {_MARKER} does nothing for a {type(item).__name__}, such as a method"
                " of unittest.TestCase. Write a function, or a class that inherits nothing."
            )


@pytest.fixture(autouse=True)
def _clustersim_task(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the TF_CONFIG of one place in the cluster of `each_task`; without it does nothing."""
    if hasattr(request, "param"):
        name, jobs = request.param
        monkeypatch.setenv(VARIABLE, _config(name, jobs))


def _spec(jobs: Mapping[str, int]) -> ClusterSpec:
    are_counts = all(type(count) is int and 0 <= count <= MOST_TASKS for count in jobs.values())
    if set(jobs) - set(JOBS) or not are_counts or not any(jobs.values()):
        raise pytest.UsageError(_expected(dict(jobs)))
    counts = {job: [UNASSIGNED] * count for job, count in jobs.items() if count}
    return with_ports(ClusterSpec(counts))


def _expected(given: object) -> str:
    return f"each_task and tf_config take counts of {', '.join(JOBS)}, such as worker=2, not {given!r}."


def _config(name: str, jobs: Mapping[str, int]) -> str:
    spec = _spec(jobs)
    try:
        task = parse_task(name, spec)
    except ClusterSimError as error:
        raise pytest.UsageError(f"tf_config: {error.message}") from None
    seen = spec if task.type == EVALUATOR else spec.without(EVALUATOR)
    return TFConfig(cluster=seen, task=task).to_json()
