"""A member's side of membership: joins the leader, hears what changes, arrives, says goodbye.

One thread follows the Join stream for as long as the task is a member. The others wait on a
condition, with a deadline, and look at the state that the thread keeps.
"""

import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import grpc

from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.cluster.spec import EVALUATOR, ClusterSpec, Task
from clustersim.errors import (
    AbortedError,
    Cause,
    FailedPreconditionError,
    OpError,
    UnavailableError,
)
from clustersim.runtime.membership import PROTOCOL_VERSION
from clustersim.wire.channel import open_channel, status_text
from clustersim.wire.v1 import membership_pb2 as pb
from clustersim.wire.v1 import membership_pb2_grpc as pb_grpc

_RETRY_S = 0.1
"""How soon a task asks again while its leader does not listen yet."""

_SLICE_S = 1.0
"""The longest wait without a look at who is missing."""

_LEAVE_TIMEOUT_S = 2.0
"""How long a goodbye may take: the leader answers from memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departed:
    """A member that is gone."""

    task: Task
    is_dead: bool
    num_calls: Mapping[str, int]
    reason: str


class Member:
    """This task's membership. Start it with `join`, end it with `leave`.

    Args:
        me: This task.
        incarnation: Drawn at random at this start of the process.
        spec: The cluster map.
        cluster_id: The run, if the launcher said; else empty, and learnt from the leader.
        on_departed: Hears of every member that goes, from the stream's thread.
        on_admitted: Hears once that the leader let this task in, from the same thread.
    """

    def __init__(
        self,
        me: Task,
        incarnation: int,
        *,
        spec: ClusterSpec,
        cluster_id: str,
        on_departed: Callable[[Departed], None],
        on_admitted: Callable[[], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.leader = spec.leader()
        self.cluster_id = cluster_id
        self.generation = 0
        self.members: dict[Task, int] = {}
        self.missing: tuple[Task, ...] = spec.training_tasks()
        self.is_admitted = False
        self._me = me
        self._incarnation = incarnation
        self._spec = spec
        self._on_departed = on_departed
        self._on_admitted = on_admitted
        self._clock = clock
        # Guards all that the stream's thread keeps, above and below.
        self._changed = threading.Condition()
        self._failure: OpError | None = None
        self._released: set[str] = set()
        self._departed: dict[Task, Departed] = {}
        self._has_ended = False
        self._is_leaving = False
        self._channel = open_channel(str(spec.address(self.leader)))
        self._stub = pb_grpc.MembershipServiceStub(self._channel)  # type: ignore[no-untyped-call]  # generated
        self._stream: grpc.Call | None = None
        self._thread = threading.Thread(target=self._follow, name="cs-runtime-member", daemon=True)

    def join(self) -> None:
        """Begins to ask the leader for admission, until it answers; returns at once."""
        self._thread.start()

    def wait_formed(self, deadline: float, on_wait: Callable[[float], None]) -> bool:
        """Waits until the group is formed; tells `on_wait` once a second how long it has waited.

        Returns:
            Whether it is formed; False when `deadline` (of the clock) passed.

        Raises:
            OpError: The leader refused this task, or is gone.
        """
        started = self._clock.now()
        with self._changed:
            while self.generation == 0:
                self._raise_failure()
                left_s = deadline - self._clock.now()
                if left_s <= 0:
                    return False
                if not self._changed.wait(min(_SLICE_S, left_s)):
                    self._changed.release()  # never call out while holding a lock
                    try:
                        on_wait(self._clock.now() - started)
                    finally:
                        self._changed.acquire()
            return True

    def wait_ended(self, timeout_s: float) -> bool:
        """Waits until the leader said goodbye, died or refused this task; returns whether."""
        with self._changed:
            return self._changed.wait_for(lambda: self._has_ended, timeout_s)

    def barrier(self, name: str, deadline: float) -> bool:
        """Waits until every task of the group arrived at `name`; False when `deadline` passed.

        Raises:
            UnavailableError: A member is gone that had not arrived.
            FailedPreconditionError: The leader refused the arrival as stale.
        """
        with self._changed:
            self._raise_failure()
        request = pb.ArriveRequest(caller=self._caller(_LEAVE_TIMEOUT_S), barrier=name)
        try:
            self._stub.Arrive(request, timeout=_LEAVE_TIMEOUT_S)
        except grpc.RpcError as error:
            raise _of_status(error, f"The arrival at {name!r} failed", self.leader) from None
        with self._changed:
            while name not in self._released:
                self._raise_failure()
                gone = next((d for t, d in self._departed.items() if t in self.members), None)
                if gone is not None:
                    raise UnavailableError(
                        f"{self._me} waits at barrier {name!r}, but {gone.task} is gone."
                        f" {gone.reason} Start all tasks anew.",
                        code="CSE503",
                        task=str(gone.task),
                        cause=Cause.PEER_FAILED if gone.is_dead else Cause.EARLY_EXIT,
                    )
                left_s = deadline - self._clock.now()
                if left_s <= 0:
                    return False
                self._changed.wait(min(_SLICE_S, left_s))
            return True

    def departed(self) -> list[Departed]:
        """Returns the members that are gone."""
        with self._changed:
            return list(self._departed.values())

    def leave(self, num_calls: Mapping[str, int], failure: str = "") -> None:
        """Says goodbye and ends the stream. A second call does nothing."""
        with self._changed:
            if self._is_leaving:
                return
            self._is_leaving = True
            has_ended, is_admitted = self._has_ended, self.is_admitted
        if is_admitted and not has_ended:
            request = pb.LeaveRequest(
                caller=self._caller(_LEAVE_TIMEOUT_S), num_calls=num_calls, failure=failure
            )
            with contextlib.suppress(grpc.RpcError):  # gone: nobody is left to say goodbye to
                self._stub.Leave(request, timeout=_LEAVE_TIMEOUT_S)
        if self._stream is not None and self._me != self.leader:
            self._stream.cancel()
        self._thread.join(_LEAVE_TIMEOUT_S)
        self._channel.close()

    # -- the stream's thread --------------------------------------------------------------------

    def _follow(self) -> None:
        while not self._over():
            try:
                self._stream = self._stub.Join(self._request())
                for response in self._stream:
                    self._hear(response)
                if self._was_dismissed():
                    self._end(None)
                else:  # the end of a stream alone is no goodbye
                    self._lost("")
            except grpc.RpcError as error:
                if self.is_admitted or self._is_leaving:
                    self._lost(status_text(error).lower())
                elif error.code() is grpc.StatusCode.UNIMPLEMENTED:
                    self._end(_of_status(error, "No leader of a clustersim run", self.leader))
                else:
                    with self._changed:  # not there yet: `leave` cuts the pause short
                        self._changed.wait_for(lambda: self._is_leaving, _RETRY_S)

    def _over(self) -> bool:
        with self._changed:
            return self._has_ended or self._is_leaving

    def _request(self) -> pb.JoinRequest:
        cluster_map = json.dumps(self._spec.without(EVALUATOR).as_dict())
        return pb.JoinRequest(
            caller=self._caller(0),
            protocol_version=PROTOCOL_VERSION,
            cluster_map=cluster_map,
            pid=os.getpid(),
        )

    def _caller(self, timeout_s: float) -> pb.Caller:
        return pb.Caller(
            cluster_id=self.cluster_id,
            generation=self.generation,
            task_type=self._me.type,
            task_index=self._me.index,
            incarnation=self._incarnation,
            deadline_ms=int(timeout_s * 1000),
        )

    def _hear(self, response: pb.JoinResponse) -> None:
        departed: Departed | None = None
        with self._changed:
            match response.WhichOneof("change"):
                case "admission":
                    self.is_admitted = True
                    self.cluster_id = response.admission.cluster_id
                case "refusal":
                    self._failure = _refused(response.refusal, self._me)
                    self._has_ended = True
                case "view":
                    self._see(response.view)
                case "departure":
                    departed = _departed(response.departure)
                    self._departed.setdefault(departed.task, departed)
                case "release":
                    self._released.add(response.release.barrier)
            self._changed.notify_all()
        if response.WhichOneof("change") == "admission":
            self._on_admitted()
        if departed is not None and departed.task != self._me:
            self._on_departed(departed)

    def _see(self, view: pb.View) -> None:
        self.generation = view.generation
        self.members = {Task.parse(one.task): one.incarnation for one in view.members}
        self.missing = tuple(Task.parse(name) for name in view.missing)

    def _was_dismissed(self) -> bool:
        """Returns whether the leader's stream ended in order: with its goodbye, or a refusal."""
        with self._changed:
            return self._has_ended or self.generation == 0 or self.leader in self._departed

    def _lost(self, text: str) -> None:
        """Takes note of the leader's death; `text` is what gRPC says of it."""
        if self._is_leaving:
            self._end(None)
            return
        frozen = "ping" in text or "keepalive" in text
        how = "does not answer pings" if frozen else "died, or its connection broke"
        reason = f"{self.leader}, the leader, {how}."
        gone = Departed(task=self.leader, is_dead=True, num_calls={}, reason=reason)
        with self._changed:
            self._departed.setdefault(self.leader, gone)
        self._on_departed(gone)
        self._end(
            UnavailableError(
                f"{reason} Start all tasks anew.",
                code="CSE503",
                task=str(self.leader),
                cause=Cause.PEER_FROZEN if frozen else Cause.PEER_FAILED,
            )
        )

    def _end(self, failure: OpError | None) -> None:
        with self._changed:
            self._has_ended = True
            self._failure = self._failure or failure
            self._changed.notify_all()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._has_ended:
            raise UnavailableError(
                f"{self.leader}, the leader, said goodbye. Start all tasks anew.",
                code="CSE502",
                task=str(self.leader),
                cause=Cause.EARLY_EXIT,
            )


def _departed(departure: pb.Departure) -> Departed:
    is_dead = departure.kind == pb.DepartureKind.DEPARTURE_KIND_DEAD
    how = "died, or its connection broke." if is_dead else "ended."
    return Departed(
        task=Task.parse(departure.task),
        is_dead=is_dead,
        num_calls=dict(departure.num_calls),
        reason=departure.reason or f"{departure.task} {how}",
    )


def _refused(refusal: pb.Refusal, me: Task) -> OpError:
    text = f"{me} was refused: {refusal.reason}"
    if refusal.kind == pb.RefusalKind.REFUSAL_KIND_RESTARTED:
        return AbortedError(text, code="CSE507", task=str(me), cause=Cause.STALE)
    code = "CSE507" if refusal.kind == pb.RefusalKind.REFUSAL_KIND_CLUSTER else "CSE302"
    return FailedPreconditionError(text, code=code, task=str(me))


def _of_status(error: grpc.RpcError, what: str, leader: Task) -> OpError:
    if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
        return FailedPreconditionError(f"{what}: {error.details()}", code="CSE507")
    return UnavailableError(
        f"{what}: {leader} answers {status_text(error)}. See what listens at its address.",
        code="CSE503",
        task=str(leader),
    )
