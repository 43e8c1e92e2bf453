"""Pure: several TF_CONFIGs of one cluster, held against each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from clustersim.cluster.spec import EVALUATOR
from clustersim.errors import Finding, Severity

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A finding that concerns two files, or all of them."""

    files: tuple[str, ...]
    finding: Finding


def compare(values: Mapping[str, Json]) -> list[Between]:
    """Returns what does not fit together.

    Args:
        values: Decoded TF_CONFIGs by file name; those that are no objects are left out.
    """
    usable = {
        name: value
        for name, value in values.items()
        if isinstance(value, dict) and isinstance(value.get("cluster"), dict) and value["cluster"]
    }
    if len(usable) < 2:
        return []
    return [*_maps(usable), *_tasks(usable)]


def _maps(values: Mapping[str, Json]) -> Iterator[Between]:
    for first, second in pairwise(values):
        one, other = _map(values[first]), _map(values[second])
        if one == other:
            continue
        jobs = {job for job, _ in one} | {job for job, _ in other}
        for job in sorted(jobs):
            mine = [address for (j, _), address in sorted(one.items()) if j == job]
            theirs = [address for (j, _), address in sorted(other.items()) if j == job]
            if mine != theirs and sorted(mine) == sorted(theirs):
                what = f"{job} has its addresses in a different order."
                fix = "Use one order everywhere: the index means a place in it."
                yield _between((first, second), "TFC143", what, fix)
            elif mine != theirs:
                yield _between((first, second), "TFC140", *_difference(job, mine, theirs, second))


def _difference(
    job: str, mine: Sequence[str], theirs: Sequence[str], second: str
) -> tuple[str, str]:
    fix = "Every task must see the same map."
    for index in range(max(len(mine), len(theirs))):
        if index >= len(theirs):
            return f"The cluster maps differ: {second} lacks {job}:{index}.", fix
        if index >= len(mine):
            return f"The cluster maps differ: only {second} has {job}:{index}.", fix
        if mine[index] != theirs[index]:
            what = f"{job}:{index} is {mine[index]}, in {second} it is {theirs[index]}."
            return f"The cluster maps differ: {what}", fix
    return f"The cluster maps differ in {job}.", fix


def _map(value: Json) -> dict[tuple[str, int], str]:
    """Returns the addresses by place, without an evaluator: only its own map need list it."""
    found = {}
    for job, tasks in value["cluster"].items():
        if job == EVALUATOR:
            continue
        pairs = tasks.items() if isinstance(tasks, dict) else enumerate(_list(tasks))
        for index, address in pairs:
            if str(index).isdecimal():
                found[job, int(index)] = str(address)
    return found


def _list(tasks: Json) -> list[Json]:
    return tasks if isinstance(tasks, list) else []


def _tasks(values: Mapping[str, Json]) -> Iterator[Between]:
    taken: dict[tuple[str, int], str] = {}
    for name, value in values.items():
        task = value.get("task")
        if not isinstance(task, dict) or not str(task.get("index", "")).isdecimal():
            continue
        place = str(task.get("type")), int(task["index"])
        if place in taken:
            what = f"{place[0]}:{place[1]} is the task of both."
            yield _between((taken[place], name), "TFC141", what, "Give each process its own.")
        taken.setdefault(place, name)
    wanted = {place for value in values.values() for place in _map(value)}
    missing = sorted(wanted - set(taken))
    if missing and taken:
        names = ", ".join(f"{job}:{index}" for job, index in missing[:10])
        what = f"No file has the task {names}."
        yield _between(tuple(values), "TFC142", what, "Add its TF_CONFIG, or take it out.")


def _between(files: tuple[str, ...], rule: str, what: str, fix: str) -> Between:
    severity = Severity.WARNING if rule == "TFC142" else Severity.ERROR
    finding = Finding(rule=rule, severity=severity, what=what, fix=fix)
    return Between(files=files, finding=finding)
