"""Pure: who takes part in a run: the state machine of its leader.

A run has one leader (chief:0, else the first worker). Every task joins it, the leader too. The
training tasks (chief and workers) are the *group*: when all of them have joined it is formed, once,
and gets generation 1. A ps is a member, never part of the group; an evaluator is neither.

    state    meaning
    ABSENT   not there yet, or gone before the group was formed
    ALIVE    admitted, and its Join stream is open
    LEFT     said goodbye
    DEAD     its stream broke without a goodbye

What happens in each state is the table at the end. A stream that breaks is a death at once: on
loopback and in containers a TCP connection does not break for nothing, and keepalive pings break it
for a peer that is frozen. So there is no state "suspect" and no clock here.

Before the group is formed nothing is lost: a task may die and come back in another process. After
that a death raises the generation, whoever waits for the dead task is told, and the task is not let
in again: its memory of earlier collectives is gone, so all tasks must be started anew.

Every message carries the incarnation of its sender, and an arrival at a barrier the generation that
the sender knew: without that check an arrival delayed by a restart would release a barrier early
(tests/runtime/test_membership.py searches all interleavings, and finds it when the check is off).
"""

import enum
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from clustersim.cluster.spec import TRAINING_JOBS, ClusterSpec, Task

PROTOCOL_VERSION = 1


class State(enum.Enum):
    """Where one task is; see the module's header."""

    ABSENT = "absent"
    ALIVE = "alive"
    LEFT = "left"
    DEAD = "dead"


class RefusalKind(enum.Enum):
    """Why a task is not admitted."""

    VERSION = "version"
    MAP = "map"
    DUPLICATE = "duplicate"
    RESTARTED = "restarted"
    CLUSTER = "cluster"


# -- events -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A task asks for admission. `cluster_id` is empty if it was started by hand."""

    task: Task
    incarnation: int
    version: int = PROTOCOL_VERSION
    cluster_id: str = ""
    cluster_map: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """The Join stream of a task ended, for whatever reason."""

    task: Task
    incarnation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """A task says goodbye. `failure` is empty if it is simply done."""

    task: Task
    incarnation: int
    num_calls: Mapping[str, int] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive:
    """A task stands at a barrier; `generation` is the one it knows."""

    task: Task
    incarnation: int
    generation: int
    barrier: str


Event: TypeAlias = Join | Disconnect | Leave | Arrive

