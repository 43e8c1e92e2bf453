"""Pure: every error of clustersim, as one tree, and the table of their codes.

    ClusterSimError
    ├── UsageError              CSE1xx  the command or the call itself is wrong
    ├── SpecError               CSE2xx  a TF_CONFIG or a cluster that cannot be accepted (ValueError)
    │   ├── SpecSyntaxError             ... because it is not JSON (json.JSONDecodeError)
    │   └── SpecTypeError               ... because a part has the wrong type (TypeError)
    ├── StartError              CSE2xx  a run could not be started
    │   └── NotReady            CSE3xx  ... because not all tasks were ready in time
    ├── TaskFailed              CSE4xx  a task of a run failed
    ├── TimedOut                CSE4xx  a time limit of a run passed
    ├── SupervisorLost          CSE9xx  the process that watches a run is gone
    └── OpError                 CSE5xx  what a TensorFlow program can catch, by TensorFlow's names
        ├── AbortedError                the group was aborted; starting anew may help
        ├── DataLossError               a file is not what it was said to be
        ├── DeadlineExceededError       a peer was too late
        ├── FailedPreconditionError     the system is not in the state that the call needs
        ├── InternalError               an invariant broke: data damaged, protocol violated
        ├── InvalidArgumentError        the call disagrees with its peers' or with its own arguments
        ├── NotFoundError               something named does not exist
        ├── OutOfRangeError             the end of the data
        ├── PermissionDeniedError       the system does not let this user read something
        ├── ResourceExhaustedError      no memory, or a limit reached
        ├── UnavailableError            a peer ended, died or cannot be reached
        ├── UnimplementedError          a thing that TensorFlow does not do, either
        └── UnknownError                something outside failed: an address that cannot be bound

Wrong arguments within one process are plain ValueError and TypeError, as in TensorFlow.
Each error answers by attribute: `definite` (it surely did not happen), `retryable`, `task` (whom it
concerns) and `code` (a row of `CODES`). What one process raises for another's fault also has `cause`.
"""

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

EXIT_USAGE = 2
EXIT_NOT_STARTED = 69
EXIT_OUR_BUG = 70
EXIT_TIME_LIMIT = 75
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCode:
    """One row of the table of codes."""

    code: str
    meaning: str
    """What happened, in one sentence."""
    advice: str
    """What to do about it, in one sentence."""
    exit_code: int
    """What `clustersim` exits with when this error ends a command; see interface 2."""


def _table(*rows: tuple[str, int, str, str]) -> Mapping[str, ErrorCode]:
    return MappingProxyType(
        {
            code: ErrorCode(code=code, meaning=meaning, advice=advice, exit_code=exit_code)
            for code, exit_code, meaning, advice in rows
        }
    )


CODES: Mapping[str, ErrorCode] = _table(
    # 1xx: usage
    ("CSE101", 2, "An option or an argument is wrong.", "See `clustersim run --help`."),
    ("CSE102", 2, "A documented option is not built yet.", "Leave it out in this version."),
    ("CSE103", 2, "The cluster has no task that could decide the run.",
     "Ask for at least one worker or a chief."),
    ("CSE104", 2, "A cluster or task was named in a way that does not fit.",
     "Name a task as `worker:0` and a cluster by counts or addresses."),
    # 2xx: before the start
    ("CSE201", 69, "The script cannot be run.", "Check its path, or its syntax."),
    ("CSE202", 2, "TF_CONFIG was refused.", "Correct what each finding names."),
    ("CSE203", 69, "An address is in use.", "Stop its owner, or choose another port."),
    ("CSE204", 69, "An address is not on this machine's loopback.",
     "Use localhost, or set CLUSTERSIM_LISTEN=own and CLUSTERSIM_INSECURE_NETWORK=1."),
    ("CSE205", 69, "The run folder cannot be written.", "Give a writable one with --log-dir."),
    ("CSE206", 69, "The interpreter or program cannot be started.", "Check that it exists."),
    ("CSE207", 69, "An address cannot be bound.", "Check that the host name is this machine's."),
    ("CSE208", 69, "No container engine answers, or it refuses.",
     "Do what its words say; `docker info` and `docker compose version` must work."),
    ("CSE209", 69, "The image of the tasks is not there, or lacks something.",
     "Build it (docs/compose.md), or name another with --image."),
    # 3xx: start
    ("CSE301", 75, "Not all tasks were ready in time.",
     "Read the log of the task that is missing, or raise --start-timeout."),
    ("CSE302", 69, "A task was refused by its cluster.", "Start all tasks with one cluster map."),
    # 4xx: run
    ("CSE401", 1, "A task failed.", "Read its traceback and its log."),
    ("CSE402", 75, "The run passed its time limit.", "Raise --timeout, or see who was waiting."),
    ("CSE403", 1, "A task ended with 0 while others still needed it.",
     "Give every task the same number of steps."),
    ("CSE404", 1, "No such task in this run.", "Use one of the run's tasks."),
    # 5xx: collectives and membership inside a task
    ("CSE501", 1, "Calls of one collective differ between tasks.",
     "Make every task call the same collectives in the same order."),
    ("CSE502", 1, "A task ended while others were in a later collective.",
     "Give every task the same number of steps."),
    ("CSE503", 1, "A task died, or its connection broke.", "See that task's log; start all anew."),
    ("CSE504", 1, "A task did not come in time.", "See what it does, or raise the timeout."),
    ("CSE505", 1, "Data arrived damaged or out of order.", "This is a fault of ours; report it."),
    ("CSE506", 1, "An earlier collective of this group failed.",
     "Make a new strategy, or start all tasks anew."),
    ("CSE507", 1, "A task of another run, generation or incarnation called.",
     "End what an earlier run left, then start anew."),
    # 9xx: ours
    ("CSE901", 70, "Something in clustersim itself failed.", "This is our fault; report it."),
    ("CSE902", 70, "The supervisor of a run is gone.", "Its tasks were ended; start anew."),
)  # fmt: skip


