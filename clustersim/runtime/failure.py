"""What ends a program, shown as its writer needs it: without the frames of this package.

Importing `clustersim.tf` sees to it, for whatever of ours the program calls. CLUSTERSIM_TRACEBACK=1
keeps our frames. Who wants to know of a failure says so with `tell`.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from clustersim.config import TaskSettings

_PACKAGE = str(Path(__file__).parents[1])

_lock = threading.Lock()  # guards _is_watching
_is_watching = False
_hearers: list[Callable[[BaseException], None]] = []


def tell(hearer: Callable[[BaseException], None]) -> None:
    """Calls `hearer` with the exception that ends the program, before it is shown."""
    _hearers.append(hearer)


def watch() -> None:
    """Sees the exception that ends the program. A second call does nothing."""
    global _is_watching  # noqa: PLW0603  # a hook of the process is set once
    with _lock:
        if _is_watching:
            return
        _is_watching = True
    shown_before = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        for hearer in _hearers:
            hearer(error)
        if not TaskSettings.from_environ().has_full_traceback:
            traceback = without_our_frames(traceback)
            for earlier in _leading_to(error):
                earlier.__traceback__ = without_our_frames(earlier.__traceback__)
        shown_before(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


def without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Returns a traceback that ends where the program called us; whole if it never was there."""
    kept = []
    frame = traceback
    while frame is not None:
        if not frame.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(frame)
        frame = frame.tb_next
    if not kept:
        return traceback
    for frame, following in zip(kept, [*kept[1:], None], strict=True):
        frame.tb_next = following
    return kept[0]


def _leading_to(error: BaseException) -> Iterator[BaseException]:
    """Yields the exceptions that are shown before `error`, as its cause or while it was handled."""
    seen = {id(error)}
    while True:
        earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if earlier is None or id(earlier) in seen:
            return
        seen.add(id(earlier))
        yield earlier
        error = earlier
