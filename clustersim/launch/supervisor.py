"""The process that watches a run: turns exits, reports and timers into lifecycle events, and acts.

It has a session of its own, and is the subreaper of all that its tasks start. Its stdin is the
lifeline: the first line is the plan, further lines are commands, and its end means that the launcher
is gone. What happens goes out on stdout, as JSON lines (interface 7).

It decides nothing (`lifecycle` does), and loads neither NumPy nor gRPC.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import traceback
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from clustersim.clock import SYSTEM_CLOCK
from clustersim.cluster.spec import Task
from clustersim.errors import EXIT_OUR_BUG, ClusterSimError
from clustersim.launch import launcher, lifecycle, orphans
from clustersim.launch.containers import ContainerLauncher
from clustersim.launch.launcher import Launcher, ProcessLauncher, Started
from clustersim.launch.lifecycle import Fate, Rung, Success
from clustersim.launch.logs import TaskLog, excerpt, log_path, shown
from clustersim.launch.plan import RunPlan
from clustersim.launch.records import RecordSieve

_READ_BYTES = 64 * 1024
_DRAIN_S = 0.5
"""How long a pipe may stay open after its task ended: a grandchild may hold it."""

_MAX_BEHIND_BYTES = 8 * 2**20
"""How far the launcher may be behind with reading; then log lines are dropped, and counted."""

_MAX_REPORT_BYTES = 2**20
"""A longer line on the report pipe is none of our runtime's; it is left out."""

_SIGNALS = {Rung.INT: signal.SIGINT, Rung.TERM: signal.SIGTERM, Rung.KILL: signal.SIGKILL}

_COMMANDS: Mapping[str, lifecycle.Event] = {
    "interrupt": lifecycle.StopRun(fate=Fate.INTERRUPTED),
    "terminate": lifecycle.StopRun(fate=Fate.TERMINATED),
    "kill": lifecycle.KillRun(),
}

_TASK_SIGNALS = {"kill": signal.SIGKILL, "pause": signal.SIGSTOP, "resume": signal.SIGCONT}


