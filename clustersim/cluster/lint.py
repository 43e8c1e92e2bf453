"""Pure: what can be wrong with a TF_CONFIG, as a table of checks.

Each check looks at the value and yields findings; all are reported at once, in the order in which
they stand in the text. `TFConfig.parse` refuses a value that has an ERROR finding; this module
decides, nobody else. What a broken text leaves unknown is not judged: one cause, one finding.

The rules and their reasons stand in `rules`; the faults of the text itself in `scan` and `syntax`.
Knows nothing of processes, networks or strategies.
"""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from clustersim.cluster import meaning
from clustersim.cluster.scan import Scanned, line_and_column, pointer_to, scan
from clustersim.cluster.spec import CHIEF, EVALUATOR, JOBS, Address
from clustersim.cluster.syntax import SHIFTING, syntax_findings
from clustersim.errors import Finding, Severity

Json: TypeAlias = Any
"""A decoded JSON value of any shape: that is what the checks are there to find out."""

MAX_BYTES = 128 * 1024 - 1
"""What one environment string holds on Linux, its name included."""

MAX_FINDINGS = 50
"""More are not read by anybody; errors come first."""

_MISSING = {"TFC102", "TFC106", "TFC107", "TFC108"}

_KEYS = {"TFC106", "TFC004", "TFC122", "TFC101", "TFC113", "TFC114"}
"""Rules that speak of a key, where they speak of a member of an object."""

_TASK_KEYS = {"type", "index", "cloud", "trial", "environment"}

MAX_TEXT = 2**20
"""A longer text fits no variable, whatever it says, and is not read."""

