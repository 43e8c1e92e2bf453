"""What tasks leave behind: processes that they started and did not end.

On Linux the supervisor is the subreaper of everything below it, so whatever a task left, in whatever
session or group, is its child in the end. Elsewhere only process groups can be ended.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PAUSE_S = 0.01
_LIMIT_S = 5.0
"""A process that KILL does not end by then is stuck in the kernel; we leave it and go."""


def become_subreaper() -> None:
    """Makes this process the parent of all orphans below it. Linux only; else does nothing."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


async def end_all(groups: Iterable[int]) -> None:
    """Kills what is left of the tasks' process groups, then every child we have, until none is."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    for _ in range(int(_LIMIT_S / _PAUSE_S)):
        left = children(os.getpid())
        if not left:
            return
        for pid in left:  # those of a child that ends here are ours in the next round
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                # By pid, so that an exit code is never taken from others; does not wait.
                os.waitpid(pid, os.WNOHANG)  # noqa: ASYNC222
        await asyncio.sleep(_PAUSE_S)


def children(parent: int) -> list[int]:
    """Returns the processes whose parent is `parent`; none where there is no /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            if int(fields.rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found
