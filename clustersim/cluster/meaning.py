"""Pure: what a well-formed TF_CONFIG may not mean as its writer thinks: warnings and notes.

Looks only at values whose shape is right; whatever is not is somebody else's finding.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from clustersim.cluster.finding import Json, error, note, warning
from clustersim.cluster.scan import pointer_to
from clustersim.cluster.spec import CHIEF, EVALUATOR, PS, WORKER, Address
from clustersim.errors import Finding

LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104  # a name, not bound
"""Hosts that are each machine itself."""


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
    return f"{'localhost' if host in LOOPBACK else host}:{port}"


def _addresses(tasks: Json) -> list[str]:
    values = tasks.values() if isinstance(tasks, dict) else tasks if isinstance(tasks, list) else []
    return [one for one in values if isinstance(one, str)]


def _environment(seen: _Seen) -> Iterator[Finding]:
    environment = seen.value.get("environment")
    if environment in {None, "cloud", "local"}:  # TensorFlow 1's own words
        return
    if environment == "google":
        what = "environment is 'google', so that Estimator starts no server."
        fix = "The launcher must start one; everything else ignores it."
    else:
        what = f"environment is {environment!r}, which nobody knows."
        fix = "TensorFlow 2 ignores it; remove it."
    yield warning("TFC121", what, fix, "/environment")


def _rpc_layer(seen: _Seen) -> Iterator[Finding]:
    layer = seen.value.get("rpc_layer")
    if layer not in {None, "grpc", ""}:
        yield warning("TFC124", f"rpc_layer is {layer!r}.", "Write 'grpc'.", "/rpc_layer")
    if "session_master" in seen.value:
        what = "session_master replaces what master() returns."
        yield warning("TFC125", what, "Remove it, unless that is meant.", "/session_master")


def _evaluator(seen: _Seen) -> Iterator[Finding]:
    if EVALUATOR in seen.addresses and seen.role != EVALUATOR:
        what = "cluster lists the evaluator, which takes no part in the training."
        fix = "List it only in the evaluator's own TF_CONFIG."
        if seen.strategy == "ps":
            what = "cluster lists the evaluator: ParameterServerStrategy's chief waits for it for ever."
            yield warning("TFC123", what, fix, "/cluster/evaluator")
        else:
            yield note("TFC123", what, fix, "/cluster/evaluator")


def _chief(seen: _Seen) -> Iterator[Finding]:
    if CHIEF in seen.addresses and seen.role == WORKER:
        what = "There is a chief, so it saves checkpoints and summaries, not worker 0."
        fix = "Save where strategy.extended.should_checkpoint says so."
        yield note("TFC126", what, fix, "/cluster/chief")


def _ps(seen: _Seen) -> Iterator[Finding]:
    if not seen.addresses.get(PS):
        if seen.strategy == "ps":
            what = "ParameterServerStrategy needs a ps, and there is none: it raises ValueError."
            yield error("TFC128", what, "Add a ps.", "/cluster")
        return
    if seen.strategy in {None, "mwms"} and seen.api is None:
        what = "With MultiWorkerMirroredStrategy TensorFlow 2.21 waits for ps:0 without end."
        fix = "Leave ps out of its cluster; clustersim leaves it out of the group."
        make = warning if seen.strategy == "mwms" else note
        yield make("TFC127", what, fix, "/cluster/ps")
    has_chief = CHIEF in seen.addresses or "master" in seen.addresses
    if not has_chief and seen.strategy in {None, "ps"}:
        what = "There is a ps but no chief: ParameterServerStrategy and Estimator need one."
        yield warning("TFC128", what, "Add a chief.", "/cluster")
    if not seen.addresses.get(WORKER) and (has_chief or seen.strategy == "ps"):
        what = "There is no worker: ParameterServerStrategy computes on workers."
        make_no_worker = error if seen.strategy == "ps" else warning
        yield make_no_worker("TFC130", what, "Add a worker.", "/cluster")


def _estimator(seen: _Seen) -> Iterator[Finding]:
    has_chief = CHIEF in seen.addresses or "master" in seen.addresses
    if seen.api == "estimator" and seen.addresses and not has_chief:
        what = "Estimator must have one chief, and there is none."
        yield error("TFC128", what, "Add a chief.", "/cluster")


def _alone(seen: _Seen) -> Iterator[Finding]:
    training = [a for job in (CHIEF, WORKER, "master") for a in seen.addresses.get(job, [])]
    others = [a for job, those in seen.addresses.items() if job == PS for a in those]
    if len(training) == 1 and not others and seen.role != EVALUATOR:
        what = "This is a cluster of one task: no communication will happen."
        yield note("TFC129", what, "Unset TF_CONFIG for a local run, or add workers.", "/cluster")


def _hosts(seen: _Seen) -> Iterator[Finding]:
    places = list(_places(seen.value))
    near = [one for one in places if _is_nearly_localhost(one.host)]
    if near:
        what = f"{near[0].name}: the host {near[0].host!r} will not resolve on most machines."
        yield warning("TFC132", what, "Did you mean 'localhost'?", near[0].pointer)
    for one in places:
        if set(one.host) <= {"x", "."} and "." in one.host:
            what = f"{one.name}: the host {one.host!r} looks like a redaction, not a host."
            yield warning("TFC132", what, "Write the real one.", one.pointer)
            break
    local = [one for one in places if one.host in LOOPBACK]
    if local and any(one.host not in LOOPBACK and one not in near for one in places):
        first = local[0]
        what = (
            f"{first.name} is {first.host}, beside other hosts: each machine takes it for itself."
        )
        fix = "Write the address under which the others reach it."
        yield warning("TFC131", what, fix, first.pointer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One address that can be read, and where it stands."""

    host: str
    name: str
    pointer: str


def _places(value: Mapping[str, Json]) -> Iterator[_Place]:
    cluster = value.get("cluster")
    for job, tasks in cluster.items() if isinstance(cluster, dict) else ():
        pairs = tasks.items() if isinstance(tasks, dict) else enumerate(_list(tasks))
        for index, address in pairs:
            try:
                host = Address.parse(address).host.lower() if isinstance(address, str) else ""
            except ValueError:
                continue
            name, pointer = f"cluster.{job}[{index}]", pointer_to("cluster", job, index)
            if host:
                yield _Place(host=host, name=name, pointer=pointer)


def _list(tasks: Json) -> list[Json]:
    return tasks if isinstance(tasks, list) else []


def _is_nearly_localhost(host: str) -> bool:
    return host.startswith("localhost") and host not in LOOPBACK and "." not in host


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
