"""Pure: what can be wrong with a TF_CONFIG, as a table of rules.

Each rule looks at the decoded value and yields findings; all are reported at once. Rule numbers are
those of the interface and never change their meaning. `TFConfig.parse` refuses a value that has an
ERROR finding; this module decides, nobody else.

It knows nothing of processes, networks or strategies.
"""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from clustersim.cluster.spec import CHIEF, EVALUATOR, JOBS, Address
from clustersim.errors import Finding, Severity

Json: TypeAlias = Any
"""A decoded JSON value of any shape: that is what the rules are there to find out."""

MAX_NESTING = 100
"""Deeper values are refused before they are decoded: no TF_CONFIG is deeper than 4."""

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What linting found. `value` is the decoded JSON, None if it could not be decoded."""

    findings: tuple[Finding, ...]
    value: Json = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse the value."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


def lint_tf_config(text: str) -> Linted:
    """Returns everything that is wrong with the text of a TF_CONFIG. Never raises."""
    value, syntax_error = _decode(text)
    if syntax_error is not None:
        return Linted(findings=(syntax_error,))
    findings = tuple(finding for rule in _RULES for finding in rule(value))
    return Linted(findings=findings, value=value)


# -- shape --------------------------------------------------------------------------------------


class _DuplicateKeyError(ValueError):
    pass


def _decode(text: str) -> tuple[Json, Finding | None]:  # noqa: PLR0911  # one a kind of fault
    if not text.strip():
        return None, _error("TFC001", "The value is empty.", "Unset it, or set it to JSON.")
    if text.startswith("\ufeff"):
        return None, _error("TFC001", "The value begins with a byte order mark.", "Remove it.")
    if _nesting(text) > MAX_NESTING:
        return None, _error(
            "TFC001", f"The value is nested more than {MAX_NESTING} deep.", "Use cluster and task."
        )
    try:
        return json.loads(text, object_pairs_hook=_no_duplicates), None
    except _DuplicateKeyError as error:
        return None, _error("TFC003", str(error), "Keep one of them.")
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return None, _error(
            "TFC001",
            f"Not JSON: {error.msg.lower()} at {where}, near {_near(text, error.pos)!r}.",
            _syntax_advice(text, error.pos),
        )
    except ValueError as error:  # a number with thousands of digits
        return None, _error("TFC001", f"Not usable JSON: {error}.", "Write small whole numbers.")


def _no_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result:
            raise _DuplicateKeyError(
                f"The key {key!r} appears twice in one object, and only the last one would count."
            )
        result[key] = value
    return result


def _nesting(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _near(text: str, pos: int) -> str:
    return text[max(0, pos - 10) : pos + 10]


def _syntax_advice(text: str, pos: int) -> str:
    if text[:1] in {"'", '"'} and text[:1] == text.rstrip()[-1:]:
        return "Remove the quotes around the whole value."
    if '\\"' in text[: pos + 3]:
        return "It was escaped once too often: remove the backslashes."
    if "'" in text[max(0, pos - 1) : pos + 2]:
        return "JSON takes double quotes; in Python write json.dumps(config), not str(config)."
    if text[pos : pos + 1] in {"]", "}"} or text[pos : pos + 1] == ",":
        return "Remove the comma, or add the value that is missing there."
    if text[pos : pos + 1] in {"$", "{", "%", "<"} and "$" in text + "$":
        return "A template or shell variable may have been left in; fill it in."
    return "Correct it there; `python -m json.tool` shows the same place."


def _rule_is_object(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a string", type(None): "null"}.get(type(value), "a number")
        yield _error(
            "TFC002",
            f"The value is {kind}, not an object.",
            'Write {"cluster": {...}, "task": {...}}.',
            is_type_error=value is None or isinstance(value, int | float),
        )


_TOP_KEYS = {"cluster", "task", "environment", "rpc_layer", "session_master", "job"}


def _rule_top_keys(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    if "cluster" not in value and value and all(key in JOBS for key in value):
        yield _error(
            "TFC006",
            f"The jobs {sorted(value)} stand at the top level.",
            'Wrap them: {"cluster": {...}, "task": {...}}.',
        )
        return
    for key in value:
        if key not in _TOP_KEYS:
            guess = difflib.get_close_matches(key, ["cluster", "task"], n=1)
            likely = "cluster" if key == "sparseCluster" else (guess[0] if guess else None)
            lost = likely is not None and likely not in value
            yield Finding(
                rule="TFC004",
                severity=Severity.ERROR if lost else Severity.WARNING,
                what=f"{key!r} is no key that TensorFlow reads.",
                fix=f"Did you mean {likely!r}?" if likely else "Remove it.",
                pointer=f"/{key}",
            )


# -- cluster ------------------------------------------------------------------------------------


def _rule_cluster(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict) or "cluster" not in value:
        return
    cluster = value["cluster"]
    if not isinstance(cluster, dict):
        yield _error(
            "TFC111",
            f"cluster is {_short(cluster)}, not an object of job names and address lists.",
            'Write {"worker": ["localhost:2222"]}.',
            "/cluster",
            is_type_error=True,
        )
        return
    for job, tasks in cluster.items():
        yield from _check_job(job, tasks)
    yield from _check_duplicates(cluster)


def _check_job(job: str, tasks: Json) -> Iterator[Finding]:
    at = f"/cluster/{job}"
    if job not in JOBS:
        yield from _unknown_job(job, at)
    if isinstance(tasks, dict):
        yield from _check_sparse(job, tasks, at)
        addresses = tasks
    elif isinstance(tasks, list):
        addresses = dict(enumerate(tasks))
    else:
        yield _error(
            "TFC111",
            f"cluster.{job} is {_short(tasks)}, not a list of addresses.",
            f'Write {{"{job}": ["localhost:2222"]}}.',
            at,
            is_type_error=True,
        )
        return
    if not addresses:
        yield _warning("TFC111", f"cluster.{job} has no address.", "Add one, or remove it.", at)
    if job in {CHIEF, EVALUATOR} and len(addresses) > 1:
        yield _error(
            "TFC109" if job == CHIEF else "TFC110",
            f"cluster.{job} has {len(addresses)} addresses, but there is at most one {job}.",
            "Keep one; further tasks are workers.",
            at,
        )
    for index, address in addresses.items():
        yield from _check_address(address, f"cluster.{job}[{index}]", f"{at}/{index}")


def _unknown_job(job: str, at: str) -> Iterator[Finding]:
    if job.lower() in JOBS:
        yield _error("TFC114", f"The job {job!r} has capitals.", f"Write {job.lower()!r}.", at)
    elif job == "master":
        # Estimator still takes it; strategies refuse it by name, in `roles.validate`.
        yield _warning("TFC113", "The job 'master' is TF1's word.", "Write 'chief'.", at)
    else:
        guess = difflib.get_close_matches(job.removesuffix("_hosts"), JOBS, n=1)
        yield _error(
            "TFC101",
            f"{job!r} is no job that strategies know; they know {', '.join(JOBS)}.",
            f"Did you mean {guess[0]!r}?" if guess else "Use one of them.",
            at,
        )


def _check_sparse(job: str, tasks: Mapping[str, Json], at: str) -> Iterator[Finding]:
    bad = [key for key in tasks if not key.isdecimal()]
    if bad:
        yield _error(
            "TFC112",
            f"cluster.{job} has the key {bad[0]!r} where an index belongs.",
            'Write a list, or {"0": "localhost:2222"}.',
            f"{at}/{bad[0]}",
        )
    elif sorted(map(int, tasks)) != list(range(len(tasks))):
        yield _error(
            "TFC112",
            f"cluster.{job} is sparse: it has the indices {sorted(map(int, tasks))}.",
            f"Strategies need 0..{len(tasks) - 1}; write a list.",
            at,
        )


def _check_address(address: Json, name: str, at: str) -> Iterator[Finding]:
    if not isinstance(address, str):
        what = f"{name} is {_short(address)}, not an address."
        fix = 'Write "host:port".'
        yield _error("TFC105", what, fix, at, is_type_error=True)
        return
    try:
        Address.parse(address)
    except ValueError as error:
        yield _error("TFC105", f"{name}: {error}.", 'Write "host:port", such as "a1:2222".', at)


def _check_duplicates(cluster: Mapping[str, Json]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for job, tasks in cluster.items():
        pairs = tasks.items() if isinstance(tasks, dict) else enumerate(tasks or ())
        if not isinstance(tasks, dict | list):
            continue
        for index, address in pairs:
            if not isinstance(address, str):
                continue
            name, key = f"cluster.{job}[{index}]", _canonical(address)
            if key in seen:
                yield _error(
                    "TFC104",
                    f"{address} is used twice: {seen[key]} and {name}.",
                    "Two servers cannot share a port; give each its own.",
                    f"/cluster/{job}/{index}",
                )
            seen.setdefault(key, name)


def _canonical(address: str) -> str:
    host, _, port = address.strip().lower().rpartition(":")
    return f"localhost:{port}" if host.strip("[]") in _LOOPBACK else f"{host}:{port}"


# -- task ---------------------------------------------------------------------------------------


def _rule_task(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    cluster = value.get("cluster", {})
    has_cluster = isinstance(cluster, dict) and bool(cluster)
    if "task" not in value:
        if has_cluster:
            yield _error(
                "TFC106",
                "cluster is given, but task is missing.",
                'Add "task": {"type": "worker", "index": 0}, each process its own.',
            )
        return
    task = value["task"]
    if not isinstance(task, dict):
        yield _error(
            "TFC106",
            f"task is {_short(task)}, not an object.",
            'Write {"type": "worker", "index": 0}.',
            "/task",
            is_type_error=task is None,
        )
        return
    if not has_cluster:
        if cluster == {}:
            yield _warning(
                "TFC107", "There is no cluster, so this task trains alone.", "Add the cluster."
            )
        return
    yield from _check_task(task, cluster)


def _check_task(task: Mapping[str, Json], cluster: Mapping[str, Json]) -> Iterator[Finding]:
    kind, index = task.get("type"), task.get("index")
    for key in ("type", "index"):
        if key not in task:
            yield _error(
                "TFC106",
                f"task.{key} is missing.",
                'Write {"type": "worker", "index": 0}.',
                "/task",
            )
    if "type" in task and (not isinstance(kind, str) or kind not in JOBS):
        yield from _bad_type(kind)
    if "index" not in task:
        return
    number, finding = _whole(index)
    if finding is not None:
        yield finding
    if number is None or not isinstance(kind, str) or kind not in JOBS:
        return
    if kind not in cluster:
        if kind != EVALUATOR:
            yield _error(
                "TFC108",
                f"task.type is {kind!r}, but cluster has only {', '.join(map(repr, cluster))}.",
                f"Add the job {kind!r}, or correct task.type.",
                "/task/type",
            )
        return
    tasks = cluster[kind]
    count = len(tasks) if isinstance(tasks, list | dict) else None
    if count is not None and not 0 <= number < count:
        have = f"has {count} task(s) (0..{count - 1})" if count else "has no task"
        yield _error(
            "TFC103",
            f'task.index is {number}, but job "{kind}" {have}.',
            f"Set task.index within 0..{count - 1}, or add addresses."
            if count
            else "Add an address.",
            "/task/index",
        )


def _bad_type(kind: Json) -> Iterator[Finding]:
    at = "/task/type"
    if not isinstance(kind, str):
        yield _error("TFC101", f"task.type is {_short(kind)}, not a job name.", _one_of(), at)
    elif kind.lower() in JOBS:
        what, fix = f"task.type {kind!r} has capitals.", f"Write {kind.lower()!r}."
        yield _error("TFC114", what, fix, at)
    elif kind == "master":
        yield _warning("TFC113", "task.type 'master' is TF1's word.", "Write 'chief'.", at)
    else:
        guess = difflib.get_close_matches(kind, JOBS, n=1)
        yield _error(
            "TFC101",
            f"task.type {kind!r} is not a job name.",
            f"Did you mean {guess[0]!r}?" if guess else _one_of(),
            at,
        )


def _one_of() -> str:
    return f"Use one of {', '.join(JOBS)}."


def _whole(index: Json) -> tuple[int | None, Finding | None]:
    at = "/task/index"
    if isinstance(index, int) and not isinstance(index, bool):
        return index, None
    if isinstance(index, str) and index.isascii() and index.isdecimal():
        what, fix = f"task.index is the string {index!r}.", f"Write the number {int(index)}."
        return int(index), _warning("TFC103", what, fix, at)
    return None, _error(
        "TFC103",
        f"task.index is {_short(index)}, not a whole number.",
        "Write a number from 0.",
        at,
        is_type_error=index is None or isinstance(index, list | dict),
    )


# -- helpers ------------------------------------------------------------------------------------


def _short(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


def _error(
    rule: str, what: str, fix: str, pointer: str = "", *, is_type_error: bool = False
) -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        what=what,
        fix=fix,
        pointer=pointer,
        is_type_error=is_type_error,
    )


def _warning(rule: str, what: str, fix: str, pointer: str = "") -> Finding:
    return Finding(rule=rule, severity=Severity.WARNING, what=what, fix=fix, pointer=pointer)


_RULES: tuple[Callable[[Json], Iterator[Finding]], ...] = (
    _rule_is_object,
    _rule_top_keys,
    _rule_cluster,
    _rule_task,
)
