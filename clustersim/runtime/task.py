"""What one OS process is in its cluster: its server, its membership, its groups, its goodbye.

Made once, on first need, by the strategy that the program builds; the launcher is not needed for
it. This process's task is one of the ambient values: `current` returns it.
"""

import atexit
import logging
import secrets
import socket
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.cluster import ports
from clustersim.cluster.spec import PS, TRAINING_JOBS, Address, ClusterSpec, Task
from clustersim.config import Listen, TaskSettings
from clustersim.errors import Cause, NotReady, OpError, UnavailableError, UnknownError
from clustersim.events import CallsMixed, CollectiveFinished, Event, PeerAwaited, StepFinished
from clustersim.runtime import failure, origin
from clustersim.runtime.leader import MembershipService
from clustersim.runtime.member import Departed, Member
from clustersim.runtime.membership import Membership
from clustersim.runtime.report import Report
from clustersim.runtime.server import Service, TaskServer
from clustersim.transport.rpc import Exchange, Identity, RpcTransport

_SAY_AFTER_S = 2.0
"""A wait that lasts longer is said..."""

_SAY_AGAIN_S = 10.0
"""... and said again this often, or when the reason changes."""

_PROBE_TIMEOUT_S = 0.5
_STEP_REPORT_S = 0.05
"""Steps are reported at most this often; the last one always."""

_SLICE_S = 1.0

_LATE_SERVER_S = 3.0
"""How long a leader that is done waits for a ps that has not joined yet."""

_LATE_LOOK_S = 0.05

_LINGER_AFTER_S = 10.0
"""How much longer a task that lingers stays after the leader's goodbye, unless it is ended."""

_log = logging.getLogger(__name__)


class Group(Protocol):
    """What a strategy builds on a transport, as the runtime sees it."""

    size: int
    num_calls: int
    """How many collective calls were made."""

    def close(self) -> None:
        """Sends what is owed to the peers, and ends."""
        ...


