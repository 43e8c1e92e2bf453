"""Starts one task: its port, its TF_CONFIG, its environment, its process.

It prepares and starts; it does not watch (the supervisor does), and decides nothing. `Launcher` is
what the supervisor asks of whatever starts tasks; `ProcessLauncher` starts them as processes of this
machine, `launch.containers` in containers.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clustersim.cluster.ports import owner_text
from clustersim.cluster.spec import PS, UNASSIGNED, Address, ClusterSpec, Task
from clustersim.cluster.tf_config import VARIABLE
from clustersim.cores import usable_cores
from clustersim.errors import StartError
from clustersim.launch import sockets
from clustersim.launch.plan import THREAD_VARIABLES, RunPlan, tf_config

_CHILD = str(Path(__file__).with_name("child.py"))

_MAX_ENVIRON_BYTES = 128 * 1024 - 1024
"""One environment string holds 131,071 bytes on Linux; more fails with a message about nothing."""

_LOCAL = {
    "localhost": ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")),
    "127.0.0.1": ((socket.AF_INET, "127.0.0.1"),),
    "::1": ((socket.AF_INET6, "::1"),),
}


class Reservation:
    """Ports that are bound for tasks to come, and held until `close`.

    Bound with SO_REUSEADDR and not listening: the task's own server binds over them, and neither a
    port-0 bind nor an outgoing connection of anybody else lands on them.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()

    def take(self) -> int:
        """Returns a port that is bound on 127.0.0.1 and, where there is one, on ::1.

        Raises:
            StartError: No port was free on both.
        """
        for _ in range(100):
            four = self._bind(socket.AF_INET, "127.0.0.1", 0)
            port: int = four.getsockname()[1]
            if not _has_ipv6_loopback():
                return port
            try:
                self._bind(socket.AF_INET6, "::1", port)
            except OSError:
                continue  # taken there; this one stays held, so the next is another
            return port
        raise StartError(
            "No port is free on both 127.0.0.1 and ::1 after 100 tries. End some servers.",
            code="CSE203",
        )

    def hold(self, address: Address) -> None:
        """Holds one port that the caller chose.

        Raises:
            StartError: It is in use (CSE203), or the address is no local one (CSE204).
        """
        if address.host not in _LOCAL:
            raise StartError(
                f"{address} is not on this machine's loopback. Use localhost in the cluster of a"
                " local run.",
                code="CSE204",
            )
        for family, host in _LOCAL[address.host]:
            if family is socket.AF_INET6 and not _has_ipv6_loopback():
                continue
            try:
                self._bind(family, host, address.port)
            except OSError:
                raise StartError(
                    f"{address} is already in use{owner_text(address.port)}. End it, or choose"
                    " another port.",
                    code="CSE203",
                ) from None

    def close(self) -> None:
        """Lets go of all ports."""
        self._stack.close()

    def _bind(self, family: int, host: str, port: int) -> socket.socket:
        held = socket.socket(family, socket.SOCK_STREAM)
        try:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind((host, port))
        except OSError:
            held.close()
            raise
        self._stack.callback(held.close)
        return held


def _has_ipv6_loopback() -> bool:
    """Returns whether ::1 can be bound and `localhost` may mean it."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def place(spec: ClusterSpec, reservation: Reservation) -> ClusterSpec:
    """Returns the cluster with a held local port for every task.

    Raises:
        StartError: See `Reservation`.
    """
    chosen = {}
    for task in spec.tasks():
        if spec.task_address(task.type, task.index) == UNASSIGNED:
            chosen[task] = f"localhost:{reservation.take()}"
        else:
            reservation.hold(spec.address(task))
    return spec.with_addresses(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the environment of every task of a run shares."""

    plan: RunPlan
    cluster_id: str
    num_cores: int


