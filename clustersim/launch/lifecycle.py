r"""Pure: what a run does when its tasks start, get ready, fail and end. No clock, no process.

One task goes through these states; the table below has every pair of state and event.

    PENDING -> STARTING -> READY -> SUCCEEDED | FAILED
                   \________\____-> STOPPING -> STOPPED      (we asked it to end)

A run has one phase for all: RUNNING, then STOPPING once its fate is known, then ENDED when every task
is gone. Its fate is decided by role:

    done          every deciding task ended with 0 (`Success` says which tasks decide)
    failed        a task ended otherwise, or ended with 0 while another still needed it
    start limit   a task was not ready in time;  time limit: the run was not over in time
    interrupted   Ctrl-C;  terminated: SIGTERM or SIGHUP, or the launcher is gone

A ps or an evaluator serves: when the deciding tasks are done we stop it, and that is no failure.
After a failure the others get a moment to fail by themselves, so that what they say of it is kept;
whoever says that another task was the reason is a consequence, and that other task the root.

Stopping climbs a ladder of rungs; every rung but the last has a time until the next:

    INT (Ctrl-C only) -> TERM -> KILL
"""

import enum
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from clustersim.cluster.spec import CHIEF, TRAINING_JOBS, WORKER, Task
from clustersim.errors import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EXIT_TIME_LIMIT,
    UsageError,
)

CONSEQUENCE_S = 1.0
"""How long the others may take to fail by themselves after the first failure."""

GOODBYE_S = 0.5
"""How long a ps may take to end by itself once the deciding tasks are done."""

KILL_AFTER_TERM_S = 3.0
"""The last rung after Ctrl-C; a TensorFlow process that waits for its peers ignores all but KILL."""

LOST_GRACE_S = 0.5
"""The grace when the launcher is gone: nobody is left to wait for."""


class State(enum.Enum):
    """Where one task's process is."""

    PENDING = "pending"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


ENDED = frozenset({State.SUCCEEDED, State.FAILED, State.STOPPED})
LIVE = frozenset({State.STARTING, State.READY, State.STOPPING})


class Success(enum.Enum):
    """Which tasks decide a run: it is done when they have ended with 0."""

    AUTO = "auto"
    """The chief and all workers."""
    CHIEF = "chief"
    WORKER0 = "worker0"
    WORKERS = "workers"
    ALL = "all"


class Fate(enum.Enum):
    """How a run ended."""

    DONE = "done"
    FAILED = "failed"
    EARLY_EXIT = "early exit"
    START_LIMIT = "start limit"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"


class Rung(enum.IntEnum):
    """How hard we ask a task to end."""

    WAIT = 0
    INT = 1
    TERM = 2
    KILL = 3


# -- events -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned:
    """The process of a task was started."""

    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A task joined its cluster, or listens if it is not one of ours."""

    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The process of a task ended; `code` is negative for a signal."""

    task: Task
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked:
    """We are about to ask a task to end."""

    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Blamed:
    """A task reports that it fails because of another one."""

    task: Task
    culprit: Task
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissed:
    """A serving task reports that its leader let it go: its end is in order."""

    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRun:
    """Somebody or something outside the tasks ends the run."""

    fate: Fate
    is_launcher_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KillRun:
    """Ctrl-C a second time, or `kill` in Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RungPassed:
    """The time of a rung is over."""

    rung: Rung


TaskEvent: TypeAlias = Spawned | Ready | Exited | StopAsked
Event: TypeAlias = TaskEvent | Blamed | Dismissed | StopRun | KillRun | RungPassed

# -- actions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Send the signal of `rung` to the process group of `task`."""

    task: Task
    rung: Rung


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTimer:
    """Report `RungPassed(rung)` after `delay_s`."""

    rung: Rung
    delay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """Every task is gone."""


Action: TypeAlias = Signal | StartTimer | Finish

