"""What a task tells its supervisor: JSON lines over one inherited pipe, or nothing at all.

Without `CLUSTERSIM_REPORT_FD` (a task started by hand) every call is a no-op, and nothing but the
report is lost. A supervisor that is gone or does not read never stops the task: lines are dropped.

In a container the fd is 2: stderr, where each line begins with RS, so that `launch.records` can tell
it from what the program writes there.

    {"ev":"serving","address":"localhost:41002"}
    {"ev":"waiting","for":["worker:1"],"reason":"nothing listens at localhost:41003"}
    {"ev":"joined","generation":1,"replicas":2}
    {"ev":"step","step":37,"where":"train.py:41","in":"all_reduce"}
    {"ev":"peer_failed","task":"worker:1","cause":"EARLY_EXIT","message":"..."}
    {"ev":"counters","replicas":2,"steps":300,"compute_s":1.2,"waiting_s":0.3,...}
    {"ev":"dismissed"}                      the leader said goodbye to this ps
    {"ev":"goodbye","collectives":2}
"""

import json
import os

RECORD_MARK = b"\x1e"
"""RS, the character that begins a record of a JSON text sequence (RFC 7464)."""

_STDERR = 2

_MAX_TEXT = 1000
"""Keeps a line below PIPE_BUF (4096), so that it is written whole or not at all."""


class Report:
    """The writing end. Safe to use from any thread: a line is one atomic write."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        self._mark = RECORD_MARK if fd == _STDERR else b""
        if fd is not None and fd != _STDERR:
            os.set_inheritable(fd, False)  # the program's own children must not keep it open
            os.set_blocking(fd, False)

    @property
    def is_open(self) -> bool:
        """Whether somebody may be listening."""
        return self._fd is not None

    def write(self, ev: str, **fields: object) -> None:
        """Writes one line, or drops it."""
        if self._fd is None:
            return
        short = {k: v[:_MAX_TEXT] if isinstance(v, str) else v for k, v in fields.items()}
        try:
            line = json.dumps({"ev": ev, **short}).encode() + b"\n"
            os.write(self._fd, self._mark + line)
        except BlockingIOError:
            pass  # the supervisor is behind: it can do without this line
        except OSError:
            self._fd = None  # the supervisor is gone