# -- actions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    """Answer: the task is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Answer: the task is not let in, or what it sent is stale; nothing changed."""

    kind: RefusalKind
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """To all: the view as it now is."""

    generation: int
    members: tuple[tuple[Task, int], ...]
    """(task, incarnation) in rank order once the group is formed; empty before."""
    missing: tuple[Task, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Depart:
    """To all: a task is gone."""

    task: Task
    is_dead: bool
    num_calls: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """To all: everyone arrived at a barrier."""

    barrier: str
    generation: int


Action: TypeAlias = Admit | Refuse | Announce | Depart | Release

# -- the state ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What is known of one task."""

    state: State = State.ABSENT
    incarnation: int = 0
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The whole state. `step` gives the next one."""

    spec: ClusterSpec
    cluster_id: str
    generation: int = 0
    """0 until the group is formed; every death after that adds 1."""
    places: Mapping[Task, Place] = field(default_factory=dict)
    arrivals: Mapping[str, frozenset[Task]] = field(default_factory=dict)
    released: frozenset[str] = frozenset()

    def place(self, task: Task) -> Place:
        """Returns what is known of a task."""
        return self.places.get(task, Place())

    def is_formed(self) -> bool:
        """Returns whether the group was ever complete."""
        return self.generation > 0

    def view(self) -> Announce:
        """Returns the view as it is, as a new watcher must hear it first."""
        group = self.spec.training_tasks()
        missing = [t for t in group if self.place(t).state is State.ABSENT]
        members = [(t, self.place(t).incarnation) for t in group] if self.is_formed() else []
        return Announce(generation=self.generation, members=tuple(members), missing=tuple(missing))


Step: TypeAlias = tuple[Membership, tuple[Action, ...]]


def step(membership: Membership, event: Event) -> Step:
    """Returns the next state, and what to answer and tell."""
    if event.task not in membership.spec.tasks():
        return membership, (Refuse(kind=RefusalKind.MAP, reason=_unknown(membership, event.task)),)
    place = membership.place(event.task)
    handler = _TABLE[place.state, type(event)]
    return handler(membership, place, event)


def _with(membership: Membership, task: Task, place: Place) -> Membership:
    return replace(membership, places=MappingProxyType({**membership.places, task: place}))


def _join(membership: Membership, _place: Place, event: Join) -> Step:
    refusal = _refusal(membership, event)
    if refusal is None and membership.is_formed() and event.task.type in TRAINING_JOBS:
        refusal = _restarted(event.task)
    if refusal is not None:
        return membership, (refusal,)
    alive = Place(state=State.ALIVE, incarnation=event.incarnation, pid=event.pid)
    after = _with(membership, event.task, alive)
    group = after.spec.training_tasks()
    if not after.is_formed() and all(after.place(t).state is State.ALIVE for t in group):
        after = replace(after, generation=1)
    return after, (Admit(), after.view())


def _join_again(membership: Membership, place: Place, event: Join) -> Step:
    if place.incarnation == event.incarnation:
        return membership, (Admit(),)
    refusal = _refusal(membership, event)
    if refusal is not None:  # says more than that the place is taken
        return membership, (refusal,)
    reason = (
        f"{event.task} is already there, in process {place.pid}. Give each process its own"
        " task.index, or end the other one."
    )
    return membership, (Refuse(kind=RefusalKind.DUPLICATE, reason=reason),)


def _disconnect(membership: Membership, place: Place, event: Disconnect) -> Step:
    if place.incarnation != event.incarnation:
        return membership, ()
    return _gone(membership, event.task, place, Depart(task=event.task, is_dead=True))


def _leave(membership: Membership, place: Place, event: Leave) -> Step:
    if place.incarnation != event.incarnation:
        return membership, ()
    departure = Depart(
        task=event.task, is_dead=False, num_calls=event.num_calls, reason=event.failure
    )
    return _gone(membership, event.task, place, departure)


def _gone(membership: Membership, task: Task, place: Place, departure: Depart) -> Step:
    if not membership.is_formed():
        after = _with(membership, task, Place())
        return after, (after.view(),)
    state = State.DEAD if departure.is_dead else State.LEFT
    after = _with(membership, task, replace(place, state=state))
    if departure.is_dead and task.type in TRAINING_JOBS:
        after = replace(after, generation=after.generation + 1, arrivals={})
    return after, (departure,)


def _arrive(membership: Membership, place: Place, event: Arrive) -> Step:
    if place.incarnation != event.incarnation or event.generation != membership.generation:
        reason = (
            f"{event.task} arrived at {event.barrier!r} in generation {event.generation}, but it is"
            f" {membership.generation} now. Start all tasks anew."
        )
        return membership, (Refuse(kind=RefusalKind.RESTARTED, reason=reason),)
    if event.barrier in membership.released:
        return membership, (Release(barrier=event.barrier, generation=membership.generation),)
    arrived = membership.arrivals.get(event.barrier, frozenset()) | {event.task}
    arrivals = {**membership.arrivals, event.barrier: arrived}
    if not set(membership.spec.training_tasks()) <= arrived:
        return replace(membership, arrivals=arrivals), ()
    del arrivals[event.barrier]
    after = replace(membership, arrivals=arrivals, released=membership.released | {event.barrier})
    return after, (Release(barrier=event.barrier, generation=after.generation),)


def _not_there(membership: Membership, place: Place, event: Arrive) -> Step:
    reason = f"{event.task} is {place.state.value}, so it cannot arrive. Start all tasks anew."
    return membership, (Refuse(kind=RefusalKind.RESTARTED, reason=reason),)


def _nothing(membership: Membership, _place: Place, _event: Event) -> Step:
    return membership, ()


def _refusal(membership: Membership, event: Join) -> Refuse | None:
    if event.version != PROTOCOL_VERSION:
        reason = (
            f"{event.task} speaks protocol version {event.version}, the leader {PROTOCOL_VERSION}."
            " Install one clustersim version in all processes."
        )
        return Refuse(kind=RefusalKind.VERSION, reason=reason)
    if event.cluster_id not in {"", membership.cluster_id}:
        reason = (
            f"{event.task} belongs to run {event.cluster_id!r}, the leader to"
            f" {membership.cluster_id!r}. End what an earlier run left on these addresses."
        )
        return Refuse(kind=RefusalKind.CLUSTER, reason=reason)
    difference = _first_difference(membership.spec, event.cluster_map)
    if difference:
        reason = (
            f"{event.task} has another cluster map: {difference}. Give every process the same map."
        )
        return Refuse(kind=RefusalKind.MAP, reason=reason)
    return None


def _restarted(task: Task) -> Refuse:
    reason = (
        f"{task} was part of the group in another process, which ended. A restarted task cannot"
        " rejoin a running group; start all tasks anew."
    )
    return Refuse(kind=RefusalKind.RESTARTED, reason=reason)


def _first_difference(spec: ClusterSpec, cluster_map: str) -> str:
    """Returns where a caller's map differs, in words; empty if it does not."""
    try:
        theirs = ClusterSpec(json.loads(cluster_map)) if cluster_map else spec
    except (ValueError, TypeError) as error:
        return f"it cannot be read ({error})"
    if theirs.digest() == spec.digest():
        return ""
    for task in sorted({*spec.tasks(), *theirs.tasks()}):
        mine, other = _address(spec, task), _address(theirs, task)
        if mine != other:
            return f"{task} is {other} there and {mine} at the leader"
    return ""


def _address(spec: ClusterSpec, task: Task) -> str:
    return spec.task_address(task.type, task.index) if task in spec.tasks() else "missing"


def _unknown(membership: Membership, task: Task) -> str:
    known = ", ".join(map(str, membership.spec.tasks()))
    return f"{task} is not in the leader's cluster map, which has {known}."


_Handler: TypeAlias = Callable[[Membership, Place, Any], Step]
"""Each takes the one event type that is in its key."""

_TABLE: Mapping[tuple[State, type[Event]], _Handler] = MappingProxyType(
    {
        (State.ABSENT, Join): _join,
        (State.ABSENT, Disconnect): _nothing,
        (State.ABSENT, Leave): _nothing,
        (State.ABSENT, Arrive): _not_there,
        (State.ALIVE, Join): _join_again,
        (State.ALIVE, Disconnect): _disconnect,
        (State.ALIVE, Leave): _leave,
        (State.ALIVE, Arrive): _arrive,
        (State.LEFT, Join): _join,
        (State.LEFT, Disconnect): _nothing,
        (State.LEFT, Leave): _nothing,
        (State.LEFT, Arrive): _not_there,
        (State.DEAD, Join): _join,
        (State.DEAD, Disconnect): _nothing,
        (State.DEAD, Leave): _nothing,
        (State.DEAD, Arrive): _not_there,
    }
)