class TaskRuntime:
    """One task, from its start to its goodbye.

    Args:
        spec: The cluster map.
        task: This process's place in it: a chief, a worker or a ps.
        settings: See `TaskSettings`.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        task: Task,
        settings: TaskSettings,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.spec = spec
        self.task = task
        self.settings = settings
        self.report = Report(settings.report_fd)
        self.reporter = Reporter(task, self.report, clock)
        self._clock = clock
        self._incarnation = secrets.randbits(63)
        self._exchange = Exchange()
        self._lock = threading.Lock()  # guards _groups, _num_groups, _failure and _is_closed
        self._num_groups = 0
        self._groups: list[tuple[RpcTransport, Group]] = []
        self._counters: list[Callable[[], Mapping[str, float]]] = []
        self._ready_at = clock.now()
        self._failure = ""
        self._is_closed = False
        self.num_replicas = 0
        """How many replicas the largest strategy of this process has, on all tasks."""
        services: list[Service] = [self._exchange]
        self._leading: MembershipService | None = None
        if task == spec.leader():
            cluster_id = settings.cluster_id or uuid.uuid4().hex
            self._leading = MembershipService(Membership(spec=spec, cluster_id=cluster_id))
            services.append(self._leading)
        self._server = self._served(services)
        self.report.write("serving", address=str(spec.address(task)))
        self._member = Member(
            task,
            self._incarnation,
            spec=spec,
            cluster_id=settings.cluster_id,
            on_departed=self._departed,
            on_admitted=self._admitted,
            clock=clock,
        )
        self._member.join()

    def wait_ready(self) -> None:
        """Waits until the chief and all workers have joined, saying for whom after 2 s.

        Raises:
            NotReady: They did not come within `start_timeout_s`.
            OpError: The leader refused this task, or is gone.
        """
        said = _Said()
        deadline = self._clock.now() + self.settings.start_timeout_s
        if not self._member.wait_formed(deadline, lambda s: self._say_waiting(said, s)):
            raise self._not_ready()
        member = self._member
        self._exchange.form(self._identity(), member.members)
        self._ready_at = self._clock.now()
        if said.last:
            self.report.write("waiting", **{"for": []})
        self.report.write("joined", generation=member.generation, replicas=len(member.members))

    def transport(self) -> RpcTransport:
        """Returns this task's end of a new group of the chief and all workers.

        All of them must open their groups in one order. Hand what is built on it to `keep`.
        """
        addresses = {task: str(self.spec.address(task)) for task in self.spec.training_tasks()}
        with self._lock:
            self._num_groups += 1
            name = f"group-{self._num_groups}"
        return RpcTransport(name, addresses, identity=self._identity(), exchange=self._exchange)

    def keep(self, transport: RpcTransport, group: Group) -> None:
        """Takes over a group: tells it who is gone, counts its calls, closes it at the end."""
        with self._lock:
            self._groups.append((transport, group))
        for gone in self._member.departed():
            self._departed(gone)

    def count(self, snapshot: Callable[[], Mapping[str, float]]) -> None:
        """Takes a source of counters whose sum is reported at the end."""
        self._counters.append(snapshot)

    def barrier(self, name: str, timeout_s: float) -> bool:
        """Waits at a barrier that the leader keeps; False if `timeout_s` passed.

        Raises:
            UnavailableError: A member is gone that had not arrived.
        """
        return self._member.barrier(name, self._clock.now() + timeout_s)

    def join(self) -> None:
        """Serves until the leader says goodbye or is gone: what a ps does all its life.

        Raises:
            NotReady: The leader never came within `start_timeout_s`.
        """
        said = _Said()
        started = self._clock.now()
        while not self._member.wait_ended(_SLICE_S):
            waited_s = self._clock.now() - started
            if not self._member.is_admitted:
                self._say_waiting(said, waited_s, [self._member.leader])
                if waited_s > self.settings.start_timeout_s:
                    raise self._not_ready()
        self.report.write("dismissed")

    def failed(self, error: BaseException) -> None:
        """Takes note of what ends the program, for the goodbye and for the supervisor."""
        with self._lock:
            self._failure = f"{self.task} failed: {type(error).__name__}: {error}"
        if isinstance(error, OpError) and error.cause is not None and error.task:
            self.report.write(
                "peer_failed", task=error.task, cause=error.cause.name, message=error.message
            )

    def close(self) -> None:
        """Sends what is owed, says goodbye, ends the server. A second call does nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            groups = list(self._groups)
        for _, group in groups:
            group.close()
        self._flush_report(groups)
        num_calls = {transport.group: one.num_calls for transport, one in groups}
        if self._leading is not None:
            # After a failure a supervisor, where there is one, ends the ps by itself.
            if not (self._failure and self.report.is_open):
                self._await_late_servers(self._leading)
        elif self.settings.linger and self._leading is None and not self._failure:
            self._linger()
        self._member.leave(num_calls, self._failure)
        self._server.close()

    # -- details --------------------------------------------------------------------------------

    def _served(self, services: Sequence[Service]) -> TaskServer:
        """Returns this task's server; says so if the program made this process another task."""
        changed = origin.changed(self.task, self.settings.started_as)
        try:
            server = TaskServer(
                self.spec.address(self.task),
                services,
                num_tasks=len(self.spec.tasks()),
                may_leave_loopback=self.settings.listen is Listen.OWN
                and self.settings.insecure_network,
            )
        except UnknownError as error:
            owner = ports.owner_environ(self.spec.address(self.task).port)
            sibling = self.settings.sibling(owner)
            why = origin.conflict(self.task, self.settings.started_as, sibling)
            if error.code != "CSE203" or not why:
                raise
            raise UnavailableError(
                f"Another process already is {self.task} at {self.spec.address(self.task)}: {why}",
                code="CSE104",
                task=str(self.task),
                cause=Cause.STALE,
            ) from None
        if changed:
            _log.warning("%s: %s", self.task, changed)
        return server

    def _identity(self) -> Identity:
        return Identity(
            cluster_id=self._member.cluster_id,
            generation=self._member.generation,
            task=self.task,
            incarnation=self._incarnation,
        )

    def _admitted(self) -> None:
        """A ps is ready once it is in: it waits for nobody."""
        if self.task.type not in TRAINING_JOBS:
            self.report.write("joined", generation=self._member.generation)

    def _departed(self, gone: Departed) -> None:
        """Tells every group; called by the member's thread, and for groups made afterwards."""
        if gone.task.type not in TRAINING_JOBS or gone.task == self.task:
            return
        with self._lock:
            transports = [transport for transport, _ in self._groups]
        for transport in transports:
            if gone.is_dead or gone.reason.startswith(f"{gone.task} failed:"):
                transport.note_dead(gone.task, gone.reason)
            else:
                transport.note_ended(gone.task, gone.num_calls.get(transport.group, 0))

    def _await_late_servers(self, leading: MembershipService) -> None:
        """Lets a ps that is still starting hear the goodbye: else it would wait for us in vain."""
        late = [task for task in self.spec.tasks() if task.type == PS]
        until = self._clock.now() + _LATE_SERVER_S
        while late and self._clock.now() < until:
            late = [task for task in late if not leading.was_seen(task)]
            if late:
                self._member.wait_ended(_LATE_LOOK_S)
        if late:
            names = ", ".join(map(str, late))
            _log.warning("%s ends; %s never joined (not started?)", self.task, names)

    def _linger(self) -> None:
        _log.info("%s is done; waiting for the goodbye of %s", self.task, self._member.leader)
        while not self._member.wait_ended(_SLICE_S):
            pass
        # The leader's process must be seen to end first; then whoever sees it ends us.
        self._clock.sleep(_LINGER_AFTER_S)

    def _flush_report(self, groups: Sequence[tuple[RpcTransport, Group]]) -> None:
        self.reporter.flush()
        if groups:
            sums: Counter[str] = Counter()
            for snapshot in self._counters:
                sums.update(snapshot())
            wall_s = self._clock.now() - self._ready_at
            replicas = max(self.num_replicas, groups[0][1].size)
            self.report.write("counters", replicas=replicas, wall_s=wall_s, **dict(sums))
        if not self._failure:
            calls = sum(one.num_calls for _, one in groups)
            self.report.write("goodbye", collectives=calls)

    def _say_waiting(
        self, said: "_Said", waited_s: float, missing: Sequence[Task] | None = None
    ) -> None:
        if waited_s < _SAY_AFTER_S:
            return
        member = self._member
        whom = list(missing or (member.missing if member.is_admitted else [member.leader]))
        text = ", ".join(f"{task} at {self._address(task)} — {self._why(task)}" for task in whom)
        if text == said.text and waited_s < said.last + _SAY_AGAIN_S:
            return
        said.text, said.last = text, waited_s
        self.report.write("waiting", **{"for": [str(task) for task in whom], "reason": text})
        if not self.report.is_open:
            _log.warning("%s is waiting for %s (%.0f s)", self.task, text, waited_s)

    def _not_ready(self) -> NotReady:
        member = self._member
        whom = list(member.missing if member.is_admitted else [member.leader])
        text = ", ".join(f"{task} at {self._address(task)} — {self._why(task)}" for task in whom)
        return NotReady(
            f"{self.task} waited {self.settings.start_timeout_s:.0f} s for {text}. Start it, or"
            " raise CLUSTERSIM_START_TIMEOUT.",
            missing=[str(task) for task in whom],
        )

    def _address(self, task: Task) -> Address:
        return self.spec.address(task)

    def _why(self, task: Task) -> str:
        """Returns why a task may be missing, by looking at its address."""
        address = self._address(task)
        try:
            with socket.create_connection((address.host, address.port), _PROBE_TIMEOUT_S):
                return "something listens there, but it has not joined this cluster"
        except ConnectionRefusedError:
            return "nothing listens there"
        except TimeoutError:
            return "it does not answer"
        except OSError as error:
            return f"it cannot be reached ({error.strerror or error})"


