"""The leader's side of membership: events come in over gRPC, what they lead to goes out to all.

Decides nothing: `runtime.membership` does. One lock makes the order of news the same for everyone.
"""

import queue
import threading
from collections.abc import Iterator, Sequence

import grpc

from clustersim.cluster.spec import Task
from clustersim.runtime import membership as rules
from clustersim.runtime.membership import Membership
from clustersim.wire.v1 import membership_pb2 as pb
from clustersim.wire.v1 import membership_pb2_grpc as pb_grpc

_LOOK_S = 1.0
"""How often an idle Join stream looks whether its task is still there."""

_News = queue.SimpleQueue[pb.JoinResponse | None]
"""What one watcher has yet to hear; None ends its stream."""


class MembershipService(pb_grpc.MembershipServiceServicer):
    """The leader's side of membership: events in, actions out to all watchers."""

    def __init__(self, start: Membership) -> None:
        self._lock = threading.Lock()  # guards the three below
        self._has_ended = False
        self._state = start
        self._watchers: dict[tuple[Task, int], _News] = {}

    def attach(self, server: grpc.Server) -> None:
        """See `Service`."""
        pb_grpc.add_MembershipServiceServicer_to_server(self, server)  # type: ignore[no-untyped-call]  # generated

    def Join(  # noqa: N802  # gRPC's spelling
        self, request: pb.JoinRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.JoinResponse]:
        """Admits or refuses, then streams what changes until the task or the leader goes."""
        task, incarnation = _caller(request.caller)
        news: _News = queue.SimpleQueue()
        event = rules.Join(
            task=task,
            incarnation=incarnation,
            version=request.protocol_version,
            cluster_id=request.caller.cluster_id,
            cluster_map=request.cluster_map,
            pid=request.pid,
        )
        refusal = self._admit(event, news)
        if refusal is not None:
            yield refusal
            return
        context.add_callback(lambda: self._disconnected(task, incarnation, news))
        while context.is_active():
            try:
                message = news.get(timeout=_LOOK_S)
            except queue.Empty:
                continue
            if message is None:
                return
            yield message

    def Arrive(  # noqa: N802
        self, request: pb.ArriveRequest, context: grpc.ServicerContext
    ) -> pb.ArriveResponse:
        """Notes that a task stands at a barrier."""
        task, incarnation = _caller(request.caller)
        refusal = self._feed(
            rules.Arrive(
                task=task,
                incarnation=incarnation,
                generation=request.caller.generation,
                barrier=request.barrier,
            )
        )
        if refusal is not None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, refusal.reason)
        return pb.ArriveResponse()

    def Leave(  # noqa: N802
        self, request: pb.LeaveRequest, _context: grpc.ServicerContext
    ) -> pb.LeaveResponse:
        """Notes a goodbye. The leader's own is the last: it ends all streams."""
        task, incarnation = _caller(request.caller)
        self._feed(
            rules.Leave(
                task=task,
                incarnation=incarnation,
                num_calls=dict(request.num_calls),
                failure=request.failure,
            )
        )
        if task == self._state.spec.leader():
            self.end()
        return pb.LeaveResponse()

    def was_seen(self, task: Task) -> bool:
        """Returns whether a task has ever joined."""
        with self._lock:
            return self._state.place(task).incarnation != 0

    def end(self) -> None:
        """Ends all streams once they have brought what is queued; a later one at once."""
        with self._lock:
            self._has_ended = True
            for news in self._watchers.values():
                news.put(None)

    def _admit(self, event: rules.Join, news: _News) -> pb.JoinResponse | None:
        with self._lock:
            self._state, actions = rules.step(self._state, event)
            for action in actions:
                if isinstance(action, rules.Refuse):
                    return _message(action)
            news.put(
                pb.JoinResponse(
                    admission=pb.Admission(
                        cluster_id=self._state.cluster_id, protocol_version=rules.PROTOCOL_VERSION
                    )
                )
            )
            self._watchers[event.task, event.incarnation] = news
            self._tell(actions)
            if self._has_ended:
                news.put(None)
        return None

    def _disconnected(self, task: Task, incarnation: int, news: _News) -> None:
        with self._lock:
            if self._watchers.get((task, incarnation)) is news:
                del self._watchers[task, incarnation]
        news.put(None)  # wakes its handler, so that the thread ends now
        self._feed(rules.Disconnect(task=task, incarnation=incarnation))

    def _feed(self, event: rules.Event) -> rules.Refuse | None:
        with self._lock:
            self._state, actions = rules.step(self._state, event)
            self._tell(actions)
        return next((action for action in actions if isinstance(action, rules.Refuse)), None)

    def _tell(self, actions: Sequence[rules.Action]) -> None:
        """Queues what concerns all; the lock makes the order the same for every watcher."""
        for action in actions:
            if isinstance(action, rules.Announce | rules.Depart | rules.Release):
                message = _message(action)
                for news in self._watchers.values():
                    news.put(message)


def _caller(caller: pb.Caller) -> tuple[Task, int]:
    return Task(caller.task_type, caller.task_index), caller.incarnation


def _message(action: rules.Action) -> pb.JoinResponse:
    match action:
        case rules.Refuse():
            kind = f"REFUSAL_KIND_{action.kind.name}"
            return pb.JoinResponse(refusal=pb.Refusal(kind=kind, reason=action.reason))
        case rules.Announce():
            members = [pb.Member(task=str(t), incarnation=i) for t, i in action.members]
            missing = [str(task) for task in action.missing]
            return pb.JoinResponse(
                view=pb.View(generation=action.generation, members=members, missing=missing)
            )
        case rules.Depart():
            how = "DEAD" if action.is_dead else "LEFT"
            return pb.JoinResponse(
                departure=pb.Departure(
                    task=str(action.task),
                    kind=f"DEPARTURE_KIND_{how}",
                    num_calls=action.num_calls,
                    reason=action.reason,
                )
            )
        case rules.Release():
            return pb.JoinResponse(
                release=pb.Release(barrier=action.barrier, generation=action.generation)
            )
        case _:
            raise TypeError(f"{action!r} is answered, not told.")
