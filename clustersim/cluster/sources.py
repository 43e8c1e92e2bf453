"""Where TF_CONFIGs are found: a value, a JSON file, a cluster.toml, a compose file, a pod manifest.

Reads files and gives texts; judges nothing.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clustersim.cluster.spec import UNASSIGNED, ClusterSpec, Task
from clustersim.cluster.tf_config import VARIABLE, TFConfig
from clustersim.errors import UsageError

MOST_TASKS = 10_000
"""More of one job is a slip of the finger, and would take the memory of a list that long."""

FIRST_PORT = 41001
"""Where ports begin that are counted on, so that every call gives the same ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One TF_CONFIG, and where it was found."""

    name: str
    text: str


def from_file(path: Path) -> list[Source]:
    """Returns the TF_CONFIGs in a file: several for a cluster, one for anything else.

    Raises:
        UsageError: The file cannot be read, or has none.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    text = data.decode(errors="replace")
    if path.suffix == ".toml":
        return from_spec(spec_from_toml(path, text), str(path))
    if path.suffix in {".yml", ".yaml"}:
        return _from_yaml(path, text)
    return [Source(name=str(path), text=text)]


def from_spec(spec: ClusterSpec, name: str) -> list[Source]:
    """Returns one TF_CONFIG for each task."""
    return [
        Source(name=f"{name}#{task}", text=TFConfig(cluster=spec, task=task).to_json())
        for task in spec.tasks()
    ]


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


def _from_yaml(path: Path, text: str) -> list[Source]:
    try:
        import yaml  # an extra
    except ImportError:
        raise UsageError(
            f"Reading {path} needs PyYAML. Install clustersim[k8s], or give the value itself."
        ) from None
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}. Correct it there.") from None
    found = [
        Source(name=f"{path}#{where}", text=value)
        for document in documents
        for where, value in _walk(document, "")
    ]
    if not found:
        raise UsageError(f"{path} sets {VARIABLE} nowhere. Name the right file.")
    return found


def _walk(node: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yields every TF_CONFIG below a node: compose's map or list, or a manifest's env entry."""
    if isinstance(node, dict):
        if node.get("name") == VARIABLE and isinstance(node.get("value"), str):
            yield where, node["value"]
        for key, value in node.items():
            if key == VARIABLE and isinstance(value, str):
                yield where.removesuffix(".environment"), value
            else:
                name = f"{where}.{key}" if where else str(key)
                yield from _walk(value, name.removeprefix("services."))
    elif isinstance(node, list):
        for number, value in enumerate(node):
            if isinstance(value, str) and value.startswith(f"{VARIABLE}="):
                yield where.removesuffix(".environment"), value.partition("=")[2]
            else:
                yield from _walk(value, f"{where}[{number}]")
