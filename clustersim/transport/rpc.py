"""Transport between tasks: one long-lived gRPC stream per ordered pair and group.

`Exchange` is the server's side: it is attached to the task's one gRPC server and sorts what comes
in into mailboxes. `RpcTransport` is one group's end: it opens a stream to a member when something
is first sent there. Frames travel as raw bytes, without protobuf.

It knows tasks and bytes; what a frame says is for the communicator to read.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import grpc

from clustersim.cluster.spec import Task
from clustersim.errors import Cause
from clustersim.transport.base import PeerBroke, PeerEnded, TransportClosed
from clustersim.transport.mailbox import Mailbox
from clustersim.wire.channel import open_channel, status_text
from clustersim.wire.codec import is_abort

_SERVICE = "clustersim.wire.v1.CollectiveService"
_METHOD = f"/{_SERVICE}/Exchange"

_FINISHED = b""
"""The last message of a stream that was closed on purpose. Without it gRPC's end of a stream says too
little: when a peer dies, the end of its messages may be seen before the death is."""

CLOSE_TIMEOUT_S = 5.0
"""How long `close` waits for a peer to have read everything."""

_FORM_TIMEOUT_S = 5.0
"""How long an early stream waits until this task, too, has heard that the group is formed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a task is in a formed group: what its streams say, and must say."""

    cluster_id: str
    generation: int
    task: Task
    incarnation: int

    def metadata(self, group: str) -> tuple[tuple[str, str], ...]:
        """Returns what opens a stream of `group`."""
        return (
            ("cid", self.cluster_id),
            ("gen", str(self.generation)),
            ("src", str(self.task)),
            ("inc", str(self.incarnation)),
            ("group", group),
        )


class Exchange:
    """The server's side, shared by all groups of this task.

    Every incoming stream is checked against `members`: a stream of another run, generation or
    incarnation is refused.
    """

    def __init__(self) -> None:
        self._formed = threading.Event()
        self._lock = threading.Lock()  # guards _mailboxes
        self._mailboxes: dict[str, Mailbox] = {}
        self._identity: Identity | None = None
        self._members: dict[str, tuple[int, int]] = {}

    def form(self, identity: Identity, members: Mapping[Task, int]) -> None:
        """Takes note of the formed group: tasks in rank order, with their incarnations."""
        self._identity = identity
        self._members = {
            str(task): (rank, incarnation)
            for rank, (task, incarnation) in enumerate(members.items())
        }
        self._formed.set()

    def mailbox(self, group: str) -> Mailbox:
        """Returns the mailbox of a group; made by whoever comes first, sender or receiver."""
        with self._lock:
            if group not in self._mailboxes:
                self._mailboxes[group] = Mailbox(len(self._members))
            return self._mailboxes[group]

    def attach(self, server: grpc.Server) -> None:
        """Adds the service to a server that has not been started."""
        handler = grpc.stream_unary_rpc_method_handler(self._exchange)  # identity serialisers
        generic = grpc.method_handlers_generic_handler(_SERVICE, {"Exchange": handler})
        server.add_generic_rpc_handlers((generic,))

    def _exchange(self, frames: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        meta = {key: str(value) for key, value in context.invocation_metadata()}
        self._formed.wait(_FORM_TIMEOUT_S)
        refusal = self._refusal(meta)
        if refusal:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, refusal)
        rank, _ = self._members[meta["src"]]
        mailbox = self.mailbox(meta["group"])
        is_finished = False
        try:
            for frame in frames:
                if frame == _FINISHED:
                    is_finished = True
                elif is_abort(frame):
                    mailbox.note_abort(frame)
                else:
                    mailbox.put(rank, frame)
        except Exception:  # noqa: BLE001, S110  # gRPC raises a bare Exception when the peer dies
            pass
        if not is_finished:
            mailbox.note_broke(
                PeerBroke(
                    f"{meta['src']} died, or its connection broke.",
                    peer=rank,
                    task=meta["src"],
                    cause=Cause.PEER_FAILED,
                )
            )
        return b""

    def _refusal(self, meta: Mapping[str, str]) -> str:
        mine = self._identity
        if mine is None:
            return "This task has not heard yet that its group is formed. Try again."
        expected = {"cid": mine.cluster_id, "gen": str(mine.generation)}
        _, incarnation = self._members.get(meta.get("src", ""), (0, None))
        expected["inc"] = str(incarnation)
        for key, value in expected.items():
            if meta.get(key) != value:
                return (
                    f"{mine.task} expected {key}={value} of {meta.get('src')!r} and received"
                    f" {key}={meta.get(key)}. It belongs to an earlier run; end what that left."
                )
        return "" if meta.get("group") else "The stream does not name its group."


class RpcTransport:
    """One member's end of one group. See `Transport` for the promises.

    Args:
        group: The group's name, the same on all members.
        addresses: Where the members listen, in rank order.
        identity: Who this task is.
        exchange: The incoming side.
    """

    def __init__(
        self, group: str, addresses: Mapping[Task, str], *, identity: Identity, exchange: Exchange
    ) -> None:
        self.tasks = tuple(addresses)
        self.rank = self.tasks.index(identity.task)
        self.size = len(self.tasks)
        self.group = group
        self._addresses = list(addresses.values())
        self._identity = identity
        self._mailbox = exchange.mailbox(group)
        self._lock = threading.Lock()  # guards _streams and _is_closed
        self._streams: dict[int, _Outgoing] = {}
        self._is_closed = False

    def send(self, target: int, frame: bytes) -> None:
        """See `Transport.send`."""
        self._stream(target).put(frame)

    def receive(self, source: int, timeout_s: float) -> bytes | None:
        """See `Transport.receive`."""
        return self._mailbox.take(source, timeout_s)

    def ended(self) -> list[PeerEnded]:
        """See `Transport.ended`."""
        return self._mailbox.ended()

    def note_ended(self, task: Task, num_calls: int) -> None:
        """Takes note that a member said goodbye after `num_calls` calls in this group."""
        rank = self.tasks.index(task)
        message = f"{task} ended after {num_calls} collective calls."
        self._mailbox.note_ended(PeerEnded(message, peer=rank, task=str(task), num_calls=num_calls))

    def note_dead(self, task: Task, reason: str) -> None:
        """Takes note that a member died, as the leader says."""
        self._broke(self.tasks.index(task), reason, Cause.PEER_FAILED)

    def abort(self, frame: bytes) -> None:
        """See `Transport.abort`."""
        for rank in range(self.size):
            if rank != self.rank:
                self.send(rank, frame)

    def close(self) -> None:
        """See `Transport.close`."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            streams = list(self._streams.values())
        for stream in streams:
            stream.finish()
        for stream in streams:
            stream.close()
        self._mailbox.close()

    def _stream(self, target: int) -> "_Outgoing":
        with self._lock:
            if self._is_closed:
                raise TransportClosed
            if target not in self._streams:
                self._streams[target] = _Outgoing(
                    self._addresses[target],
                    self._identity.metadata(self.group),
                    on_broken=lambda error: self._sending_failed(target, error),
                )
            return self._streams[target]

    def _sending_failed(self, target: int, error: grpc.RpcError) -> None:
        text, name = status_text(error), str(self.tasks[target])
        if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
            self._broke(target, f"{name} refused this task: {text}", Cause.STALE)
        elif "ping" in text.lower() or "keepalive" in text.lower():
            reason = f"{name} does not answer pings: it is frozen, or the network is down."
            self._broke(target, reason, Cause.PEER_FROZEN)
        else:
            self._broke(target, f"{name} died, or its connection broke.", Cause.PEER_FAILED)

    def _broke(self, rank: int, reason: str, cause: Cause) -> None:
        name = str(self.tasks[rank])
        self._mailbox.note_broke(PeerBroke(reason, peer=rank, task=name, cause=cause))


