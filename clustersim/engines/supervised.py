"""What the engines of this machine share: a run that a supervisor process watches.

It starts a supervisor and follows what that says; the supervisor starts, watches and ends the tasks.
The supervisor lives as long as its stdin is open, which this process holds: whatever becomes of this
process, nothing of the run stays. If the supervisor dies instead, what it had started is ended here.
"""

import contextlib
import html
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from clustersim.cluster.spec import ClusterSpec
from clustersim.engines.base import RunResult, RunSpec, TaskResult
from clustersim.engines.report import verdict_lines
from clustersim.errors import (
    CODES,
    EXIT_USAGE,
    ClusterSimError,
    NotReady,
    StartError,
    SupervisorLost,
    TimedOut,
    UsageError,
)
from clustersim.launch.launcher import start_time
from clustersim.launch.lifecycle import Fate, Run
from clustersim.launch.logs import make_run_folder
from clustersim.launch.plan import RunPlan

_log = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 20.0
"""How long leaving the with-block may take: the ladder of a stop, and some air."""

Event = Mapping[str, Any]
"""One object of the event stream, interface 7."""


@dataclass(slots=True, kw_only=True)
class _TaskView:
    """What the events said of one task so far."""

    address: str
    state: str = "pending"
    pid: int | None = None
    started: str = ""
    counters: dict[str, float] = field(default_factory=dict)