# -- state --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """What is known of one task."""

    state: State = State.PENDING
    code: int | None = None
    """The exit code; negative for a signal."""
    order: int | None = None
    """How many tasks had ended before it."""
    blames: Task | None = None
    cause: str = ""
    is_dismissed: bool = False
    """Whether the leader said goodbye to it before it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The whole state of a run. `step` gives the next one."""

    tasks: Mapping[Task, TaskRecord]
    success: Success = Success.AUTO
    grace_s: float = 5.0
    fate: Fate | None = None
    """None while it runs; what `verdict` makes of a FAILED may still be EARLY_EXIT."""
    rung: Rung = Rung.WAIT
    is_launcher_lost: bool = False

    @classmethod
    def of(cls, tasks: Sequence[Task], success: Success, grace_s: float) -> "Run":
        """Returns a run that has not begun.

        Raises:
            UsageError: No task could decide it (CSE103).
        """
        run = cls(
            tasks=MappingProxyType(dict.fromkeys(tasks, TaskRecord())),
            success=success,
            grace_s=grace_s,
        )
        if not run.deciding():
            have = ", ".join(map(str, tasks)) or "no task"
            raise UsageError(
                f"The success rule {success.value!r} has no task to decide the run: there is {have}."
                " Ask for at least one worker or a chief.",
                code="CSE103",
            )
        return run

    def deciding(self) -> tuple[Task, ...]:
        """Returns the tasks that decide."""
        wanted: Callable[[Task], bool] = {
            Success.AUTO: lambda task: task.type in TRAINING_JOBS,
            Success.CHIEF: lambda task: task.type == CHIEF,
            Success.WORKER0: lambda task: task == Task(WORKER, 0),
            Success.WORKERS: lambda task: task.type == WORKER,
            Success.ALL: lambda _task: True,
        }[self.success]
        return tuple(task for task in self.tasks if wanted(task))

    def live(self) -> tuple[Task, ...]:
        """Returns the tasks whose process has not ended."""
        return tuple(task for task, one in self.tasks.items() if one.state in LIVE)

    def is_over(self) -> bool:
        """Returns whether every task is gone."""
        return all(one.state in ENDED for one in self.tasks.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to say of a run that is over."""

    fate: Fate
    exit_code: int
    root: Task | None = None
    """The task that failed first, or that ended while others needed it."""
    consequences: tuple[Task, ...] = ()
    """Tasks that failed because of it."""
    stopped: tuple[Task, ...] = ()
    """Tasks that we ended."""
    ended_early: tuple[Task, ...] = ()
    """Serving tasks that ended with 0 before the deciding tasks were done: a warning."""

    @property
    def ok(self) -> bool:
        """Whether the run succeeded by its rule."""
        return self.fate is Fate.DONE

    @property
    def who(self) -> str:
        """Whose the exit code is: `task` or `launcher`."""
        return "task" if self.fate in {Fate.FAILED, Fate.EARLY_EXIT} else "launcher"


Step: TypeAlias = tuple[Run, tuple[Action, ...]]


class LifecycleError(Exception):
    """An event came in a state that has no place for it: a fault of the supervisor."""


def signal_name(code: int | None) -> str | None:
    """Returns `SIGKILL` for -9, `signal 36` for one without a name, None for what is no signal."""
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"signal {-code}"


def step(run: Run, event: Event) -> Step:
    """Returns the next state, and what to do.

    Raises:
        LifecycleError: The event does not fit the state.
    """
    match event:
        case Blamed():
            return _blamed(run, event), ()
        case Dismissed():
            record = replace(run.tasks[event.task], is_dismissed=True)
            return _with(run, event.task, record), ()
        case StopRun():
            return _stop_run(run, event)
        case KillRun():
            return _climb(replace(run, fate=run.fate or Fate.TERMINATED), Rung.KILL)
        case RungPassed():
            return _rung_passed(run, event)
        case _:
            return _settle(_task_event(run, event))


def verdict(run: Run) -> Verdict:
    """Returns what to say of a run whose tasks are all gone."""
    fate = run.fate or Fate.DONE
    stopped = tuple(t for t, one in run.tasks.items() if one.state is State.STOPPED)
    root = _root(run) if fate is Fate.FAILED else None
    if root is not None and run.tasks[root].code == 0:
        fate = Fate.EARLY_EXIT
    failed = _in_order(run, State.FAILED)
    return Verdict(
        fate=fate,
        exit_code=_exit_code(run, fate, root),
        root=root,
        consequences=tuple(task for task in failed if task != root),
        stopped=stopped,
        ended_early=_ended_early(run),
    )


# -- details ------------------------------------------------------------------------------------


def _task_event(run: Run, event: TaskEvent) -> Run:
    if event.task not in run.tasks:
        raise LifecycleError(f"{event} names a task that is not in this run.")
    record = run.tasks[event.task]
    handler = _TABLE.get((record.state, type(event)))
    if handler is None:
        raise LifecycleError(f"{event} came while {event.task} was {record.state.value}.")
    after = handler(record, event)
    if after.state in ENDED and record.state not in ENDED:
        after = replace(after, order=sum(one.state in ENDED for one in run.tasks.values()))
    return _with(run, event.task, after)


def _with(run: Run, task: Task, record: TaskRecord) -> Run:
    return replace(run, tasks=MappingProxyType({**run.tasks, task: record}))


def _blamed(run: Run, event: Blamed) -> Run:
    record = run.tasks[event.task]
    if record.blames is not None or event.culprit not in run.tasks:
        return run
    return _with(run, event.task, replace(record, blames=event.culprit, cause=event.cause))


def _settle(run: Run) -> Step:
    """Decides whether the run's fate is known now, or whether it is over."""
    if run.is_over():
        return (run if run.fate else replace(run, fate=_fate_of_ended(run))), (Finish(),)
    if run.fate is not None:
        return run, ()
    if any(one.state is State.FAILED for one in run.tasks.values()):
        return _stop_later(replace(run, fate=Fate.FAILED), CONSEQUENCE_S)
    if all(run.tasks[task].state is State.SUCCEEDED for task in run.deciding()):
        return _stop_later(replace(run, fate=Fate.DONE), GOODBYE_S)
    return run, ()


def _fate_of_ended(run: Run) -> Fate:
    failed = any(one.state is State.FAILED for one in run.tasks.values())
    return Fate.FAILED if failed else Fate.DONE


def _stop_later(run: Run, delay_s: float) -> Step:
    return run, (StartTimer(rung=Rung.WAIT, delay_s=delay_s),)


def _stop_run(run: Run, event: StopRun) -> Step:
    run = replace(
        run,
        fate=run.fate or event.fate,
        is_launcher_lost=run.is_launcher_lost or event.is_launcher_lost,
    )
    return _climb(run, Rung.INT if event.fate is Fate.INTERRUPTED else Rung.TERM)


def _rung_passed(run: Run, event: RungPassed) -> Step:
    if event.rung < run.rung:  # a timer of a rung that is behind us
        return run, ()
    return _climb(run, Rung.TERM if run.rung < Rung.TERM else Rung.KILL)


def _climb(run: Run, rung: Rung) -> Step:
    """Asks all live tasks at `rung`, or at the present one if that is higher."""
    rung = max(rung, run.rung)
    live = run.live()
    after = replace(run, rung=rung)
    for task in live:
        after = _task_event(after, StopAsked(task=task))
    for task, record in run.tasks.items():
        if record.state is State.PENDING:
            after = _task_event(after, StopAsked(task=task))
    actions: list[Action] = [Signal(task=task, rung=rung) for task in live]
    if rung < Rung.KILL:
        actions.append(StartTimer(rung=rung, delay_s=_rung_s(run, rung)))
    if after.is_over():
        actions.append(Finish())
    return after, tuple(actions)


def _rung_s(run: Run, rung: Rung) -> float:
    if run.is_launcher_lost:
        return LOST_GRACE_S
    if rung is Rung.TERM and run.fate is Fate.INTERRUPTED:
        return KILL_AFTER_TERM_S
    return run.grace_s


def _in_order(run: Run, state: State) -> list[Task]:
    """Returns the tasks in `state`, in the order in which they ended."""
    those = [(one.order or 0, task) for task, one in run.tasks.items() if one.state is state]
    return [task for _, task in sorted(those)]


def _root(run: Run) -> Task | None:
    """Returns whom the failures go back to: who failed first, or whom it blames, if that one ended."""
    failed = _in_order(run, State.FAILED)
    if not failed:
        return None
    root, seen = failed[0], {failed[0]}
    while (blamed := run.tasks[root].blames) is not None and blamed not in seen:
        if run.tasks[blamed].state not in {State.FAILED, State.SUCCEEDED}:
            break
        root = blamed
        seen.add(root)
    return root


def _exit_code(run: Run, fate: Fate, root: Task | None) -> int:
    if fate is Fate.EARLY_EXIT:
        failed = _in_order(run, State.FAILED)
        return _code_of(run, failed[0]) if failed else 1
    if root is not None:
        return _code_of(run, root)
    return {
        Fate.DONE: 0,
        Fate.START_LIMIT: EXIT_TIME_LIMIT,
        Fate.TIME_LIMIT: EXIT_TIME_LIMIT,
        Fate.INTERRUPTED: EXIT_INTERRUPTED,
        Fate.TERMINATED: EXIT_TERMINATED,
    }.get(fate, 1)


def _code_of(run: Run, task: Task) -> int:
    code = run.tasks[task].code
    if code is None or code == 0:
        return 1
    return code if code > 0 else 128 - code


def _ended_early(run: Run) -> tuple[Task, ...]:
    deciding = run.deciding()
    last = max((run.tasks[task].order or 0 for task in deciding), default=0)
    return tuple(
        task
        for task, one in run.tasks.items()
        if task not in deciding
        and one.state is State.SUCCEEDED
        and not one.is_dismissed
        and (one.order or 0) < last
    )


def _exited(record: TaskRecord, event: Exited) -> TaskRecord:
    state = State.SUCCEEDED if event.code == 0 else State.FAILED
    return replace(record, state=state, code=event.code)


def _exited_on_request(record: TaskRecord, event: Exited) -> TaskRecord:
    return replace(record, state=State.STOPPED, code=event.code)


def _to(state: State) -> "_Handler":
    return lambda record, _event: replace(record, state=state)


def _same(record: TaskRecord, _event: TaskEvent) -> TaskRecord:
    return record


_Handler: TypeAlias = Callable[[TaskRecord, Any], TaskRecord]
"""Each takes the one event type that is in its key."""

_TABLE: Mapping[tuple[State, type[TaskEvent]], _Handler] = MappingProxyType({
    (State.PENDING, Spawned): _to(State.STARTING),
    (State.PENDING, Exited): _exited,  # it could not be started
    (State.PENDING, StopAsked): _to(State.STOPPED),
    (State.STARTING, Ready): _to(State.READY),
    (State.STARTING, Exited): _exited,
    (State.STARTING, StopAsked): _to(State.STOPPING),
    (State.READY, Ready): _same,
    (State.READY, Exited): _exited,
    (State.READY, StopAsked): _to(State.STOPPING),
    (State.STOPPING, Ready): _same,
    (State.STOPPING, Exited): _exited_on_request,
    (State.STOPPING, StopAsked): _same,
    (State.SUCCEEDED, Ready): _same,  # its report was read after its exit
    (State.SUCCEEDED, StopAsked): _same,
    (State.FAILED, Ready): _same,
    (State.FAILED, StopAsked): _same,
    (State.STOPPED, Ready): _same,
    (State.STOPPED, StopAsked): _same,
})  # fmt: skip

REFUSED = frozenset(
    (state, kind)
    for state in State
    for kind in (Spawned, Ready, Exited, StopAsked)
    if (state, kind) not in _TABLE
)
"""Pairs that cannot happen: a second spawn, an exit after the end, ready before the start."""
