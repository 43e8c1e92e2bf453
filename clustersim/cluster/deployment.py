"""Pure: TF_CONFIGs in containers: whether each process is its own task, and is found where the map says.

A container has its own localhost unless it shares a network, names under which others reach it, and
perhaps replicas, which all get the same TF_CONFIG.
"""

import difflib
import ipaddress
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from clustersim.cluster.compare import (
    Between,
    Member,
    compare_job,
    host_of,
    jobs_of,
    members_of,
    missing_tasks,
    usual_places,
)
from clustersim.cluster.finding import Json, error
from clustersim.cluster.found import HOST_NETWORK, Container
from clustersim.cluster.meaning import LOOPBACK
from clustersim.cluster.spec import Task
from clustersim.errors import Finding

_ORDINAL = {
    "StatefulSet": "Take the index from the Pod's ordinal: ${HOSTNAME##*-} in a shell.",
    "Job": "Set completionMode: Indexed, and take the index from $JOB_COMPLETION_INDEX.",
    "JobSet": "Take the index from $JOB_COMPLETION_INDEX, and the job's own from its label.",
    "service": "Write one service for each task, each with its own index.",
    "Volcano": "Take the index from $VC_TASK_INDEX.",
}
_OTHERWISE = "Use a StatefulSet, and take the index from the Pod's ordinal."


def compare_all(
    values: Mapping[str, Json],
    owners: Mapping[str, Container],
    containers: Sequence[Container] = (),
    unsure: Collection[str] = (),
) -> list[Between]:
    """Returns what does not fit together in files, their containers included.

    Args:
        values: Decoded TF_CONFIGs by name.
        owners: In which container each is set, where it is in one.
        containers: All containers that the files describe, those without a TF_CONFIG, too.
        unsure: The names of those of which a part is wrong, or not known.
    """
    members = members_of(values, owners, unsure)
    local = list(_localhost(members))
    moot = {name for one in local for name in one.files}
    found = local
    for job in jobs_of(members):
        replicated = list(_replicated(job))
        silent = dict(_silent(job, containers))
        accounted = frozenset(silent)
        if replicated:
            accounted = frozenset(missing_tasks(job))
        found += [*replicated, *silent.values(), *compare_job(job, accounted=accounted)]
        if not replicated and not any(member.name in moot for member in job):
            found += _hosts(job, containers, accounted)
    return found


def _localhost(members: Sequence[Member]) -> Iterator[Between]:
    """Yields maps of localhost whose tasks are in containers that do not share one."""
    same: dict[tuple[str, tuple[object, ...]], list[Member]] = defaultdict(list)
    for member in members:
        container = member.container
        if container is None or container.network == HOST_NETWORK or not member.loopback:
            continue
        if len(member.places) > 1:
            same[container.scope, tuple(sorted(member.places.items()))].append(member)
    for those in same.values():
        inside: dict[str, list[Member]] = defaultdict(list)
        for member in those:
            inside[member.container.network if member.container else ""].append(member)
        is_split = len(inside) > 1 or any(m.container and m.container.replicas > 1 for m in those)
        if is_split and any(missing_tasks(group) for group in inside.values()):
            first = those[0]
            host = host_of(next(iter(first.places.values())))
            names = sorted({one.container.place for one in those if one.container})
            what = (
                f"The map says {host}, and {_listed(names)} {'is' if len(names) == 1 else 'are'}"
                f" in containers of their own: each takes {host} for itself."
            )
            yield _between(those, error("TFC131", what, _instead(those)))


def _instead(members: Sequence[Member]) -> str:
    is_service = all(m.container and m.container.makes == "service" for m in members)
    names = [min(m.container.names, key=len) for m in members if m.container and m.container.names]
    example = f", as {names[0]}:2222" if names else ""
    whose = "the service's name" if is_service else "the Pod's name in its headless Service"
    return f"Write {whose} instead{example}."


