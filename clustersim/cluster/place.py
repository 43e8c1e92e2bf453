"""Pure: what can be wrong with the task of a TF_CONFIG: who this process is, in its cluster map."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from clustersim.cluster.cluster_map import guess_job, masters_word
from clustersim.cluster.finding import Json, error, short, warning
from clustersim.cluster.scan import pointer_to
from clustersim.cluster.spec import CHIEF, EVALUATOR, JOBS
from clustersim.errors import Finding, Severity

TOP_KEYS = {"cluster", "task", "environment", "rpc_layer", "session_master", "job"}
"""What stands beside each other at the top of a TF_CONFIG."""

_TASK_KEYS = {"type", "index", "cloud", "trial", "environment"}


def check_task(value: Json, strategy: str | None) -> Iterator[Finding]:
    """Yields what is wrong with `task`, for who will read it: see `lint_tf_config`."""
    if not isinstance(value, dict):
        return
    cluster = value.get("cluster", {})
    has_cluster = isinstance(cluster, dict) and bool(cluster)
    if "task" not in value:
        misspelt = difflib.get_close_matches("task", [k for k in value if k not in TOP_KEYS], n=1)
        if has_cluster and not misspelt and not isinstance(cluster.get("task"), dict):
            yield _missing_task(cluster)
        return
    task = value["task"]
    if not isinstance(task, dict):
        yield error(
            "TFC106",
            f"task is {short(task)}, not an object.",
            'Write {"type": "worker", "index": 0}.',
            "/task",
            is_type_error=task is None,
        )
    elif has_cluster:
        yield from _check_place(task, cluster, strategy)
    elif cluster == {} and task:
        yield warning(
            "TFC107", "There is no cluster, so this task trains alone.", "Add the cluster."
        )


def _missing_task(cluster: Mapping[str, Json]) -> Finding:
    finding = error(
        "TFC106",
        "cluster is given, but task is missing: nobody knows which member this process is.",
        'Add "task": {"type": "worker", "index": 0}, each process its own.',
    )
    # A whole parameter-server layout without a task is a template that a launcher fills in.
    is_template = {"chief", "ps"} <= set(cluster)
    return replace(finding, severity=Severity.WARNING) if is_template else finding


def _check_place(
    task: Mapping[str, Json], cluster: Mapping[str, Json], strategy: str | None
) -> Iterator[Finding]:
    kind, index = task.get("type"), task.get("index")
    for key in ("type", "index"):
        if key not in task:
            yield _missing_key(key, task)
    known = isinstance(kind, str) and (kind in JOBS or kind in cluster)
    if "type" in task and not known:
        yield _bad_type(kind, strategy)
    if "index" not in task:
        return
    number, finding = _whole(index)
    if finding is not None:
        yield finding
    if number is None or not isinstance(kind, str) or not known:
        return
    if kind in cluster:
        yield from _check_range(kind, number, cluster[kind])
    elif kind != EVALUATOR:
        have = ", ".join(map(repr, cluster))
        yield error(
            "TFC108",
            f"task.type is {kind!r}, but cluster has only {have}.",
            f"Add the job {kind!r}, or correct task.type"
            + (" (worker 0 is the chief where there is none)." if kind == CHIEF else "."),
            "/task/type",
        )


def _missing_key(key: str, task: Mapping[str, Json]) -> Finding:
    others = [one for one in task if one not in _TASK_KEYS]
    guess = difflib.get_close_matches(key, others, n=1)
    if guess:
        what = f"task has {guess[0]!r}, which nobody reads, and no {key!r}."
        return error("TFC004", what, f"Did you mean {key!r}?", pointer_to("task", guess[0]))
    other = "index" if key == "type" else "type"
    what = f"task has {other} but no {key}." if other in task else f"task.{key} is missing."
    fix = 'Write {"type": "worker", "index": 0}.'
    return error("TFC102", what, fix, "/task")


def _check_range(kind: str, number: int, tasks: Json) -> Iterator[Finding]:
    if isinstance(tasks, dict):
        if str(number) not in tasks:
            have = ", ".join(list(tasks)[:10])
            what = f'task.index is {number}, but job "{kind}" has the indices {have}.'
            yield error("TFC103", what, "Use one of them.", "/task/index")
        return
    if not isinstance(tasks, list) or 0 <= number < len(tasks):
        return
    count = len(tasks)
    have = f"has {count} task(s) (0..{count - 1})" if count else "has no task"
    yield error(
        "TFC103",
        f'task.index is {number}, but job "{kind}" {have}.',
        f"Set task.index within 0..{count - 1}; indices begin at 0 in each job."
        if count
        else "Add an address.",
        "/task/index",
    )


def _bad_type(kind: Json, strategy: str | None) -> Finding:
    at, one_of = "/task/type", f"Use one of {', '.join(JOBS)}."
    if not isinstance(kind, str):
        return error("TFC101", f"task.type is {short(kind)}, not a job name.", one_of, at)
    guess = guess_job(kind)
    if kind == "master":
        return masters_word("task.type 'master' is TF1's word.", at, strategy)
    if kind.strip().lower() in JOBS:
        what = f"task.type {kind!r} has capitals or blanks."
        return error("TFC114", what, f"Write {guess!r}.", at, is_fixable=True)
    fix = f"Did you mean {guess!r}?" if guess else one_of
    what = f"task.type {kind!r} is not a job name." if kind else "task.type is empty."
    return error("TFC101", what, fix, at, is_fixable=guess is not None)


def _whole(index: Json) -> tuple[int | None, Finding | None]:
    at = "/task/index"
    if isinstance(index, int) and not isinstance(index, bool):
        return index, None
    if isinstance(index, str) and index.isascii() and index.isdecimal() and len(index) < 10:
        what = (
            f"task.index is the string {index!r}. TensorFlow's resolver makes a number of it; a"
            f' program that asks task["index"] == {int(index)} gets False.'
        )
        fix = f"Write the number {int(index)}, without quotes."
        return int(index), warning("TFC103", what, fix, at, is_fixable=True)
    return None, error(
        "TFC103",
        f"task.index is {short(index)}, not a whole number.",
        "Write a number from 0.",
        at,
        is_type_error=index is None or isinstance(index, list | dict),
    )