class Cause(enum.Enum):
    """Why a peer's fault reached this process."""

    PEER_FAILED = "peer failed"
    PEER_FROZEN = "peer frozen"
    EARLY_EXIT = "early exit"
    MIXED_CALLS = "calls of different lines were combined"
    MISMATCH = "calls differ"
    TIMEOUT = "time limit"
    DATA_CORRUPT = "data corrupt"
    STALE = "stale peer"


class Severity(enum.Enum):
    """How bad a finding is: only an ERROR refuses the value."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """Where it stands in a report: errors first, notes last."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a TF_CONFIG, and what to do about it."""

    rule: str
    """Stable code, such as `TFC103`."""
    severity: Severity
    what: str
    """A full sentence with the value, where it stands and what was expected."""
    fix: str
    """A full sentence with the next step."""
    pointer: str = ""
    """JSON pointer to the place, such as `/task/index`; empty for the whole value."""
    line: int = 0
    """Where it stands in the text, from 1; 0 where there is no text."""
    column: int = 0
    is_type_error: bool = False
    """Whether TensorFlow raises TypeError here, where it otherwise raises ValueError."""
    is_fixable: bool = False
    """Whether there is one mechanical correction."""

    def __str__(self) -> str:
        """One line, in the form of every message of ours."""
        return f"TF_CONFIG: {self.what} {self.fix} [{self.rule}]"