class _Outgoing:
    """One stream to one member. What is put goes out in order, as the peer takes it."""

    def __init__(
        self,
        address: str,
        metadata: tuple[tuple[str, str], ...],
        *,
        on_broken: Callable[[Any], None],
    ) -> None:
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._on_broken = on_broken
        self._channel = open_channel(address)
        exchange = self._channel.stream_unary(_METHOD)  # identity serialisers
        # No deadline: a data stream lives as long as its group; pings and membership guard it.
        self._call = exchange.future(
            iter(self._queue.get, None), metadata=metadata, wait_for_ready=True
        )
        self._call.add_done_callback(self._done)

    def put(self, frame: bytes) -> None:
        self._queue.put(frame)

    def finish(self) -> None:
        self._queue.put(_FINISHED)
        self._queue.put(None)

    def close(self) -> None:
        """Waits, for a bounded time, until the peer has read everything; then ends."""
        self._on_broken = _ignore
        try:
            self._call.result(timeout=CLOSE_TIMEOUT_S)
        except (grpc.RpcError, grpc.FutureTimeoutError, grpc.FutureCancelledError):
            self._call.cancel()  # the peer is gone or stuck: it will not miss what is lost
        self._channel.close()

    def _done(self, call: Any) -> None:
        if not call.cancelled() and call.code() is not grpc.StatusCode.OK:
            self._on_broken(call)


def _ignore(_error: Any) -> None:
    """Takes the place of `on_broken` once nobody asks any more."""