_TOP_KEYS = {"cluster", "task", "environment", "rpc_layer", "session_master", "job"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What linting found. `value` is what the text most likely means."""

    findings: tuple[Finding, ...]
    value: Json = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse the value."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


def lint_tf_config(text: str, *, strategy: str | None = None, api: str | None = None) -> Linted:
    """Returns everything that is wrong with the text of a TF_CONFIG. Never raises.

    Args:
        text: The value of the variable.
        strategy: What will read it: `mwms`, `ps`, `mirrored`, `one-device`. Default: not known.
        api: `estimator` if that will read it.
    """
    if len(text) > MAX_TEXT:
        return Linted(findings=tuple(_placed(text, scan("{}"), one) for one in _check_size(text)))
    scanned = scan(text)
    findings = syntax_findings(text, scanned)
    if "" not in scanned.unknown:
        for check in _CHECKS:
            findings += check(scanned.value)
        findings += meaning.checks(scanned.value, strategy=strategy, api=api)
    findings += _check_size(text)
    if any(fault.kind in SHIFTING for fault in scanned.faults):
        findings = [
            one for one in findings if one.rule not in _MISSING or one.pointer == "/cluster/task"
        ]
    known = [one for one in findings if not _is_unknown(scanned, one)]
    known.sort(key=lambda one: one.severity is not Severity.ERROR)
    placed = [_placed(text, scanned, one) for one in known[:MAX_FINDINGS]]
    ordered = sorted(
        placed, key=lambda one: (one.severity is not Severity.ERROR, one.line, one.column)
    )
    return Linted(findings=tuple(ordered), value=scanned.value)


def _is_unknown(scanned: Scanned, finding: Finding) -> bool:
    """Returns whether a finding speaks of a part that the text leaves unknown."""
    if finding.line:  # the text's own fault
        return False
    return any(
        finding.pointer == part or finding.pointer.startswith(part + "/")
        for part in scanned.unknown
    )


def _placed(text: str, scanned: Scanned, finding: Finding) -> Finding:
    """Returns the finding with line and column, those of the nearest part that has some."""
    if finding.line:
        return finding
    pointer = finding.pointer
    if finding.rule in _KEYS and pointer in scanned.keys and pointer != "/task/type":
        line, column = line_and_column(text, scanned.keys[pointer])
        return replace(finding, line=line, column=column)
    while pointer and pointer not in scanned.offsets:
        pointer = pointer.rpartition("/")[0]
    line, column = line_and_column(text, scanned.offsets.get(pointer, 0))
    return replace(finding, line=line, column=column)


# -- shape --------------------------------------------------------------------------------------


def _check_size(text: str) -> Iterator[Finding]:
    size_bytes = len(text.encode(errors="replace")) + len("TF_CONFIG=")
    if size_bytes > MAX_BYTES:
        yield error(
            "TFC005",
            f"The value has {size_bytes} bytes, more than one environment variable holds"
            f" ({MAX_BYTES}).",
            "Use shorter host names, or fewer tasks.",
        )


def _check_object(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a string", type(None): "null"}.get(type(value), "a number")
        yield error(
            "TFC002",
            f"The value is {kind}, not an object.",
            'Write {"cluster": {...}, "task": {...}}.',
            is_type_error=value is None or isinstance(value, int | float),
        )


def _check_top_keys(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    if "cluster" not in value and value and all(key in JOBS for key in value):
        yield error(
            "TFC006",
            f"The jobs {sorted(value)} stand at the top level.",
            'Wrap them: {"cluster": {...}, "task": {...}}.',
        )
        return
    for key in value:
        if key not in _TOP_KEYS:
            yield _unknown_key(key, value)


def _unknown_key(key: str, value: Mapping[str, Json]) -> Finding:
    if key == "sparseCluster":
        make = warning if "cluster" in value else error
        what = "'sparseCluster' is Kubeflow's key for dynamic workers; TensorFlow does not read it."
        return make("TFC122", what, "Write 'cluster', with every task in it.", pointer_to(key))
    guess = difflib.get_close_matches(key, ["cluster", "task"], n=1)
    likely = guess[0] if guess else None
    is_lost = likely is not None and likely not in value
    return Finding(
        rule="TFC004",
        severity=Severity.ERROR if is_lost else Severity.WARNING,
        what=f"{key!r} is no key that TensorFlow reads.",
        fix=f"Did you mean {likely!r}?" if likely else "Remove it.",
        pointer=pointer_to(key),
        is_fixable=is_lost,
    )


# -- cluster ------------------------------------------------------------------------------------


def _check_cluster(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict) or "cluster" not in value:
        return
    cluster = value["cluster"]
    if not isinstance(cluster, dict):
        yield error(
            "TFC111",
            f"cluster is {short(cluster)}, not an object of job names and address lists.",
            'Write {"worker": ["localhost:2222"]}.',
            "/cluster",
            is_type_error=True,
        )
        return
    task = value.get("task")
    role = task.get("type") if isinstance(task, dict) else None
    for job, tasks in cluster.items():
        if job == "task" and isinstance(tasks, dict) and "task" not in value:
            what = "task stands inside cluster: a bracket is missing before it."
            yield error("TFC106", what, "Close cluster first.", "/cluster/task")
            continue
        yield from _check_job(job, tasks, role)
    yield from _check_duplicates(cluster)


def _check_job(job: str, tasks: Json, role: Json) -> Iterator[Finding]:
    at = pointer_to("cluster", job)
    is_bare = job not in JOBS and not guess_job(job)
    if job not in JOBS:
        yield _unknown_job(job, at, is_bare=is_bare)
    if isinstance(tasks, dict):
        found = list(_check_sparse(job, tasks, at))
        addresses = tasks
    elif isinstance(tasks, list):
        found, addresses = [], dict(enumerate(tasks))
    else:
        yield _not_a_list(job, tasks, at)
        return
    if not addresses:
        yield warning("TFC111", f"cluster.{job} has no address.", "Add one, or remove it.", at)
    if job in {CHIEF, EVALUATOR} and len(addresses) > 1:
        yield error(
            "TFC109" if job == CHIEF else "TFC110",
            f"cluster.{job} has {len(addresses)} addresses, but only one {job} is allowed.",
            "Keep one; further tasks are workers.",
            at,
        )
    # An evaluator that the cluster does not list dials nobody, so the others' addresses are moot.
    is_moot = is_bare or (role == EVALUATOR and job != EVALUATOR)
    found += _check_addresses(job, addresses, at)
    for one in found:
        yield replace(one, severity=Severity.WARNING) if is_moot else one


def _not_a_list(job: str, tasks: Json, at: str) -> Finding:
    text = f'"{tasks}"' if isinstance(tasks, str) else "..."
    parts = [part.strip() for part in tasks.split(",")] if isinstance(tasks, str) else []
    fix = json.dumps(parts) if parts else '["localhost:2222"]'
    return error(
        "TFC111",
        f"cluster.{job} must be a list of addresses, not {short(tasks)}.",
        f"Write {fix}{' instead of ' + text if parts else ''}.",
        at,
        is_type_error=True,
        is_fixable=bool(parts) and all(_is_address(part) for part in parts),
    )


def guess_job(job: str) -> str | None:
    """Returns the job that a name is likely to mean: `ps_hosts`, `wroker`, `Worker`, `master`."""
    name = job.strip().lower()
    if name in JOBS:
        return name
    if name.startswith("workerpool"):
        return None  # Vertex AI's word, which means another role for each number
    if name == "master":
        return CHIEF
    stem = name if name == "ps" else name.removesuffix("_hosts").removesuffix("s")
    for one in (name.removesuffix("_hosts"), stem):
        if one in JOBS:
            return one
    guess = difflib.get_close_matches(name, JOBS, n=1, cutoff=0.7)
    return guess[0] if guess else None


def _unknown_job(job: str, at: str, *, is_bare: bool) -> Finding:
    guess = guess_job(job)
    if job.strip().lower() in JOBS:
        return error(
            "TFC114", f"The job {job!r} has capitals or blanks.", f"Write {guess!r}.", at,
            is_fixable=True,
        )  # fmt: skip
    if job == "master":
        # Estimator still takes it; strategies refuse it by name, in `roles.validate`.
        return warning(
            "TFC113", "The job 'master' is TF1's word.", "Write 'chief'.", at, is_fixable=True
        )
    if job.lower().startswith("workerpool"):
        what = f"{job!r} is a job of Vertex AI's CLUSTER_SPEC, which TensorFlow does not read."
        return error("TFC101", what, "Read TF_CONFIG there: Vertex AI sets both.", at)
    return Finding(
        rule="TFC101",
        # A bare server takes any name; a name that is nearly right is a slip.
        severity=Severity.WARNING if is_bare else Severity.ERROR,
        what=f"{job!r} is no job that strategies know; they know {', '.join(JOBS)}.",
        fix=f"Did you mean {guess!r}?" if guess else "It suits a bare server only.",
        pointer=at,
        is_fixable=guess is not None,
    )


def _check_sparse(job: str, tasks: Mapping[str, Json], at: str) -> Iterator[Finding]:
    bad = [key for key in tasks if not (key.isascii() and key.isdecimal())]
    if bad:
        yield error(
            "TFC112",
            f"cluster.{job} has the key {bad[0]!r} where an index belongs.",
            'Write a list, or {"0": "localhost:2222"}.',
            f"{at}{pointer_to(bad[0])}",
        )
        return
    indices = sorted({int(key) for key in tasks if len(key) < 10})
    if indices != list(range(len(tasks))):
        yield error(
            "TFC112",
            f"cluster.{job} is sparse: it has the indices {indices[:10]}.",
            f"Strategies need 0..{len(tasks) - 1}; write a list.",
            at,
        )


def _is_address(text: str) -> bool:
    try:
        Address.parse(text)
    except ValueError:
        return False
    return True


def _check_addresses(job: str, addresses: Mapping[Any, Json], at: str) -> Iterator[Finding]:
    """One finding for each kind of fault in a job, at its first place."""
    faults: dict[str, list[Finding]] = {}
    for index, address in addresses.items():
        for kind, one in _check_address(address, f"cluster.{job}[{index}]", f"{at}/{index}"):
            faults.setdefault(kind, []).append(one)
    for those in faults.values():
        more = f" ({len(those)} like it)" if len(those) > 1 else ""
        yield replace(those[0], what=those[0].what.removesuffix(".") + more + ".")


def _check_address(address: Json, name: str, at: str) -> Iterator[tuple[str, Finding]]:
    if not isinstance(address, str):
        what = f"{name} is {short(address)}, not an address."
        yield "type", error("TFC105", what, 'Write "host:port".', at, is_type_error=True)
        return
    if not address.strip():
        fix = "Write host:port; an empty string split on ',' gives ['']."
        yield "empty", error("TFC105", f"{name} is an empty address.", fix, at)
        return
    try:
        Address.parse(address)
    except ValueError as fault:
        kind = str(fault).replace(repr(address), "")
        fix = 'Write "host:port", such as "a1:2222".'
        is_fixable = _is_address(bare_address(address))
        yield kind, error("TFC105", f"{name}: {fault}.", fix, at, is_fixable=is_fixable)


def bare_address(address: str) -> str:
    """Returns an address without a scheme and without blanks around it."""
    return address.strip().rpartition("://")[2].rstrip("/")


def _check_duplicates(cluster: Mapping[str, Json]) -> Iterator[Finding]:
    """One finding for each address that several tasks have."""
    places: dict[str, list[tuple[str, str, str]]] = {}
    for job, tasks in cluster.items():
        if not isinstance(tasks, dict | list):
            continue
        for index, address in tasks.items() if isinstance(tasks, dict) else enumerate(tasks):
            if isinstance(address, str) and _is_address(address):
                place = (f"cluster.{job}[{index}]", address, pointer_to("cluster", job, index))
                places.setdefault(meaning.canonical(address), []).append(place)
    for those in places.values():
        if len(those) > 1:
            _, address, pointer = those[1]
            names = " and ".join(name for name, _, _ in those[:2])
            times = "twice" if len(those) == 2 else f"{len(those)} times"
            yield error(
                "TFC104",
                f"{address} is used {times}: {names}{', ...' if len(those) > 2 else ''}.",
                "Two servers cannot share a port; give each its own.",
                pointer,
            )


# -- task ---------------------------------------------------------------------------------------


def _check_task(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    cluster = value.get("cluster", {})
    has_cluster = isinstance(cluster, dict) and bool(cluster)
    if "task" not in value:
        misspelt = difflib.get_close_matches("task", [k for k in value if k not in _TOP_KEYS], n=1)
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
        yield from _check_place(task, cluster)
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


def _check_place(task: Mapping[str, Json], cluster: Mapping[str, Json]) -> Iterator[Finding]:
    kind, index = task.get("type"), task.get("index")
    for key in ("type", "index"):
        if key not in task:
            yield _missing_key(key, task)
    known = isinstance(kind, str) and (kind in JOBS or kind in cluster)
    if "type" in task and not known:
        yield _bad_type(kind)
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


def _bad_type(kind: Json) -> Finding:
    at, one_of = "/task/type", f"Use one of {', '.join(JOBS)}."
    if not isinstance(kind, str):
        return error("TFC101", f"task.type is {short(kind)}, not a job name.", one_of, at)
    guess = guess_job(kind)
    if kind == "master":
        what = "task.type 'master' is TF1's word."
        return warning("TFC113", what, "Write 'chief'.", at, is_fixable=True)
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
        what, fix = f"task.index is the string {index!r}.", f"Write the number {int(index)}."
        return int(index), warning("TFC103", what, fix, at, is_fixable=True)
    return None, error(
        "TFC103",
        f"task.index is {short(index)}, not a whole number.",
        "Write a number from 0.",
        at,
        is_type_error=index is None or isinstance(index, list | dict),
    )


# -- making findings ----------------------------------------------------------------------------


def short(value: Json) -> str:
    """Returns a value as JSON, cut to what fits into a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def error(
    rule: str,
    what: str,
    fix: str,
    pointer: str = "",
    *,
    is_type_error: bool = False,
    is_fixable: bool = False,
) -> Finding:
    """Returns a finding that refuses the value."""
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        what=what,
        fix=fix,
        pointer=pointer,
        is_type_error=is_type_error,
        is_fixable=is_fixable,
    )


def warning(
    rule: str, what: str, fix: str, pointer: str = "", *, is_fixable: bool = False
) -> Finding:
    """Returns a finding that does not refuse the value."""
    return Finding(
        rule=rule,
        severity=Severity.WARNING,
        what=what,
        fix=fix,
        pointer=pointer,
        is_fixable=is_fixable,
    )


_CHECKS: tuple[Callable[[Json], Iterator[Finding]], ...] = (
    _check_object,
    _check_top_keys,
    _check_cluster,
    _check_task,
)