class Supervisor:
    """One run, from its plan to its verdict."""

    def __init__(self, plan: RunPlan, lifeline: asyncio.StreamReader, out: "Out") -> None:
        self._plan = plan
        self._out = out
        self._folder = Path(plan.folder)
        self._lifeline = lifeline
        self._started_at = SYSTEM_CLOCK.now()
        self._launcher = _launcher_of(plan)
        self._spec = self._launcher.spec
        tasks = self._spec.tasks()
        self._run = lifecycle.Run.of(tasks, Success(plan.success), plan.grace_s)
        self._started: dict[Task, Started] = {}
        self._logs = {task: TaskLog(log_path(self._folder, task)) for task in tasks}
        self._reports: dict[Task, dict[str, object]] = {task: {} for task in tasks}
        self._serves: set[Task] = set()
        self._is_ready: set[Task] = set()
        self._start_limit: asyncio.TimerHandle | None = None
        self._over = asyncio.Event()
        self._refusal: ClusterSimError | None = None
        self._num_dropped = 0

    async def run(self) -> int:
        """Runs the plan; returns the exit code of the run.

        Raises:
            StartError: Nothing can be started here.
        """
        loop = asyncio.get_running_loop()
        self._emit(
            "run",
            run=self._plan.name,
            folder=str(self._folder),
            tasks={str(t): str(self._spec.address(t)) for t in self._spec.tasks()},
        )
        loop.add_signal_handler(signal.SIGTERM, lambda: self._feed(_COMMANDS["terminate"]))
        if self._plan.timeout_s is not None:
            loop.call_later(self._plan.timeout_s, self._limit, Fate.TIME_LIMIT)
        try:
            async with asyncio.TaskGroup() as group:
                background = [group.create_task(self._commands()), group.create_task(self._poll())]
                await self._prepare()
                self._spawn_all(group)
                await self._over.wait()
                for one in background:
                    one.cancel()
        finally:  # whatever went wrong in us, too
            await orphans.end_all(one.process.pid for one in self._started.values())
            left = await self._launcher.close()
        if left:
            self._emit("message", task="engine", text=left)
        if self._refusal is not None:
            raise self._refusal
        return self._end()

    # -- starting -------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Makes ready what tasks need; what goes wrong ends the run before it began."""
        try:
            await self._launcher.prepare()
        except ClusterSimError as error:
            self._refusal = error
            self._feed(_COMMANDS["terminate"])

    def _spawn_all(self, group: asyncio.TaskGroup) -> None:
        for task in self._spec.tasks():
            if self._run.fate is not None:  # a neighbour failed to start, or somebody said stop
                break
            try:
                started = self._launcher.start(task)
            except ClusterSimError as error:
                self._emit("message", task=str(task), text=str(error))
                self._feed(lifecycle.Exited(task=task, code=error.exit_code))
                continue
            self._started[task] = started
            self._emit("state", task=str(task), state="starting", pid=started.process.pid)
            self._feed(lifecycle.Spawned(task=task))
            group.create_task(self._follow(task, started))
        launcher.record(self._folder, self._started)

    async def _follow(self, task: Task, started: Started) -> None:
        """Reads all that a task says until it ends, then a moment longer."""
        readers = [asyncio.create_task(self._drain(task, "stdout", started.process.stdout))]
        if started.report_fd is None:
            readers.append(asyncio.create_task(self._sift(task, started.process.stderr)))
        else:
            readers.append(asyncio.create_task(self._drain(task, "stderr", started.process.stderr)))
            reports = os.fdopen(started.report_fd, "rb")
            readers.append(asyncio.create_task(self._listen(task, reports)))
        code = await _exit_of(started)
        await asyncio.wait(readers, timeout=_DRAIN_S)
        for one in readers:
            one.cancel()  # does nothing to those that are done
        for what in await asyncio.gather(*readers, return_exceptions=True):
            if isinstance(what, Exception):  # a full disk, say: told, and no reason to end the run
                self._emit("message", task=str(task), text=f"Its output was cut: {what}.")
        for stream in ("stdout", "stderr"):
            self._say(task, stream, self._logs[task].finish(stream))
        code = self._launcher.exit_code(code)
        why = await self._launcher.why(task, code)
        if why:
            self._emit("message", task=str(task), text=why)
        self._exited(task, code)

    async def _drain(self, task: Task, stream: str, pipe: object) -> None:
        async with _reader(pipe) as reader:
            while data := await reader.read(_READ_BYTES):
                self._say(task, stream, self._logs[task].feed(stream, data))

    async def _sift(self, task: Task, pipe: object) -> None:
        """Reads a stderr that carries reports between what the program itself says there."""
        sieve = RecordSieve()
        async with _reader(pipe) as reader:
            while data := await reader.read(_READ_BYTES):
                text, records = sieve.feed(data)
                self._say(task, "stderr", self._logs[task].feed("stderr", text))
                for record in records:
                    self._hear(task, record)
        self._say(task, "stderr", self._logs[task].feed("stderr", sieve.rest()))

    async def _listen(self, task: Task, pipe: object) -> None:
        """Reads a task's reports."""
        async with _reader(pipe) as reader:
            rest = b""
            while data := await reader.read(_READ_BYTES):
                *lines, rest = (rest + data).split(b"\n")
                # Cut, not collected: what is left of a long line is no JSON either.
                rest = rest[-_MAX_REPORT_BYTES:]
                for line in lines:
                    self._hear(task, line)

    def _hear(self, task: Task, line: bytes) -> None:
        """Takes one report; what cannot be understood is left out."""
        # `ClusterSimError`: a name that is no task.
        with contextlib.suppress(ValueError, KeyError, TypeError, ClusterSimError):
            self._report(task, json.loads(line))

    # -- what tasks report ----------------------------------------------------------------------

    def _report(self, task: Task, report: Mapping[str, object]) -> None:
        ev = report["ev"]
        if ev == "serving":
            self._serving(task)
        elif ev == "joined":
            self._ready(task)
        elif ev == "peer_failed":
            culprit = Task.parse(str(report["task"]))
            self._feed(lifecycle.Blamed(task=task, culprit=culprit, cause=str(report.get("cause"))))
        elif ev == "dismissed":
            self._feed(lifecycle.Dismissed(task=task))
        self._reports[task][str(ev)] = report
        if ev in {"waiting", "step", "counters", "peer_failed"}:
            rest = {key: value for key, value in report.items() if key != "ev"}
            # `task` of a report is the one it speaks of; ours is the one that speaks.
            if "task" in rest:
                rest["of"] = rest.pop("task")
            self._emit(str(ev), task=str(task), **rest)

    def _serving(self, task: Task) -> None:
        """Begins the start limit: it counts from when the first task listens."""
        self._serves.add(task)
        if self._start_limit is None:
            loop = asyncio.get_running_loop()
            self._start_limit = loop.call_later(self._plan.start_timeout_s, self._start_passed)

    def _ready(self, task: Task) -> None:
        if task in self._is_ready:
            return
        self._is_ready.add(task)
        self._feed(lifecycle.Ready(task=task))
        self._emit("state", task=str(task), state="ready")
        if len(self._is_ready) == len(self._run.tasks):
            self._emit("ready", tasks=[str(one) for one in self._run.tasks])

    def _start_passed(self) -> None:
        missing = [
            str(task)
            for task, one in self._run.tasks.items()
            if task not in self._is_ready and one.state not in lifecycle.ENDED
        ]
        if missing:
            self._emit("not_ready", missing=missing, limit_s=self._plan.start_timeout_s)
            self._limit(Fate.START_LIMIT)

    async def _poll(self) -> None:
        """Looks who listens while not all tasks have said that they are ready."""
        while len(self._is_ready) < len(self._run.tasks):
            await asyncio.sleep(self._launcher.poll_s)
            silent = [
                task
                for task in set(self._started) & set(self._run.live())
                if "serving" not in self._reports[task] and task not in self._is_ready
            ]
            for task in await self._launcher.listening(silent) if silent else ():
                if task in self._serves:  # seen twice, and still no word: not one of ours
                    self._ready(task)
                self._serving(task)

    # -- what the launcher says -----------------------------------------------------------------

    async def _commands(self) -> None:
        """Obeys the launcher; its silence for ever after (end of file) ends the run."""
        while line := await self._lifeline.readline():
            with contextlib.suppress(ValueError, KeyError, ProcessLookupError):
                self._obey(json.loads(line))
        lost = lifecycle.StopRun(fate=Fate.TERMINATED, is_launcher_lost=True)
        self._feed(lost)

    def _obey(self, command: Mapping[str, str]) -> None:
        if "task" in command:
            task = Task.parse(command["task"])
            if task in self._started:
                self._launcher.send_signal(task, _TASK_SIGNALS[command["do"]])
        else:
            self._feed(_COMMANDS[command["do"]])

    def _limit(self, fate: Fate) -> None:
        self._feed(lifecycle.StopRun(fate=fate))

    # -- deciding and acting --------------------------------------------------------------------

    def _exited(self, task: Task, code: int) -> None:
        first = code != 0 and self._run.fate is None
        self._feed(lifecycle.Exited(task=task, code=code))
        name = lifecycle.signal_name(code)
        state = self._run.tasks[task].state.value
        self._emit(
            "exit", task=str(task), code=code, signal=name, first=first, state=state, who="task"
        )

    def _feed(self, event: lifecycle.Event) -> None:
        self._run, actions = lifecycle.step(self._run, event)
        for action in actions:
            self._act(action)

    def _act(self, action: lifecycle.Action) -> None:
        match action:
            case lifecycle.Signal():
                self._signal(action.task, _SIGNALS[action.rung])
            case lifecycle.StartTimer():
                loop = asyncio.get_running_loop()
                passed = lifecycle.RungPassed(rung=action.rung)
                loop.call_later(action.delay_s, self._feed, passed)
            case lifecycle.Finish():
                self._over.set()

    def _signal(self, task: Task, number: signal.Signals) -> None:
        if self._started[task].process.returncode is not None:
            return
        self._emit("state", task=str(task), state="stopping", signal=number.name)
        self._launcher.send_signal(task, number)

    def _end(self) -> int:
        for log in self._logs.values():
            log.close()
        verdict = lifecycle.verdict(self._run)
        self._emit(
            "end",
            ok=verdict.ok,
            code=verdict.exit_code,
            who=verdict.who,
            fate=verdict.fate.value,
            root=str(verdict.root) if verdict.root else None,
            consequences=[str(task) for task in verdict.consequences],
            stopped=[str(task) for task in verdict.stopped],
            ended_early=[str(task) for task in verdict.ended_early],
            dropped_lines=self._num_dropped,
            details={str(task): self._details(task) for task in self._run.tasks},
        )
        return verdict.exit_code

    def _details(self, task: Task) -> dict[str, object]:
        tail = list(self._logs[task].tail)
        found = excerpt(tail)
        record = self._run.tasks[task]
        return {
            "code": record.code,
            "state": record.state.value,
            "log": str(self._logs[task].path),
            "tail": tail,
            "step": self._reports[task].get("step"),
            "waiting": self._reports[task].get("waiting"),
            "peer_failed": self._reports[task].get("peer_failed"),
            "last_words": self._logs[task].last_words() if record.code == 0 else None,
            "error": found.error if found else None,
            "where": found.where if found else None,
            "source": found.code if found else None,
            "traceback": found.text if found else None,
        }

    # -- saying ---------------------------------------------------------------------------------

    def _say(self, task: Task, stream: str, lines: list[bytes]) -> None:
        """Tells of lines; with their bytes where the text does not say them all."""
        for line in lines:
            text = shown(line)
            exact = {} if text.encode() + b"\n" == line else {"raw": b64encode(line).decode()}
            self._emit("log", task=str(task), stream=stream, line=text, **exact)

    def _emit(self, ev: str, **fields: object) -> None:
        """Writes an event; log lines are dropped while the launcher is far behind."""
        t = round(SYSTEM_CLOCK.now() - self._started_at, 3)
        line = json.dumps({"v": 1, "t": t, "ev": ev, **fields})
        if not self._out.write(line.encode() + b"\n", may_drop=ev == "log"):
            self._num_dropped += 1