class ClusterSimError(Exception):
    """The root of all errors that clustersim raises for reasons outside one call.

    Args:
        message: What, value, where, expected, next step; the code is appended.
        code: A key of `CODES`, or None for errors that carry their own (findings).
        task: The task concerned, as `worker:1`.
        definite: Whether the thing asked for surely did not happen. When in doubt: False.
        retryable: Whether the same call may succeed if it is simply made again.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        task: str | None = None,
        definite: bool = False,
        retryable: bool = False,
    ) -> None:
        # Not super(): in a class that is also a JSONDecodeError that would be the wrong one.
        Exception.__init__(self, f"{message} [{code}]" if code else message)
        self.message = message
        self.code = code
        self.task = task
        self.definite = definite
        self.retryable = retryable

    @property
    def exit_code(self) -> int:
        """What a command that ends with this error exits with."""
        row = CODES.get(self.code or "")
        return row.exit_code if row else 1


class UsageError(ClusterSimError):
    """The command or the call is wrong; nothing was started."""

    def __init__(self, message: str, *, code: str = "CSE101") -> None:
        super().__init__(message, code=code, definite=True)


class SpecError(ClusterSimError, ValueError):
    """A TF_CONFIG, or a cluster, that cannot be accepted. `findings` holds all that is wrong."""

    def __init__(self, message: str, *, findings: Sequence[Finding] = ()) -> None:
        ClusterSimError.__init__(self, message, definite=True)
        self.findings = tuple(findings)
        self.code = findings[0].rule if findings else "CSE202"

    @property
    def exit_code(self) -> int:
        """Refused before anything was started."""
        return EXIT_USAGE


class SpecSyntaxError(SpecError, json.JSONDecodeError):
    """A TF_CONFIG that is not JSON; also a json.JSONDecodeError, as TensorFlow raises."""

    def __init__(
        self, message: str, *, findings: Sequence[Finding] = (), doc: str = "", pos: int = 0
    ) -> None:
        json.JSONDecodeError.__init__(self, message, doc, pos)
        SpecError.__init__(self, message, findings=findings)
        self.args = (message,)  # without JSONDecodeError's own "line 1 column 2": ours names it


class SpecTypeError(SpecError, TypeError):
    """A TF_CONFIG with a part of the wrong type; also a TypeError, as TensorFlow raises."""


class StartError(ClusterSimError):
    """A run could not be started; nothing of it is left."""

    def __init__(self, message: str, *, code: str, task: str | None = None) -> None:
        super().__init__(message, code=code, task=task, definite=True)


class NotReady(StartError):
    """Not all tasks were ready in time. `missing` names them."""

    def __init__(self, message: str, *, missing: Sequence[str]) -> None:
        super().__init__(message, code="CSE301", task=missing[0] if missing else None)
        self.missing = tuple(missing)


class TaskFailed(ClusterSimError):
    """A task of a run failed: the first one; what failed because of it is a consequence."""

    def __init__(
        self,
        message: str,
        *,
        task: str,
        code: str = "CSE401",
        task_exit_code: int | None = None,
        signal: str | None = None,
        traceback: str = "",
        log: str = "",
    ) -> None:
        super().__init__(message, code=code, task=task)
        self._exit_code = task_exit_code
        self.signal = signal
        self.traceback = traceback
        self.log = log

    @property
    def exit_code(self) -> int:
        """The task's own exit code (128 + n for a signal), else 1."""
        return self._exit_code if self._exit_code is not None else 1


class TimedOut(ClusterSimError):
    """A time limit of a run passed. `waiting_for` names the tasks that others waited for."""

    def __init__(self, message: str, *, waiting_for: Sequence[str] = ()) -> None:
        super().__init__(message, code="CSE402", task=waiting_for[0] if waiting_for else None)
        self.waiting_for = tuple(waiting_for)


class SupervisorLost(ClusterSimError):
    """The supervisor of a run is gone; the launcher ended the tasks it knew of."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="CSE902")


class OpError(ClusterSimError):
    """What an operation of a TensorFlow program can raise; leaves carry TensorFlow's names.

    Args:
        message: What, value, where, expected, next step; the code is appended.
        code: A key of `CODES`.
        task: The task concerned, as `worker:1`.
        cause: Why a peer's fault reached this process, if one did.
        rank: The rank of that peer in the communicator, if known.
        incarnation: Which start of that peer it was, if known.
        step: The number of the collective call (1-based) in which it was noticed, if known.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        task: str | None = None,
        cause: Cause | None = None,
        rank: int | None = None,
        incarnation: int | None = None,
        step: int | None = None,
    ) -> None:
        super().__init__(message, code=code, task=task)
        self.cause = cause
        self.rank = rank
        self.incarnation = incarnation
        self.step = step


class AbortedError(OpError):
    """The group was aborted, for example because a task was started a second time."""


class DataLossError(OpError):
    """A file cannot be read as what it was said to be."""


class DeadlineExceededError(OpError):
    """A peer did not come within the limit that the caller gave."""


class FailedPreconditionError(OpError):
    """The system is not in the state that the call needs."""


class InternalError(OpError):
    """An invariant broke: damaged data, calls of different kind or dtype at one place."""


class InvalidArgumentError(OpError):
    """The call disagrees with its peers' (shape), or an argument cannot be used."""


class NotFoundError(OpError):
    """Something named does not exist."""


class OutOfRangeError(OpError):
    """The end of the data."""


class PermissionDeniedError(OpError):
    """The system does not let this user read something."""


class ResourceExhaustedError(OpError):
    """No memory left, or a limit of ours was reached."""


class UnavailableError(OpError):
    """A peer ended, died or cannot be reached."""


class UnimplementedError(OpError):
    """What TensorFlow does not do, either: a cast from text to numbers, for example."""


class UnknownError(OpError):
    """Something outside failed, for example an address that cannot be bound."""
