"""Pure: several TF_CONFIGs, held against each other: which form a job, and what does not fit in it.

A job is what shares addresses. Two jobs side by side, each whole, are no fault; parts that only
together make a whole one are taken for one job whose maps differ. What containers add to this (names,
replicas, a localhost of their own) stands in `deployment`.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clustersim.cluster.finding import Json
from clustersim.cluster.found import Container
from clustersim.cluster.meaning import LOOPBACK, canonical
from clustersim.cluster.spec import EVALUATOR, Address
from clustersim.errors import Finding, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """A finding that concerns two files, or all of them."""

    files: tuple[str, ...]
    """What it concerns, by the names that were given."""

    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One TF_CONFIG that is part of a job."""

    name: str
    places: Mapping[tuple[str, int], str]
    """The addresses of its map, without an evaluator: only its own map need list it."""

    sparse: frozenset[str]
    """Jobs of which it need not know every task."""

    task: tuple[str, int] | None
    is_sure: bool = True
    """Whether its map is all there: nothing in it is wrong, or filled in later."""

    container: Container | None = None

    @property
    def loopback(self) -> bool:
        """Whether all of its map is on localhost."""
        return bool(self.places) and all(host_of(one) in LOOPBACK for one in self.places.values())

    def keys(self) -> set[str]:
        """Returns its addresses, so that equal ones are one place to listen on."""
        scope = "" if self.container is None else self.container.scope
        network = "" if self.container is None else self.container.network
        return {
            f"{network if host_of(one) in LOOPBACK else scope} {canonical(one)}"
            for one in self.places.values()
        }


def members_of(
    values: Mapping[str, Json],
    containers: Mapping[str, Container] | None = None,
    unsure: Collection[str] = (),
) -> list[Member]:
    """Returns those of the values that are part of a cluster.

    Args:
        values: Decoded TF_CONFIGs by name.
        containers: In which container each is set, where it is in one.
        unsure: The names of those of which a part is wrong, or not known.
    """
    found = []
    for name, value in values.items():
        cluster = value.get("cluster") if isinstance(value, dict) else None
        places = _places(cluster) if isinstance(cluster, dict) else {}
        if isinstance(cluster, dict) and places:
            found.append(
                Member(
                    name=name,
                    places=places,
                    sparse=frozenset(job for job, one in cluster.items() if isinstance(one, dict)),
                    task=_task(value),
                    is_sure=name not in unsure,
                    container=(containers or {}).get(name),
                )
            )
    return found


def compare(values: Mapping[str, Json]) -> list[Between]:
    """Returns what does not fit together, among decoded TF_CONFIGs by name."""
    return [one for job in jobs_of(members_of(values)) for one in compare_job(job)]


def compare_job(
    job: Sequence[Member], *, accounted: frozenset[tuple[str, int]] = frozenset()
) -> list[Between]:
    """Returns what does not fit together in one job.

    Args:
        job: Its TF_CONFIGs.
        accounted: Tasks of which is known already why nobody has them.
    """
    if len(job) < 2:
        return []
    twice = list(_twice(job))
    # The second of two equal tasks is one that is missing elsewhere: that is not said again.
    missing = [] if twice else list(_missing(job, accounted))
    return [*_maps(job), *twice, *missing]


# -- which form a job ---------------------------------------------------------------------------


def jobs_of(members: Sequence[Member]) -> list[list[Member]]:
    """Returns the members job by job."""
    jobs: list[tuple[set[str], list[Member]]] = []
    for member in members:
        keys, together = set(member.keys()), [member]
        apart = []
        for others, those in jobs:
            if others & keys:
                keys |= others
                together = those + together
            else:
                apart.append((others, those))
        jobs = [*apart, (keys, together)]
    order = {member.name: i for i, member in enumerate(members)}
    found = sorted((sorted(those, key=lambda one: order[one.name]) for _, those in jobs),
                   key=lambda those: order[those[0].name])  # fmt: skip
    return _completed(found)


def _completed(jobs: list[list[Member]]) -> list[list[Member]]:
    """Joins parts that are no whole job each, and could be one together."""
    whole = [job for job in jobs if not missing_tasks(job)]
    parts: list[list[Member]] = []
    for job in jobs:
        if not missing_tasks(job):
            continue
        fits = next((one for one in parts if _could_be_one(one, job)), None)
        if fits is None:
            parts.append(list(job))
        else:
            fits += job
    return whole + parts


def _could_be_one(one: Sequence[Member], other: Sequence[Member]) -> bool:
    tasks = [member.task for member in (*one, *other)]
    shapes = {frozenset(member.places) for member in (*one, *other)}
    scopes = {member.container.scope if member.container else "" for member in (*one, *other)}
    return None not in tasks and len(set(tasks)) == len(tasks) and len(shapes) == len(scopes) == 1


def missing_tasks(job: Sequence[Member]) -> set[tuple[str, int]]:
    """Returns the tasks that a map of the job has and no member is."""
    return {place for member in job for place in member.places} - {one.task for one in job}


