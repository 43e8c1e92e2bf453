"""Pure: what can be wrong with the cluster map of a TF_CONFIG: its jobs and their addresses."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from clustersim.cluster.finding import Json, error, short, warning
from clustersim.cluster.meaning import canonical
from clustersim.cluster.scan import pointer_to
from clustersim.cluster.spec import CHIEF, EVALUATOR, JOBS, TRAINING_JOBS, Address
from clustersim.errors import Finding, Severity

STRICT = {"mwms", "ps"}
"""The strategies that refuse a job they do not know."""


def check_cluster(value: Json, strategy: str | None) -> Iterator[Finding]:
    """Yields what is wrong with `cluster`, for who will read it: see `lint_tf_config`."""
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
        yield from _check_job(job, tasks, role, strategy)
    yield from _check_duplicates(cluster)


def _check_job(job: str, tasks: Json, role: Json, strategy: str | None) -> Iterator[Finding]:
    at = pointer_to("cluster", job)
    is_bare = job not in JOBS and not guess_job(job) and strategy not in STRICT
    if job not in JOBS:
        yield _unknown_job(job, at, is_bare=is_bare, strategy=strategy)
    if isinstance(tasks, dict):
        found = list(_check_sparse(job, tasks, at, strategy))
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


def _unknown_job(job: str, at: str, *, is_bare: bool, strategy: str | None) -> Finding:
    guess = guess_job(job)
    if job.strip().lower() in JOBS:
        return error(
            "TFC114", f"The job {job!r} has capitals or blanks.", f"Write {guess!r}.", at,
            is_fixable=True,
        )  # fmt: skip
    if job == "master":
        return masters_word("The job 'master' is TF1's word.", at, strategy)
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


def masters_word(what: str, at: str, strategy: str | None) -> Finding:
    """Returns the finding for TF1's `master`: Estimator still takes it, strategies refuse it."""
    make = error if strategy in STRICT else warning
    return make("TFC113", what, "Write 'chief'.", at, is_fixable=True)


def _check_sparse(
    job: str, tasks: Mapping[str, Json], at: str, strategy: str | None
) -> Iterator[Finding]:
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
        # Servers, and the strategy with ps, take a map that leaves out whom this task never dials.
        make = error if strategy == "mwms" and job in TRAINING_JOBS else warning
        yield make(
            "TFC112",
            f"cluster.{job} is sparse: it has the indices {indices[:10]}.",
            f"MultiWorkerMirroredStrategy needs 0..{len(tasks) - 1}; a server takes it.",
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
                places.setdefault(canonical(address), []).append(place)
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
