"""Where frames wait until the communicator asks for them: one queue a source, and news.

Waiting for data and waiting for news (a peer ended, broke, or aborted) is one wait: news wakes
every queue by a marker. Data that arrived before the news is handed out first.

Not bounded: in a collective a sender is never ahead of a receiver by more than one call's buffer,
since its own next step needs what the receiver has yet to send.
"""

import queue
import threading
from typing import Final

from clustersim.transport.base import GroupAborted, PeerBroke, PeerEnded, TransportClosed

_NEWS: Final = None
"""The marker that makes a waiting receiver look for news."""


class Mailbox:
    """The incoming side of a transport. Any thread puts; one thread takes."""

    def __init__(self, size: int) -> None:
        self._queues: list[queue.SimpleQueue[bytes | None]] = [
            queue.SimpleQueue() for _ in range(size)
        ]
        self._lock = threading.Lock()  # guards the four below
        self._ended: dict[int, PeerEnded] = {}
        self._broke: PeerBroke | None = None
        self._abort: bytes | None = None
        self._closed = False

    def put(self, source: int, frame: bytes) -> None:
        """Adds a frame from `source`."""
        self._queues[source].put(frame)

    def take(self, source: int, timeout_s: float) -> bytes | None:
        """Returns a frame; None if nothing came in time or there is news. Raises bad news."""
        waiting = self._queues[source]
        try:
            frame = waiting.get_nowait()
        except queue.Empty:
            self._raise_news()
            try:
                frame = waiting.get(timeout=timeout_s)
            except queue.Empty:
                return None
        if frame is None:
            self._raise_news()
        return frame

    def ended(self) -> list[PeerEnded]:
        """Returns who said goodbye."""
        with self._lock:
            return list(self._ended.values())

    def note_ended(self, peer: PeerEnded) -> None:
        """Takes note that a member said goodbye. Only the first note of a member counts."""
        with self._lock:
            self._ended.setdefault(peer.rank or 0, peer)
        self._wake()

    def note_broke(self, error: PeerBroke) -> None:
        """Takes note that a member's connection broke; a member that said goodbye may go."""
        with self._lock:
            if self._broke is None and error.rank not in self._ended:
                self._broke = error
        self._wake()

    def note_abort(self, frame: bytes) -> None:
        """Takes note of an abort; only the first counts."""
        with self._lock:
            if self._abort is None:
                self._abort = frame
        self._wake()

    def close(self) -> None:
        """Wakes whoever waits; from now on `take` raises."""
        with self._lock:
            self._closed = True
        self._wake()

    def _wake(self) -> None:
        for waiting in self._queues:
            waiting.put(_NEWS)

    def _raise_news(self) -> None:
        with self._lock:
            if self._closed:
                raise TransportClosed
            if self._abort is not None:
                raise GroupAborted(self._abort)
            if self._broke is not None:
                raise self._broke