class Out:
    """Stdout without blocking: what the launcher does not read yet waits here."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._size_bytes = 0
        self._is_lost = False

    def write(self, data: bytes, *, may_drop: bool) -> bool:
        """Writes or queues `data`; returns False if it was dropped."""
        if self._is_lost or (may_drop and self._size_bytes > _MAX_BEHIND_BYTES):
            return self._is_lost
        self._waiting.append(data)
        self._size_bytes += len(data)
        self._flush()
        return True

    def flush_blocking(self) -> None:
        """Writes all that waits; for the end."""
        os.set_blocking(1, True)
        self._flush()

    def _flush(self) -> None:
        while self._waiting:
            try:
                written = os.write(1, self._waiting[0])
            except BlockingIOError:
                asyncio.get_running_loop().add_writer(1, self._resume)
                return
            except OSError:
                self._is_lost, self._waiting, self._size_bytes = True, deque(), 0
                return
            self._size_bytes -= written
            if written < len(self._waiting[0]):
                self._waiting[0] = self._waiting[0][written:]
            else:
                self._waiting.popleft()

    def _resume(self) -> None:
        asyncio.get_running_loop().remove_writer(1)
        self._flush()


@contextlib.asynccontextmanager
async def _reader(pipe: object) -> AsyncIterator[asyncio.StreamReader]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**20)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        yield reader
    finally:
        transport.close()


async def _exit_of(started: Started) -> int:
    """Waits for one process, by its pid alone; returns its code, negative for a signal."""
    process = started.process
    if hasattr(os, "pidfd_open"):
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        fd = os.pidfd_open(process.pid)
        loop.add_reader(fd, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(fd)
            os.close(fd)
        return process.wait()
    return await asyncio.to_thread(process.wait)


def _innermost(error: BaseException) -> list[str]:
    """Returns what an exception says, or what those in a group say."""
    if isinstance(error, BaseExceptionGroup):
        return [text for one in error.exceptions for text in _innermost(one)]
    return [f"{type(error).__name__}: {error}"]


def _launcher_of(plan: RunPlan) -> Launcher:
    return ProcessLauncher(plan) if plan.containers is None else ContainerLauncher(plan)


async def supervise() -> int:
    """Reads the plan from stdin, and runs it."""
    os.set_blocking(sys.stdout.fileno(), False)
    out = Out()
    async with _reader(sys.stdin.buffer) as lifeline:
        plan = RunPlan.from_json((await lifeline.readline()).decode())
        try:
            return await Supervisor(plan, lifeline, out).run()
        except ClusterSimError as error:
            refused = {"v": 1, "t": 0.0, "ev": "refused", "code": error.code, "text": error.message}
            out.write(json.dumps(refused).encode() + b"\n", may_drop=False)
            return error.exit_code
        except Exception as error:  # noqa: BLE001  # outermost line: told to who started us
            text = "; ".join(_innermost(error))
            shown = traceback.format_exc()
            broken = {"v": 1, "t": 0.0, "ev": "broken", "code": "CSE901"}
            broken |= {"text": text, "traceback": shown}
            out.write(json.dumps(broken).encode() + b"\n", may_drop=False)
            return EXIT_OUR_BUG
        finally:
            out.flush_blocking()