# -- what does not fit --------------------------------------------------------------------------


def _maps(job: Sequence[Member]) -> Iterator[Between]:
    """Yields each way in which a map differs from the one that most have."""
    variants: dict[tuple[tuple[tuple[str, int], str], ...], list[Member]] = defaultdict(list)
    for member in (one for one in job if one.is_sure):
        variants[tuple(sorted(member.places.items()))].append(member)
    usual = max(variants.values(), key=len, default=[])
    for those in variants.values():
        if those is not usual:
            yield from _differences(usual[0], those)


def _differences(usual: Member, those: Sequence[Member]) -> Iterator[Between]:
    other = those[0]
    files = (usual.name, *(one.name for one in those))
    for job in sorted({job for job, _ in usual.places} | {job for job, _ in other.places}):
        mine = {i: one for (j, i), one in sorted(usual.places.items()) if j == job}
        theirs = {i: one for (j, i), one in sorted(other.places.items()) if j == job}
        if job in usual.sparse | other.sparse:  # then each lists whom it dials
            common = set(mine) & set(theirs)
            mine, theirs = ({i: one[i] for i in sorted(common)} for one in (mine, theirs))
        if mine == theirs:
            continue
        if sorted(mine.values()) == sorted(theirs.values()):
            what = f"{job} has its addresses in a different order."
            fix = "Use one order everywhere: the index means a place in it."
            yield _between(files, "TFC143", what, fix)
        else:
            what = f"The cluster maps differ: {_difference(job, mine, theirs, usual, other)}"
            yield _between(files, "TFC140", what, "Every task must see the same map.")


def _difference(
    job: str, mine: Mapping[int, str], theirs: Mapping[int, str], usual: Member, other: Member
) -> str:
    for index in sorted({*mine, *theirs}):
        if index not in theirs:
            return f"{other.name} lacks {job}:{index}."
        if index not in mine:
            return f"only {other.name} has {job}:{index}."
        if mine[index] != theirs[index]:
            return (
                f"{job}:{index} is {mine[index]} in {usual.name},"
                f" and {theirs[index]} in {other.name}."
            )
    return f"in {job}."


def _twice(job: Sequence[Member]) -> Iterator[Between]:
    taken: dict[tuple[str, int], list[str]] = defaultdict(list)
    for member in job:
        if member.task is not None:
            taken[member.task].append(member.name)
    for (kind, index), names in taken.items():
        if len(names) > 1:
            who = "both" if len(names) == 2 else f"all {len(names)}"
            what = f"{kind}:{index} is the task of {who}."
            yield _between(tuple(names), "TFC141", what, "Give each process its own.")


def _missing(job: Sequence[Member], accounted: frozenset[tuple[str, int]]) -> Iterator[Between]:
    missing = sorted(missing_tasks(job) - accounted)
    tasks = [member.task for member in job]
    is_lost = any(
        one is None or (one[0] != EVALUATOR and one not in job[0].places) for one in tasks
    )
    if missing and not is_lost:  # one whose own place is wrong may be the one that is missing
        names = ", ".join(f"{kind}:{index}" for kind, index in missing[:10])
        what = f"No file has the task {names}."
        files = tuple(member.name for member in job)
        yield _between(files, "TFC142", what, "Add its TF_CONFIG, or take it out.")


def _between(files: tuple[str, ...], rule: str, what: str, fix: str) -> Between:
    severity = Severity.WARNING if rule == "TFC142" else Severity.ERROR
    finding = Finding(rule=rule, severity=severity, what=what, fix=fix)
    return Between(files=files, finding=finding)


# -- reading values -----------------------------------------------------------------------------


def host_of(address: str) -> str:
    """Returns the host of an address, in lower case; '' of what is none."""
    try:
        return Address.parse(address.strip()).host.lower()
    except ValueError:
        return ""


def _places(cluster: Mapping[str, Json]) -> dict[tuple[str, int], str]:
    found = {}
    for job, tasks in cluster.items():
        if job == EVALUATOR:
            continue
        pairs = tasks.items() if isinstance(tasks, dict) else enumerate(_list(tasks))
        for index, address in pairs:
            if str(index).isdecimal() and isinstance(address, str) and len(str(index)) < 10:
                found[job, int(index)] = address
    return found


def _list(tasks: Json) -> list[Json]:
    return tasks if isinstance(tasks, list) else []


def _task(value: Mapping[str, Json]) -> tuple[str, int] | None:
    task = value.get("task")
    index = str(task.get("index", "")) if isinstance(task, dict) else ""
    if not isinstance(task, dict) or not (index.isdecimal() and len(index) < 10):
        return None
    return str(task.get("type")), int(index)


def usual_places(job: Sequence[Member]) -> Mapping[tuple[str, int], str]:
    """Returns the map that most members of a job have."""
    counts = Counter(tuple(sorted(member.places.items())) for member in job)
    return dict(counts.most_common(1)[0][0])