def _replicated(job: Sequence[Member]) -> Iterator[Between]:
    for member in job:
        container = member.container
        if container is None or container.replicas < 2 or member.task is None:
            continue
        what = (
            f"{container.place} has {container.replicas} replicas, and all of them are"
            f" {Task(*member.task)}: its index is fixed."
        )
        fix = _ORDINAL.get(container.makes, _OTHERWISE)
        yield _between([member], error("TFC144", what, fix))


def _silent(
    job: Sequence[Member], containers: Sequence[Container]
) -> Iterator[tuple[tuple[str, int], Between]]:
    """Yields the tasks whose container is here, and has no TF_CONFIG."""
    scopes = {member.container.scope for member in job if member.container}
    for place in sorted(missing_tasks(job)):
        host = host_of(usual_places(job).get(place, ""))
        for one in containers:
            if one.scope in scopes and not one.has_tf_config and _has_name(one, host):
                what = (
                    f"{one.place} (line {one.line}) is {Task(*place)} in the map, and sets no"
                    " TF_CONFIG: it trains alone, while the others wait for it."
                )
                fix = "Give it the same cluster, and a task of its own."
                yield place, _between([job[0]], error("TFC145", what, fix))
                break


def _hosts(
    job: Sequence[Member],
    containers: Sequence[Container],
    accounted: frozenset[tuple[str, int]],
) -> Iterator[Between]:
    """Yields the hosts of a map that are nobody's name here, or another task's."""
    tasks = Counter(member.task for member in job)
    placed = {
        member.task: member
        for member in job
        if member.task and member.container and tasks[member.task] == 1
    }
    scopes = {member.container.scope for member in job if member.container}
    here = [one for one in containers if one.scope in scopes]
    hosts = {place: host_of(one) for place, one in usual_places(job).items()}
    for place, host in hosts.items():
        if place in accounted or not host or host in LOOPBACK or _is_number(host):
            continue
        owners = [one for one in here if _has_name(one, host)]
        holder = placed.get(place)
        own = holder.container if holder else None
        if owners and own is not None and own.network not in {one.network for one in owners}:
            what = (
                f"{Task(*place)} is at {host!r} in the map, which is {owners[0].place}; its own"
                f" container is {own.place}."
            )
            fix = "Correct the index or the order of the map."
            yield _between([holder, *job] if holder else job, error("TFC147", what, fix), most=1)
        elif not owners and (finding := _unknown(place, host, own, here, set(hosts.values()))):
            yield _between([holder] if holder else job, finding, most=1)


def _unknown(
    place: tuple[str, int],
    host: str,
    own: Container | None,
    here: Sequence[Container],
    hosts: set[str],
) -> Finding | None:
    """Returns the finding for a host that no container here has as its name; None if it may be."""
    if any(host in one.elsewhere for one in here):
        return None
    is_service = any(one.makes == "service" for one in here)
    label = host if is_service else host.partition(".")[0]
    free = {name for one in here for name in one.names if not any(_has_name(one, h) for h in hosts)}
    likely = _near(label, free)
    is_wrong = own is not None and own.is_closed and not (is_service and "." in host)
    if likely is None and not is_wrong:
        return None
    kinds = "service, host name, alias or container" if is_service else "Pod or Service"
    what = f"{host!r}, where the map has {Task(*place)}, is the name of no {kinds} here."
    shown = sorted(min(one.names, key=len) for one in here if one.names)
    fix = f"Did you mean {likely!r}?" if likely else f"The names here are {_listed(shown)}."
    return error("TFC146", what, fix)


def _near(label: str, names: set[str]) -> str | None:
    found = difflib.get_close_matches(label, sorted(names, key=len), n=1, cutoff=0.75)
    return found[0] if found else None


def _has_name(container: Container, host: str) -> bool:
    """Returns whether a host is a container; in Kubernetes the first part of a name decides."""
    if container.makes == "service":
        return host in container.names
    return bool(host) and host.partition(".")[0] in container.names


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more


def _between(members: Sequence[Member | None], finding: Finding, most: int = 10) -> Between:
    names = tuple(one.name for one in members if one is not None)
    return Between(files=names[:most], finding=finding)
