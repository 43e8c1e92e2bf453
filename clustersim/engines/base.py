"""What a run is, whoever runs it: its specification, the running thing, its result.

A `RunSpec` is a value; an engine starts it. Knows nothing of processes.
"""

import difflib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from clustersim.cluster.spec import ClusterSpec
from clustersim.errors import StartError, TaskFailed, TimedOut
from clustersim.launch.lifecycle import Fate, Success, signal_name
from clustersim.launch.plan import GRACE_S, START_TIMEOUT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One program, in every task of a cluster."""

    cluster: ClusterSpec = field(default_factory=lambda: ClusterSpec(worker=2))
    """Counts (ports are chosen at launch) or addresses. Default: 2 workers."""

    script: str | None = None
    """A Python file, or..."""

    module: str | None = None
    """... a module, as `python -m` takes it."""

    args: tuple[str, ...] = ()
    success: Success = Success.AUTO
    timeout_s: float | None = None
    """How long the whole run may take. Default: as long as it likes."""

    start_timeout_s: float = START_TIMEOUT_S
    """How long a task may need to get ready, from when the first one listens."""

    grace_s: float = GRACE_S
    """How long a task has to end once it is asked, before it is killed."""

    num_threads: int | None = None
    """Threads for each task. Default: cores divided by tasks."""

    log_dir: Path | None = None
    """Where numbered run folders go. Default: `.clustersim/runs` here."""

    listen: str = "loopback"
    insecure_network: bool = False
    devices: str = ""
    """Simulated devices in each task, in the words of CLUSTERSIM_DEVICES."""

    environ: Mapping[str, str] = field(default_factory=dict)
    """Set in every task, over what it would have else."""

    def task_environ(self) -> dict[str, str]:
        """Returns what is set in every task because of this specification."""
        devices = {"CLUSTERSIM_DEVICES": self.devices} if self.devices else {}
        return {**devices, **self.environ}

    def words(self) -> tuple[str, ...]:
        """Returns the interpreter's arguments; none if neither script nor module is given."""
        if self.module is not None:
            return ("-m", self.module, *self.args)
        return () if self.script is None else (self.script, *self.args)

    def program(self) -> tuple[str, ...]:
        """Returns the interpreter's arguments, once the program was looked at.

        Raises:
            StartError: There is no such script, or Python cannot read it (CSE201).
        """
        if self.script is not None and self.module is None:
            _check_script(Path(self.script))
        elif self.module is None:
            raise StartError("No script is given. Name one, or a module with -m.", code="CSE201")
        return self.words()


def _check_script(path: Path) -> None:
    if path.is_dir():
        raise StartError(f"{path} is a folder, not a script. Name a file in it.", code="CSE201")
    if not path.is_file():
        near = [one.name for one in path.parent.glob("*.py")] if path.parent.is_dir() else []
        guess = difflib.get_close_matches(path.name, near, n=1)
        hint = f"Did you mean {path.parent / guess[0]}?" if guess else "Check the path."
        raise StartError(f"No such script: {path}. {hint}", code="CSE201")
    try:
        with warnings.catch_warnings(action="ignore"):  # each task shows the script's own
            compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()
        place = f" in line {error.lineno}: {line}" if error.lineno else ""
        raise StartError(
            f"{path} cannot be run: {error.msg}{place}. Correct it.",
            code="CSE201",
        ) from None
    except (OSError, ValueError) as error:  # not readable, or bytes that are no source
        raise StartError(f"{path} cannot be read: {error}.", code="CSE201") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What became of one task."""

    task: str
    exit_code: int | None
    """Negative for a signal; None if it was never started."""

    state: str
    """`succeeded`, `failed`, or `stopped` (by us)."""

    log: str
    tail: tuple[str, ...] = ()
    error: str | None = None
    """The last line of its traceback."""

    where: str | None = None
    """The innermost line of its own program in that traceback: `train.py:9 in main()`."""

    source: str | None = None
    traceback: str | None = None
    step: int | None = None
    """The last step that it reported."""

    waiting: str | None = None
    """What it said last that it waited for."""

    cause: str | None = None
    """Why it says that another task made it fail: the name of a `Cause`."""

    last_words: str | None = None
    """The line that looks like a failure, of a task that ended with 0."""

    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended."""

    fate: Fate
    exit_code: int
    tasks: Mapping[str, TaskResult]
    root: str | None = None
    """The task that failed first, or that ended while others needed it."""

    consequences: tuple[str, ...] = ()
    ended_early: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """The tasks that were not ready at the start limit."""

    folder: str = ""
    duration_s: float = 0.0
    wanted_tasks: int = 0
    verdict: tuple[str, ...] = ()
    """The last words on the run, as `clustersim run` prints them."""

    @property
    def ok(self) -> bool:
        """Whether the run succeeded by its rule."""
        return self.fate is Fate.DONE

    @property
    def first_failure(self) -> TaskResult | None:
        """What became of the task that failed first."""
        return self.tasks.get(self.root) if self.root else None

    def report(self) -> str:
        """Returns the verdict, as `clustersim run` prints it."""
        return "\n".join(self.verdict)

    def raise_for_status(self) -> None:
        """Does nothing for a run that succeeded.

        Raises:
            TaskFailed: A task failed.
            TimedOut: A time limit passed.
        """
        if self.ok:
            return
        failed = self.first_failure
        if failed is not None:
            code = "CSE403" if self.fate is Fate.EARLY_EXIT else "CSE401"
            raise TaskFailed(
                self.report(),
                task=failed.task,
                code=code,
                task_exit_code=self.exit_code,
                signal=signal_name(failed.exit_code),
                traceback=failed.traceback or "",
                log=failed.log,
            )
        raise TimedOut(self.report(), waiting_for=self.missing)


class Run(Protocol):
    """A run that was started, on whatever engine. Thread-safe."""

    def states(self) -> dict[str, str]:
        """Returns the state of every task: pending, starting, ready, stopping or how it ended."""
        ...

    def wait(self, timeout_s: float | None = None) -> RunResult:
        """Waits for the end; raises TimedOut if it does not come in time."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Waits until every task is ready; raises NotReady if they are not in time."""
        ...

    def stop(self) -> None:
        """Asks all tasks to end; they are killed if they do not within the grace time."""
        ...

    def kill(self, task: str | None = None) -> None:
        """Kills one task, or all."""
        ...
