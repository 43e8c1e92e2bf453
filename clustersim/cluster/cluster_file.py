"""A cluster.toml: how many tasks each job has, or where they are; and the ports that are counted on."""

import tomllib
from pathlib import Path

from clustersim.cluster.spec import UNASSIGNED, ClusterSpec, Task
from clustersim.errors import UsageError

MOST_TASKS = 10_000
"""More of one job is a slip of the finger, and would take the memory of a list that long."""

FIRST_PORT = 41001
"""Where ports begin that are counted on, so that every call gives the same ones."""


def spec_from_toml(path: Path, text: str) -> ClusterSpec:
    """Returns the cluster of a cluster.toml, or of [tool.clustersim] in a pyproject.toml.

    The table `cluster` gives each job a count, or a list of addresses.

    Raises:
        UsageError: It is no TOML, or has no such table.
    """
    return with_ports(_unplaced(path, text))


def read_counts(path: Path) -> ClusterSpec:
    """Returns the cluster of a cluster.toml, without addresses where it gives counts.

    Raises:
        UsageError: The file cannot be read, is no TOML, or has no table [cluster].
    """
    try:
        text = path.read_text(errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    return _unplaced(path, text)


def _unplaced(path: Path, text: str) -> ClusterSpec:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}. Correct it there.") from None
    value = value.get("tool", {}).get("clustersim", value)
    cluster = value.get("cluster")
    if not isinstance(cluster, dict) or not cluster:
        raise UsageError(f"{path} has no table [cluster]. Write [cluster], then worker = 2.")
    for job, tasks in cluster.items():
        if not _is_count(tasks) and not isinstance(tasks, list | dict):
            raise UsageError(
                f"{path}: {job} is {tasks!r}. Give a count from 0 to {MOST_TASKS}, or a list of"
                " addresses."
            )
    jobs = {
        job: [UNASSIGNED] * tasks if isinstance(tasks, int) else tasks
        for job, tasks in cluster.items()
    }
    try:
        return ClusterSpec(jobs)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{path}: {error}. Give each job a count or a list of addresses."
        ) from None


def _is_count(tasks: object) -> bool:
    return type(tasks) is int and 0 <= tasks <= MOST_TASKS


def with_ports(spec: ClusterSpec, first_port: int = FIRST_PORT) -> ClusterSpec:
    """Returns the cluster with consecutive ports where none was chosen."""
    free = [t for t in spec.tasks() if spec.task_address(t.type, t.index) == UNASSIGNED]
    return spec.with_addresses({t: f"localhost:{first_port + i}" for i, t in enumerate(free)})


def parse_task(text: str, spec: ClusterSpec) -> Task:
    """Returns the task that `text` names.

    Raises:
        UsageError: It names none of this cluster.
    """
    known = ", ".join(map(str, spec.tasks()))
    try:
        task = Task.parse(text)
    except ValueError as error:
        raise UsageError(str(error), code="CSE104") from None
    if task not in spec.tasks():
        raise UsageError(f"{text} is not in this cluster, which has {known}.", code="CSE104")
    return task