class _Said:
    """What was last said of a wait, and when."""

    text = ""
    last = 0.0


class Reporter:
    """A recorder that tells the supervisor of steps and waits; without one it logs the waits."""

    def __init__(self, task: Task, report: Report, clock: Clock) -> None:
        self._task = task
        self._report = report
        self._clock = clock
        self._num_steps = 0
        self._where = ""
        self._reported = 0
        self._last = float("-inf")
        self._is_waiting = False

    def record(self, event: Event) -> None:
        """Counts steps, and reports them not too often; reports and logs waits."""
        match event:
            case PeerAwaited():
                self._wait(event)
            case CallsMixed():
                _log.warning(
                    "%s: calls at different lines were combined: %s. If two results are meant, make"
                    " every task call both, in one order.",
                    self._task,
                    event.meeting,
                )
            case CollectiveFinished():
                self._where = event.site
                if self._is_waiting:
                    self._is_waiting = False
                    self._report.write("waiting", **{"for": []})
            case StepFinished():
                self._num_steps += 1
                if self._report.is_open and self._clock.now() >= self._last + _STEP_REPORT_S:
                    self.flush()

    def _wait(self, event: PeerAwaited) -> None:
        self._is_waiting = True
        self._report.write("waiting", **{"for": [event.peer], "reason": f"in {event.call}"})
        seconds = int(event.duration_s)
        if not self._report.is_open and (seconds - int(_SAY_AFTER_S)) % int(_SAY_AGAIN_S) == 0:
            _log.warning(
                "%s waits for %s in %s (%d s)", self._task, event.peer, event.call, seconds
            )

    def flush(self) -> None:
        """Reports the last step, unless it was."""
        if self._num_steps != self._reported:
            self._report.write("step", step=self._num_steps, where=self._where)
            self._reported = self._num_steps
            self._last = self._clock.now()


# -- this process's task ------------------------------------------------------------------------

_current: TaskRuntime | None = None
_current_lock = threading.Lock()  # guards _current


def current() -> TaskRuntime | None:
    """Returns this process's task, None before a strategy or server needed one."""
    return _current


def ensure(spec: ClusterSpec, task: Task, settings: TaskSettings) -> TaskRuntime:
    """Returns this process's task; starts it at the first call.

    Raises:
        UnavailableError: This process already is another task, or one of another cluster.
    """
    global _current  # noqa: PLW0603  # one of the ambient values, set once
    with _current_lock:
        if _current is None:
            _current = TaskRuntime(spec, task, settings)
            failure.tell(_current.failed)
            atexit.register(_current.close)
        elif (_current.spec, _current.task) != (spec, task):
            raise UnavailableError(
                f"This process already is {_current.task} of {_current.spec!r}, and cannot also be"
                f" {task} of {spec!r}. Start another process for it.",
                code="CSE104",
                task=str(task),
                cause=Cause.STALE,
            )
        return _current