class SupervisedCluster:
    """A run under a supervisor; its kinds say where tasks run, and what the arguments are."""

    def __init__(
        self,
        script: str | os.PathLike[str] | RunSpec,
        spec: ClusterSpec | None = None,
        *,
        args: Sequence[str] = (),
        on_event: Callable[[Event], None] | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(script, RunSpec):
            self.spec = script
        else:
            cluster = spec or ClusterSpec(worker=2)
            self.spec = RunSpec(
                cluster=cluster, script=os.fspath(script), args=tuple(args), **settings
            )
        self.name = ""
        self.folder = Path()
        self._on_event = on_event or _ignore
        self._changed = threading.Condition()  # guards all below
        self._tasks: dict[str, _TaskView] = {}
        self._is_ready = False
        self._missing: tuple[str, ...] = ()
        self._end: Event | None = None
        self._failure: Exception | None = None
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._reader = threading.Thread(target=self._follow, name="cs-engines-events", daemon=True)

    # -- life -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the run; returns at once."""
        Run.of(self.spec.cluster.tasks(), self.spec.success, self.spec.grace_s)  # refuses early
        program = self.spec.program()
        self._check()
        self.folder, self.name = make_run_folder(self.spec.log_dir)
        plan = self._plan(program)
        self._supervisor = subprocess.Popen(
            # -P: a module in the user's folder must not stand in for one of ours.
            [sys.executable, "-P", "-m", "clustersim.launch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._reader.start()
        with contextlib.suppress(OSError):  # it is gone already; the reader says so
            self._write(plan.to_json())

    def __enter__(self) -> Self:
        """Starts the run."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends whatever still runs."""
        self.close()

    def close(self) -> None:
        """Ends whatever still runs, and joins the supervisor. A second call does nothing."""
        supervisor = self._supervisor
        if supervisor is None or supervisor.stdin is None:
            return
        if not self.is_over():
            self.stop()
            with contextlib.suppress(TimedOut, SupervisorLost):
                self.wait(timeout_s=CLOSE_TIMEOUT_S)
        with contextlib.suppress(OSError):
            supervisor.stdin.close()
        try:
            supervisor.wait(CLOSE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait(CLOSE_TIMEOUT_S)
        self._reader.join(CLOSE_TIMEOUT_S)

    # -- what the engines differ in ---------------------------------------------------------------

    def _check(self) -> None:
        """Refuses what cannot be started, before there is a run folder."""

    def _plan(self, program: tuple[str, ...]) -> RunPlan:
        """Returns what the supervisor is to start; `program` is the interpreter's arguments."""
        spec = self.spec
        return RunPlan(
            folder=str(self.folder),
            name=self.name,
            cluster={
                job: [address or "" for address in spec.cluster.job_tasks(job)]
                for job in spec.cluster.jobs
            },
            command=(sys.executable, *program),
            success=spec.success.value,
            timeout_s=spec.timeout_s,
            start_timeout_s=spec.start_timeout_s,
            grace_s=spec.grace_s,
            num_threads=spec.num_threads,
            listen=spec.listen,
            insecure_network=spec.insecure_network,
            environ=spec.task_environ(),
        )

    def _end_leftovers(self) -> None:
        """Ends what a supervisor that died had started."""
        for one in self._tasks.values():
            # Pid and start time say that it is the same process.
            if one.pid is not None and one.started and start_time(one.pid) == one.started:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(one.pid, signal.SIGKILL)

    # -- waiting --------------------------------------------------------------------------------

    def is_over(self) -> bool:
        """Returns whether the run has ended."""
        with self._changed:
            return self._end is not None or self._failure is not None

    def wait_ready(self, timeout_s: float) -> None:
        """Waits until every task is ready.

        Raises:
            NotReady: Some are not in time, or the run ended before; `missing` names them.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_ready or self._end is not None or self._failure is not None,
                timeout_s,
            )
            self._raise_failure()
            if not self._is_ready:
                missing = [name for name, one in self._tasks.items() if one.state != "ready"]
                how = "before the run ended" if self._end is not None else f"in {timeout_s:g} s"
                raise NotReady(
                    f"Not all tasks were ready {how}: {', '.join(missing) or 'none started'}. See"
                    f" {self.folder}.",
                    missing=missing,
                )

    def wait(self, timeout_s: float | None = None) -> RunResult:
        """Waits for the end and returns the result.

        Raises:
            TimedOut: The run is not over in time; it goes on.
            SupervisorLost: The supervisor died; its tasks were ended.
            StartError: The run could not be started.
        """
        with self._changed:
            over = self._changed.wait_for(
                lambda: self._end is not None or self._failure is not None, timeout_s
            )
            self._raise_failure()
            if not over or self._end is None:
                live = [
                    name for name, one in self._tasks.items() if one.state in {"ready", "starting"}
                ]
                raise TimedOut(
                    f"Run {self.name} is not over after {timeout_s:g} s: {', '.join(live)} still run."
                    " Wait longer, or call stop().",
                    waiting_for=live,
                )
            return self._result(self._end)

    # -- acting ---------------------------------------------------------------------------------

    def interrupt(self) -> None:
        """Ends the run as Ctrl-C does."""
        self._do("interrupt")

    def stop(self) -> None:
        """Asks all tasks to end; they are killed if they do not within the grace time."""
        self._do("terminate")

    def kill(self, task: str | None = None) -> None:
        """Kills one task, or all of them."""
        self._do("kill", task)

    def __getitem__(self, task: str) -> "TaskHandle":
        """Returns a handle on one task; KeyError if there is none of that name."""
        with self._changed:
            if task not in self._tasks and task not in map(str, self.spec.cluster):
                raise KeyError(f"{task!r} is not in this run, which has {list(self._tasks)}.")
        return TaskHandle(self, task)

    def states(self) -> dict[str, str]:
        """Returns the state of every task."""
        with self._changed:
            return {name: one.state for name, one in self._tasks.items()}

    def __repr__(self) -> str:
        states = "  ".join(f"{name} {state}" for name, state in self.states().items())
        return f"<{type(self).__name__} run {self.name or '-'}: {states or 'not started'}>"

    def _repr_html_(self) -> str:
        with self._changed:
            rows = "".join(
                f"<tr><td>{html.escape(name)}</td><td>{html.escape(one.address)}</td>"
                f"<td>{html.escape(one.state)}</td><td>{one.pid or ''}</td></tr>"
                for name, one in self._tasks.items()
            )
        return (
            f"<b>run {html.escape(self.name)}</b><table><tr><th>task</th><th>address</th>"
            f"<th>state</th><th>pid</th></tr>{rows}</table>"
        )

    # -- details --------------------------------------------------------------------------------

    def _do(self, what: str, task: str | None = None) -> None:
        command = {"do": what} if task is None else {"do": what, "task": task}
        with contextlib.suppress(OSError):  # it is gone: nothing is left to be told
            self._write(json.dumps(command))

    def _write(self, line: str) -> None:
        supervisor = self._supervisor
        if supervisor is None or supervisor.stdin is None or supervisor.stdin.closed:
            return
        supervisor.stdin.write(line.encode() + b"\n")
        supervisor.stdin.flush()

    def _follow(self) -> None:
        """Reads events until the supervisor ends. The thread's outermost function."""
        assert self._supervisor is not None  # noqa: S101  # started before this thread
        assert self._supervisor.stdout is not None  # noqa: S101
        try:
            with self._supervisor.stdout as stream:
                for line in stream:
                    self._hear(line)
        finally:  # whatever happened: nobody may wait for an end that cannot come
            if not self.is_over():
                self._lost()

    def _hear(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:  # cut off: the supervisor was killed while it wrote
            return
        with self._changed:
            self._take(event)
            self._changed.notify_all()
        self._hand_on(event)

    def _hand_on(self, event: Event) -> None:
        try:
            self._on_event(event)
        except Exception:  # noqa: BLE001  # the listener's fault, in a thread of ours
            _log.exception("on_event raised; the run goes on without it")
            self._on_event = _ignore

    def _take(self, event: Event) -> None:
        view = self._tasks.get(event.get("task", ""))
        match event["ev"]:
            case "run":
                self._tasks = {
                    name: _TaskView(address=address) for name, address in event["tasks"].items()
                }
            case "state" if view is not None:
                view.state = event["state"]
                if "pid" in event:
                    view.pid, view.started = event["pid"], start_time(event["pid"])
            case "exit" if view is not None:
                view.state = event["state"]
            case "ready":
                self._is_ready = True
            case "not_ready":
                self._missing = tuple(event["missing"])
            case "counters" if view is not None:
                numbers = {k: v for k, v in event.items() if isinstance(v, int | float)}
                view.counters.update(numbers)
            case "refused" | "broken":
                self._failure = _refusal(event)
            case "end":
                self._end = event

    def _lost(self) -> None:
        self._end_leftovers()
        with self._changed:
            self._failure = SupervisorLost(
                f"The supervisor of run {self.name} is gone; the tasks that it had started were"
                f" ended. Their logs are in {self.folder}. Start anew."
            )
            self._changed.notify_all()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _result(self, end: Event) -> RunResult:
        result = RunResult(
            fate=Fate(end["fate"]),
            exit_code=end["code"],
            root=end["root"],
            consequences=tuple(end["consequences"]),
            ended_early=tuple(end["ended_early"]),
            missing=self._missing,
            folder=str(self.folder),
            duration_s=end["t"],
            wanted_tasks=len(self._tasks),
            tasks={
                name: _task_result(name, details, self._tasks[name].counters)
                for name, details in end["details"].items()
            },
        )
        return replace(result, verdict=tuple(verdict_lines(result)))


@dataclass(frozen=True, slots=True)
class TaskHandle:
    """One task of a run."""

    run: SupervisedCluster
    name: str

    def kill(self) -> None:
        """Kills it with everything in its process group."""
        self.run.kill(self.name)

    def pause(self) -> None:
        """Stops it where it is (SIGSTOP)."""
        self.run._do("pause", self.name)  # noqa: SLF001  # a handle is a part of its run

    def resume(self) -> None:
        """Lets it go on."""
        self.run._do("resume", self.name)  # noqa: SLF001

    def log_tail(self, lines: int = 50) -> list[str]:
        """Returns the last lines of its log."""
        path = self.run.folder / f"{self.name.replace(':', '-')}.log"
        if not path.is_file():
            return []
        return path.read_text(errors="replace").splitlines()[-lines:]


def _task_result(name: str, details: Event, counters: Mapping[str, float]) -> TaskResult:
    step, waiting, blamed = details["step"], details["waiting"], details["peer_failed"]
    return TaskResult(
        task=name,
        exit_code=details["code"],
        state=details["state"],
        log=details["log"],
        tail=tuple(details["tail"]),
        error=details["error"],
        where=details["where"],
        source=details["source"],
        traceback=details["traceback"],
        step=step.get("step") if step else None,
        waiting=waiting.get("reason") if waiting and waiting.get("for") else None,
        cause=blamed.get("cause") if blamed else None,
        last_words=details["last_words"],
        counters=counters,
    )


def _refusal(event: Event) -> Exception:
    code = event["code"]
    if event["ev"] == "broken":
        ours = ClusterSimError(
            f"The supervisor failed: {event['text']}. This is our fault; its tasks were ended. -vv"
            " shows where.",
            code=code,
        )
        ours.add_note(event["traceback"])
        return ours
    if CODES[code].exit_code == EXIT_USAGE:
        return UsageError(event["text"], code=code)
    return StartError(event["text"], code=code)


def _ignore(_event: Event) -> None:
    """Hears nothing."""
