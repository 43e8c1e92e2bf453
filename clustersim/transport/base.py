"""The carrier of frames between the members of one group, as a protocol.

A transport moves bytes and tells why it cannot; it does not look into frames, but for one bit: an
abort frame overtakes everything. It never decides what a loss means for a collective.
"""

from typing import Protocol

from clustersim.errors import Cause, UnavailableError


class TransportClosed(UnavailableError):  # noqa: N818  # blame is in the name: we closed it
    """This side closed the transport, and then used it."""

    def __init__(self) -> None:
        super().__init__("This task's group is closed. Make a new strategy.", code="CSE506")


class PeerBroke(UnavailableError):  # noqa: N818  # blame is in the name: the peer's side broke
    """The connection to a peer broke: it died, froze, or the network did."""

    def __init__(self, message: str, *, peer: int, task: str, cause: Cause) -> None:
        super().__init__(message, code="CSE503", task=task, cause=cause, rank=peer)


class PeerEnded(UnavailableError):  # noqa: N818  # blame is in the name: the peer ended it
    """A peer said goodbye, and will send nothing more. `num_calls` is how many calls it made."""

    def __init__(self, message: str, *, peer: int, task: str, num_calls: int) -> None:
        super().__init__(message, code="CSE502", task=task, cause=Cause.EARLY_EXIT, rank=peer)
        self.num_calls = num_calls


class GroupAborted(Exception):  # noqa: N818  # a message that travels as an exception, inside only
    """A peer sent an abort frame. `frame` is that frame, for the communicator to decode."""

    def __init__(self, frame: bytes) -> None:
        super().__init__("the group was aborted by a peer")
        self.frame = frame


class Transport(Protocol):
    """Frames between `size` members; this one is `rank`.

    Ordering: frames from one member to another arrive in the order of `send`, each once. Nothing is
    promised between different pairs. Thread-safety: `send` and `receive` are for one thread, the
    one that makes collective calls; `abort` and `close` may be called from any.
    """

    rank: int
    size: int

    def send(self, target: int, frame: bytes) -> None:
        """Queues a frame; never waits for the peer, so a ring cannot block itself.

        Raises:
            TransportClosed: `close` was called.
        """
        ...

    def receive(self, source: int, timeout_s: float) -> bytes | None:
        """Returns the next frame from `source`; None if none came in time, or on news.

        What had arrived before a peer ended or broke is still returned.

        Raises:
            GroupAborted: A member aborted.
            PeerBroke: A member's connection broke; its death concerns the whole group.
            TransportClosed: `close` was called.
        """
        ...

    def ended(self) -> list[PeerEnded]:
        """Returns the members that said goodbye, each with the number of its calls."""
        ...

    def abort(self, frame: bytes) -> None:
        """Sends an abort frame to every other member, ahead of all that waits there."""
        ...

    def close(self) -> None:
        """Sends what is queued (for a bounded time) and ends. A second call does nothing."""
        ...
