"""Time, behind one small protocol, so that everything that waits can be tested without waiting.

The only module that reads `time`. It knows nothing of what is timed.
"""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Tells monotonic time and lets a thread pause."""

    def now(self) -> float:
        """Returns seconds since an arbitrary start; never goes back, unmoved by clock changes."""
        ...

    def wall(self) -> float:
        """Returns seconds since 1970, for timestamps only; may jump."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Pauses the calling thread for `duration_s` seconds (0 or less: returns at once)."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Returns the machine's monotonic time in seconds."""
        return time.monotonic()

    def wall(self) -> float:
        """Returns the machine's wall time in seconds since 1970."""
        return time.time()

    def sleep(self, duration_s: float) -> None:
        """Pauses the calling thread."""
        if duration_s > 0:
            time.sleep(duration_s)


class ManualClock:
    """A clock that stands still until told to jump; `sleep` makes it jump. For tests."""

    def __init__(self, start: float = 0.0) -> None:
        self._lock = threading.Lock()  # guards _now
        self._now = start

    def now(self) -> float:
        """Returns the time it was last told."""
        with self._lock:
            return self._now

    def wall(self) -> float:
        """Returns the same as `now`."""
        return self.now()

    def sleep(self, duration_s: float) -> None:
        """Jumps ahead instead of pausing."""
        self.advance(duration_s)

    def advance(self, duration_s: float) -> None:
        """Jumps `duration_s` seconds ahead."""
        with self._lock:
            self._now += max(0.0, duration_s)


SYSTEM_CLOCK: Clock = SystemClock()
