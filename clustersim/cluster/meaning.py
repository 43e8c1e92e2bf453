"""Pure: what a well-formed TF_CONFIG may not mean as its writer thinks: warnings and notes.

Looks only at values whose shape is right; whatever is not is somebody else's finding.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from clustersim.cluster.spec import CHIEF, EVALUATOR, PS, WORKER, Address
from clustersim.errors import Finding, Severity

Json: TypeAlias = Any

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A value, and who will read it."""

    value: Mapping[str, Json]
    addresses: Mapping[str, list[str]]
    """By job."""

    role: str | None
    strategy: str | None
    api: str | None


def checks(value: Json, *, strategy: str | None, api: str | None) -> Iterator[Finding]:
    """Yields what may be meant otherwise."""
    if not isinstance(value, dict):
        return
    cluster = value.get("cluster")
    jobs = cluster if isinstance(cluster, dict) else {}
    task = value.get("task")
    seen = _Seen(
        value=value,
        addresses={job: _addresses(tasks) for job, tasks in jobs.items()},
        role=str(task.get("type")) if isinstance(task, dict) else None,
        strategy=strategy,
        api=api,
    )
    for check in _CHECKS:
        yield from check(seen)


def canonical(address: str) -> str:
    """Returns an address so that two spellings of one place are equal."""
    host, _, port = address.strip().lower().rpartition(":")
    host = host.strip("[]")
    return f"{'localhost' if host in _LOOPBACK else host}:{port}"


def _addresses(tasks: Json) -> list[str]:
    values = tasks.values() if isinstance(tasks, dict) else tasks if isinstance(tasks, list) else []
    return [one for one in values if isinstance(one, str)]


def _environment(seen: _Seen) -> Iterator[Finding]:
    environment = seen.value.get("environment")
    if environment in {None, "cloud"}:
        return
    if environment == "google":
        what = "environment is 'google', so that Estimator starts no server."
        fix = "The launcher must start one; everything else ignores it."
    else:
        what = f"environment is {environment!r}, which nobody knows."
        fix = "TensorFlow 2 ignores it; remove it."
    yield _warning("TFC121", what, fix, "/environment")


def _rpc_layer(seen: _Seen) -> Iterator[Finding]:
    layer = seen.value.get("rpc_layer")
    if layer not in {None, "grpc", ""}:
        yield _warning("TFC124", f"rpc_layer is {layer!r}.", "Write 'grpc'.", "/rpc_layer")
    if "session_master" in seen.value:
        what = "session_master replaces what master() returns."
        yield _warning("TFC125", what, "Remove it, unless that is meant.", "/session_master")


def _evaluator(seen: _Seen) -> Iterator[Finding]:
    if EVALUATOR in seen.addresses and seen.role != EVALUATOR:
        what = "cluster lists the evaluator, which takes no part in the training."
        fix = "List it only in the evaluator's own TF_CONFIG."
        yield _note("TFC123", what, fix, "/cluster/evaluator")


def _chief(seen: _Seen) -> Iterator[Finding]:
    if CHIEF in seen.addresses and seen.role == WORKER:
        what = "There is a chief, so it saves checkpoints and summaries, not worker 0."
        yield _note("TFC126", what, "Save where strategy.extended.should_checkpoint says so.")


def _ps(seen: _Seen) -> Iterator[Finding]:
    if not seen.addresses.get(PS):
        if seen.strategy == "ps":
            what = "ParameterServerStrategy needs a ps, and there is none."
            yield _warning("TFC128", what, "Add a ps.", "/cluster")
        return
    if seen.strategy in {None, "mwms"} and seen.api is None:
        what = "With MultiWorkerMirroredStrategy TensorFlow 2.21 waits for ps:0 without end."
        fix = "Leave ps out of its cluster; clustersim leaves it out of the group."
        severity = Severity.WARNING if seen.strategy == "mwms" else Severity.NOTE
        yield _finding("TFC127", severity, what, fix, "/cluster/ps")
    has_chief = CHIEF in seen.addresses or "master" in seen.addresses
    if not has_chief and seen.strategy in {None, "ps"}:
        what = "There is a ps but no chief: ParameterServerStrategy and Estimator need one."
        yield _warning("TFC128", what, "Add a chief.", "/cluster")
    if has_chief and not seen.addresses.get(WORKER):
        what = "There is no worker: ParameterServerStrategy computes on workers."
        yield _warning("TFC130", what, "Add a worker.", "/cluster")


def _estimator(seen: _Seen) -> Iterator[Finding]:
    has_chief = CHIEF in seen.addresses or "master" in seen.addresses
    if seen.api == "estimator" and seen.addresses and not has_chief:
        what = "Estimator must have one chief, and there is none."
        yield _finding("TFC128", Severity.ERROR, what, "Add a chief.", "/cluster")


def _alone(seen: _Seen) -> Iterator[Finding]:
    training = [a for job in (CHIEF, WORKER, "master") for a in seen.addresses.get(job, [])]
    others = [a for job, those in seen.addresses.items() if job == PS for a in those]
    if len(training) == 1 and not others and seen.role != EVALUATOR:
        what = "This is a cluster of one task: no communication will happen."
        yield _note("TFC129", what, "Unset TF_CONFIG for a local run, or add workers.", "/cluster")


def _hosts(seen: _Seen) -> Iterator[Finding]:
    hosts = set()
    for those in seen.addresses.values():
        for address in those:
            try:
                hosts.add(Address.parse(address).host.lower())
            except ValueError:
                continue
    near = sorted(
        h for h in hosts if h.startswith("localhost") and h not in _LOOPBACK and "." not in h
    )
    if near:
        what = f"The host {near[0]!r} will not resolve on most machines."
        yield _warning("TFC132", what, "Did you mean 'localhost'?", "/cluster")
    redacted = sorted(host for host in hosts if set(host) <= {"x", "."} and "." in host)
    if redacted:
        what = f"The host {redacted[0]!r} looks like a redaction, not a host."
        yield _warning("TFC132", what, "Write the real one.", "/cluster")
    local = hosts & _LOOPBACK
    if local and hosts - _LOOPBACK - set(near):
        what = f"{min(local)} stands beside other hosts: each machine takes it for itself."
        fix = "Write the address under which the others reach it."
        yield _warning("TFC131", what, fix, "/cluster")


def _warning(rule: str, what: str, fix: str, pointer: str = "") -> Finding:
    return _finding(rule, Severity.WARNING, what, fix, pointer)


def _note(rule: str, what: str, fix: str, pointer: str = "") -> Finding:
    return _finding(rule, Severity.NOTE, what, fix, pointer)


def _finding(rule: str, severity: Severity, what: str, fix: str, pointer: str = "") -> Finding:
    return Finding(rule=rule, severity=severity, what=what, fix=fix, pointer=pointer)


_CHECKS: tuple[Callable[[_Seen], Iterator[Finding]], ...] = (
    _environment,
    _rpc_layer,
    _evaluator,
    _chief,
    _ps,
    _estimator,
    _alone,
    _hosts,
)