def threads_of(plan: RunPlan, num_cores: int, environ: Mapping[str, str]) -> int | None:
    """Returns the thread limit that tasks are given; None if every variable is set already."""
    if all(name in environ for name in THREAD_VARIABLES):
        return None
    return plan.num_threads or max(1, num_cores // sum(map(len, plan.cluster.values())))


def environment(
    spec: ClusterSpec, task: Task, around: Surroundings, base: Mapping[str, str]
) -> dict[str, str]:
    """Returns the environment of one task; what `base` says about threads and GPUs stays.

    Raises:
        StartError: The cluster map is too large for an environment variable.
    """
    plan = around.plan
    config = tf_config(spec, task).to_json()
    if len(config) > _MAX_ENVIRON_BYTES:
        raise StartError(
            f"TF_CONFIG has {len(config)} bytes for {len(spec.tasks())} tasks, more than one"
            f" environment variable holds ({_MAX_ENVIRON_BYTES}). Start fewer tasks.",
            code="CSE202",
        )
    env = {**base, **plan.environ}
    limit = threads_of(plan, around.num_cores, env)
    for name in THREAD_VARIABLES:
        env.setdefault(name, str(limit))
    for name in ("no_proxy", "no_grpc_proxy"):
        env[name] = ",".join(filter(None, [env.get(name, ""), "localhost,127.0.0.1,::1"]))
    env.setdefault("PYTHONUNBUFFERED", "1")
    env.setdefault("GRPC_VERBOSITY", "NONE")
    if task.type == PS:
        env.setdefault("CUDA_VISIBLE_DEVICES", "")
    env |= {
        VARIABLE: config,
        "CLUSTERSIM_CLUSTER_ID": around.cluster_id,
        "CLUSTERSIM_RUN": plan.folder,
        "CLUSTERSIM_TASK": str(task),
        "CLUSTERSIM_START_TIMEOUT": str(plan.start_timeout_s),
        "CLUSTERSIM_LISTEN": plan.listen,
        "CLUSTERSIM_INSECURE_NETWORK": "1" if plan.insecure_network else "0",
    }
    return env


@dataclass(slots=True, kw_only=True)
class Started:
    """One task's process, and the reading ends of what it writes."""

    process: subprocess.Popen[bytes]
    report_fd: int | None
    """None: its reports come on its stderr, as records (`launch.records`)."""


class Launcher(Protocol):
    """What the supervisor asks of whatever starts tasks."""

    spec: ClusterSpec
    """The cluster with the addresses that tasks are told."""

    poll_s: float
    """How often it is worth asking `listening`."""

    async def prepare(self) -> None:
        """Does what must be done before the first task can start.

        Raises:
            StartError: Nothing can be started here.
        """
        ...

    def start(self, task: Task) -> Started:
        """Starts a task.

        Raises:
            StartError: It cannot be started.
        """
        ...

    def send_signal(self, task: Task, number: signal.Signals) -> None:
        """Sends a signal to a task that was started, or does nothing if it has ended."""
        ...

    def exit_code(self, code: int) -> int:
        """Returns a task's exit code from that of its process: negative for a signal."""
        ...

    async def why(self, task: Task, code: int) -> str:
        """Returns what is known of an end beyond its exit code, in a sentence; else nothing."""
        ...

    async def listening(self, tasks: Collection[Task]) -> Collection[Task]:
        """Returns those of `tasks` at whose address something listens."""
        ...

    async def close(self) -> str:
        """Ends what is left and gives back what is held; returns what could not be, if anything."""
        ...


class ProcessLauncher:
    """Starts tasks as processes of this machine.

    Raises:
        StartError: An address is taken or none of this machine's.
    """

    poll_s = 0.2

    def __init__(self, plan: RunPlan) -> None:
        self._reservation = Reservation()
        self.spec = place(ClusterSpec(plan.cluster), self._reservation)
        self._plan = plan
        self._around = Surroundings(
            plan=plan, cluster_id=uuid.uuid4().hex, num_cores=usable_cores()
        )
        self._started: dict[Task, Started] = {}

    async def prepare(self) -> None:
        """See `Launcher`: nothing is needed."""

    def start(self, task: Task) -> Started:
        """See `Launcher.start`."""
        env = environment(self.spec, task, self._around, os.environ)
        started = self._started[task] = start(self._plan.command, env)
        return started

    def send_signal(self, task: Task, number: signal.Signals) -> None:
        """Sends it to the task's process group."""
        process = self._started[task].process
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
            if number is signal.SIGTERM:
                os.killpg(process.pid, signal.SIGCONT)  # a stopped process would not hear it

    def exit_code(self, code: int) -> int:
        """See `Launcher.exit_code`."""
        return code

    async def why(self, task: Task, code: int) -> str:  # noqa: ARG002  # the protocol's signature
        """See `Launcher.why`: the code says it all."""
        return ""

    async def listening(self, tasks: Collection[Task]) -> Collection[Task]:
        """See `Launcher.listening`."""
        ports = sockets.listening_ports()
        return [task for task in tasks if self.spec.address(task).port in ports]

    async def close(self) -> str:
        """Lets go of the ports."""
        self._reservation.close()
        return ""


def start(command: Sequence[str], env: Mapping[str, str], *, has_pipe: bool = True) -> Started:
    """Starts a task: own process group, no stdin, output on pipes, reports on another if `has_pipe`.

    `child.py` runs first: it ties the task's life to this process, then becomes `command`. Must be
    called from a thread that lives as long as the tasks: the tie is to the thread.

    Raises:
        StartError: The interpreter cannot be started (CSE206).
    """
    reading, writing = os.pipe() if has_pipe else (None, None)
    if writing is not None:
        env = {**env, "CLUSTERSIM_REPORT_FD": f"{writing}:{os.fstat(writing).st_ino}"}
    child = [sys.executable, "-I", "-S", _CHILD, str(os.getpid()), *command]
    try:
        process = subprocess.Popen(
            child,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=() if writing is None else (writing,),
            process_group=0,
        )
    except OSError as error:
        if reading is not None:
            os.close(reading)
        raise StartError(f"{command[0]} cannot be started: {error}.", code="CSE206") from error
    finally:
        if writing is not None:
            os.close(writing)
    return Started(process=process, report_fd=reading)


def record(folder: Path, started: Mapping[Task, Started]) -> None:
    """Writes who was started to run.json (0600), for whoever must clean up without us."""
    tasks = {
        str(task): {"pid": one.process.pid, "start": start_time(one.process.pid)}
        for task, one in started.items()
    }
    content = json.dumps({"supervisor": os.getpid(), "tasks": tasks})
    fd = os.open(folder / "run.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(content)


def start_time(pid: int) -> str:
    """Returns when a process was started, in the kernel's own unit; '' if it is gone or unknown.

    Together with the pid it names a process once and for all.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]
