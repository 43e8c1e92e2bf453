"""Starts tasks in containers, through the commands of Docker and Compose.

Compose makes the containers of a file, without starting them; then each task is one `docker start
--attach`, a process whose output and exit code are the container's. So the supervisor watches it like
any other. Signals go to the container; `compose down` takes everything away at the end.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Collection, Coroutine
from typing import Any

from clustersim.cluster.spec import ClusterSpec, Task
from clustersim.errors import StartError
from clustersim.launch import launcher
from clustersim.launch.launcher import Started
from clustersim.launch.plan import RunPlan, service_name
from clustersim.units import format_size

CREATE_LIMIT_S = 120.0
"""How long the engine may take to make a network and containers; some seconds on a busy machine."""

DOWN_LIMIT_S = 60.0
_ASK_LIMIT_S = 20.0

_NO_REASON = "Encountered errors"
"""How Compose 1.29 ends, after the lines that say why."""

_SIGNALLED = range(129, 193)
"""What shells and engines make of a signal: 128 and its number."""


class ContainerLauncher:
    """One container for each task. See `Launcher`."""

    poll_s = 1.0

    def __init__(self, plan: RunPlan) -> None:
        assert plan.containers is not None  # noqa: S101  # who makes this has looked
        self.spec = ClusterSpec(plan.cluster)
        self._plan = plan.containers
        self._ids: dict[Task, str] = {}
        self._paused: set[Task] = set()
        self._sending: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        """Makes the network and the containers.

        Raises:
            StartError: The engine refuses (CSE208), in its own words.
        """
        await self._compose("up", "--no-start", limit_s=CREATE_LIMIT_S)
        label = "com.docker.compose.service"
        found = await self._docker(
            "ps",
            "--all",
            "--no-trunc",
            *self._mine(),
            "--format",
            f'{{{{.Label "{label}"}}}} {{{{.ID}}}}',
        )
        ids = dict(line.split() for line in found.splitlines())
        self._ids = {task: ids[service_name(task)] for task in self.spec.tasks()}

    def start(self, task: Task) -> Started:
        """See `Launcher.start`."""
        command = (*self._plan.docker, "start", "--attach", self._ids[task])
        return launcher.start(command, os.environ, has_pipe=False)

    def send_signal(self, task: Task, number: signal.Signals) -> None:
        """Begins to send a signal; SIGSTOP and SIGCONT pause the container as a whole."""
        container = self._ids[task]
        if number is signal.SIGSTOP:
            self._paused.add(task)
            self._begin(self._docker("pause", container))
        elif number is signal.SIGCONT:
            self._begin(self._wake(task))
        else:
            self._begin(self._send(task, number))

    async def _send(self, task: Task, number: signal.Signals) -> None:
        await self._docker("kill", "--signal", number.name, self._ids[task])
        if number is not signal.SIGKILL:
            await self._wake(task)  # a paused container would not hear it

    async def _wake(self, task: Task) -> None:
        if task in self._paused:
            self._paused.discard(task)
            await self._docker("unpause", self._ids[task])

    def exit_code(self, code: int) -> int:
        """See `Launcher.exit_code`: an engine says 137 where the kernel says "signal 9"."""
        return 128 - code if code in _SIGNALLED else code

    async def why(self, task: Task, code: int) -> str:
        """Returns whether the memory limit ended a task: only the engine can tell that kill."""
        if code != -signal.SIGKILL:
            return ""
        with contextlib.suppress(StartError):
            what = "{{.State.OOMKilled}} {{.HostConfig.Memory}}"
            killed, limit = (await self._docker("inspect", "-f", what, self._ids[task])).split()
            if killed == "true":
                return (
                    f"It needed more memory than its container may have, {format_size(int(limit))}."
                )
        return ""

    async def listening(self, tasks: Collection[Task]) -> Collection[Task]:
        """Returns those whose health check, a bare connect, has succeeded."""
        with contextlib.suppress(StartError):  # asked again soon; a dead engine ends the tasks, too
            healthy = await self._docker(
                "ps", "--quiet", "--no-trunc", *self._mine(), "--filter", "health=healthy"
            )
            return [task for task in tasks if self._ids.get(task) in healthy.split()]
        return []

    async def close(self) -> str:
        """Takes containers and network away; returns how to, if that failed."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=_ASK_LIMIT_S)
        try:
            await self._compose("down", "--volumes", "--timeout", "1", limit_s=DOWN_LIMIT_S)
        except StartError as error:
            down = " ".join([*self._plan.compose, "-p", self._plan.project, "down", "--volumes"])
            return f"Containers may be left: {error.message} `{down}` ends them."
        return ""

    # -- details --------------------------------------------------------------------------------

    def _mine(self) -> tuple[str, str]:
        return "--filter", f"label=com.docker.compose.project={self._plan.project}"

    def _begin(self, sending: Coroutine[Any, Any, object]) -> None:
        """Lets a command run beside the supervisor; a container that is gone needs no signal."""

        async def send() -> None:
            with contextlib.suppress(StartError):
                await sending

        one = asyncio.create_task(send())
        self._sending.add(one)
        one.add_done_callback(self._sending.discard)

    async def _compose(self, *arguments: str, limit_s: float) -> str:
        head = (*self._plan.compose, "-p", self._plan.project, "-f", self._plan.file)
        return await _output((*head, *arguments), limit_s)

    async def _docker(self, *arguments: str) -> str:
        return await _output((*self._plan.docker, *arguments), _ASK_LIMIT_S)


async def _output(command: tuple[str, ...], limit_s: float) -> str:
    """Returns what a command prints.

    Raises:
        StartError: It fails, or does not end within the limit.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), limit_s)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise StartError(
            f"`{' '.join(command)}` did not end within {limit_s:.0f} s. See what the engine does.",
            code="CSE208",
        ) from None
    if process.returncode != 0:
        raise StartError(
            f"The engine says: {last_words(err.decode(errors='replace'))}", code="CSE208"
        )
    return out.decode(errors="replace")


def last_words(text: str) -> str:
    """Returns what a command of Docker said went wrong: its last line that speaks of an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() and _NO_REASON not in line]
    return (errors or lines or ["nothing, but it failed."])[-1]
