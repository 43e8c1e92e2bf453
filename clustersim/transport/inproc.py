"""Transport between threads of one process: for tests, teaching and mirrored replicas."""

from clustersim.errors import Cause
from clustersim.transport.base import PeerBroke, PeerEnded, TransportClosed
from clustersim.transport.mailbox import Mailbox


class InprocTransport:
    """One member's end. Make all ends at once with `inproc_group`."""

    def __init__(self, rank: int, mailboxes: list[Mailbox]) -> None:
        self.rank = rank
        self.size = len(mailboxes)
        self._mailboxes = mailboxes
        self._is_closed = False

    def send(self, target: int, frame: bytes) -> None:
        """Puts the frame into the target's mailbox."""
        if self._is_closed:
            raise TransportClosed
        self._mailboxes[target].put(self.rank, frame)

    def receive(self, source: int, timeout_s: float) -> bytes | None:
        """See `Transport.receive`."""
        return self._mailboxes[self.rank].take(source, timeout_s)

    def ended(self) -> list[PeerEnded]:
        """See `Transport.ended`."""
        return self._mailboxes[self.rank].ended()

    def abort(self, frame: bytes) -> None:
        """See `Transport.abort`."""
        for rank, mailbox in enumerate(self._mailboxes):
            if rank != self.rank:
                mailbox.note_abort(frame)

    def leave(self, num_calls: int) -> None:
        """Says goodbye, as a task does that ends after `num_calls` calls."""
        name = f"rank {self.rank}"
        news = PeerEnded(f"{name} ended.", peer=self.rank, task=name, num_calls=num_calls)
        for rank, mailbox in enumerate(self._mailboxes):
            if rank != self.rank:
                mailbox.note_ended(news)

    def crash(self) -> None:
        """Breaks the connection, as the death of a process does."""
        name = f"rank {self.rank}"
        news = PeerBroke(f"{name} died.", peer=self.rank, task=name, cause=Cause.PEER_FAILED)
        for rank, mailbox in enumerate(self._mailboxes):
            if rank != self.rank:
                mailbox.note_broke(news)

    def close(self) -> None:
        """See `Transport.close`; what was sent is already there."""
        self._is_closed = True
        self._mailboxes[self.rank].close()


def inproc_group(size: int) -> list[InprocTransport]:
    """Returns the ends of a new group, by rank."""
    mailboxes = [Mailbox(size) for _ in range(size)]
    return [InprocTransport(rank, mailboxes) for rank in range(size)]
