"""What a person sees of a run: the event stream, as lines on a terminal.

stdout carries the tasks' stdout; everything of ours goes to stderr. One hue for each task, from a
palette that colour-blind people can tell apart, and never the only sign.
"""

import json
import os
import sys
import threading
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TextIO

from clustersim._version import __version__
from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.units import format_duration

_SAY_AFTER_S = 2.0
_SAY_AGAIN_S = 10.0

# Okabe and Ito's palette, as the nearest of the 256 terminal colours.
_HUES = (33, 208, 36, 175, 220, 75, 166, 250)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a run is shown."""

    is_quiet: bool = False
    """Only the tasks' own output."""

    is_json: bool = False
    """The event stream itself, and nothing else."""

    has_prefix: bool = True
    """`worker:1 | ` in front of each line of a task."""

    verbosity: int = 0


class Screen:
    """Shows one run. `take` is called from the thread that reads events, `tick` from another."""

    def __init__(self, style: Style, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._style = style
        self._clock = clock
        self._lock = threading.Lock()  # guards all below, and keeps lines whole
        self._states: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._began = clock.now()
        self._is_ready = False
        self._is_muted = False
        self._said: tuple[str, float] = ("", self._began)
        self._has_colour = _wants_colour(sys.stderr)

    def mute(self) -> None:
        """Shows no more output of tasks: from the first Ctrl-C on it goes to the logs only."""
        self._is_muted = True  # without the lock: a signal handler calls this

    def take(self, event: Mapping[str, Any]) -> None:
        """Shows one event."""
        with self._lock:
            if self._style.is_json:
                _write(sys.stdout, json.dumps(event))
                return
            show = getattr(self, f"_on_{event['ev']}", None)
            if show is not None:
                show(event)

    def tick(self) -> None:
        """Says what is waited for, if nothing was said for 2 s; again if that changes."""
        with self._lock:
            waited_s = self._clock.now() - self._began
            if self._is_ready or not self._states or waited_s < _SAY_AFTER_S:
                return
            if all(state not in {"starting", "pending"} for state in self._states.values()):
                return
            text, at = self._said
            states = "  ".join(f"{name} {_word(one)}" for name, one in self._states.items())
            why = "".join(f"\n         {name}: {one}" for name, one in self._reasons.items())
            now = self._clock.now()
            if states + why != text or now >= at + _SAY_AGAIN_S:
                self._said = (states + why, now)
                self._say(f"waiting  {states}  ({format_duration(waited_s)}){why}")

    def say(self, text: str) -> None:
        """Writes a line of ours, unless we are to be quiet."""
        with self._lock:
            self._say(text)

    # -- events ---------------------------------------------------------------------------------

    def _on_run(self, event: Mapping[str, Any]) -> None:
        self._states = dict.fromkeys(event["tasks"], "pending")
        where = "  ".join(
            f"{name} :{address.rpartition(':')[2]}" for name, address in event["tasks"].items()
        )
        self._say(f"clustersim {__version__}  run {event['run']}  {where}")

    def _on_state(self, event: Mapping[str, Any]) -> None:
        self._states[event["task"]] = event["state"]
        if event["state"] == "ready":
            self._reasons.pop(event["task"], None)
        if self._style.verbosity:
            extra = event.get("signal") or event.get("pid") or ""
            self._say(f"state    {event['task']} {event['state']} {extra}".rstrip())

    def _on_exit(self, event: Mapping[str, Any]) -> None:
        self._states[event["task"]] = event["state"]
        if self._style.verbosity:
            how = event["signal"] or event["code"]
            self._say(f"exit     {event['task']} {how}")

    def _on_ready(self, event: Mapping[str, Any]) -> None:
        self._is_ready = True
        count = len(event["tasks"])
        tasks = "1 task" if count == 1 else f"{count} tasks"
        self._say(f"ready    {tasks} in {format_duration(event['t'])}    stop: Ctrl-C")

    def _on_waiting(self, event: Mapping[str, Any]) -> None:
        if event.get("for"):
            self._reasons[event["task"]] = f"waits for {event.get('reason', '')}"
        else:
            self._reasons.pop(event["task"], None)

    def _on_message(self, event: Mapping[str, Any]) -> None:
        self._say(f"error    {event['task']}: {event['text']}")

    def _on_note(self, event: Mapping[str, Any]) -> None:
        self._say(f"note     {event['text']}")

    def _on_log(self, event: Mapping[str, Any]) -> None:
        if self._is_muted:
            return
        stream = sys.stderr if event["stream"] == "stderr" else sys.stdout
        if self._style.has_prefix:
            _write(stream, self._prefix(event["task"], stream) + event["line"])
        elif "raw" in event:  # a line without an end, or bytes that are no text
            _write_bytes(stream, b64decode(event["raw"]))
        else:
            _write(stream, event["line"])

    def _on_end(self, event: Mapping[str, Any]) -> None:
        count = event["dropped_lines"]
        if count:
            self._say(f"note     {count} lines were not shown; the logs have them")

    def _prefix(self, task: str, stream: TextIO) -> str:
        width = max(map(len, self._states), default=0)
        text = f"{task:<{width}} | "
        if not (self._has_colour and _wants_colour(stream)):
            return text
        hue = _HUES[list(self._states).index(task) % len(_HUES)] if task in self._states else 250
        return f"\x1b[38;5;{hue}m{text}\x1b[0m"

    def _say(self, text: str) -> None:
        if not (self._style.is_quiet or self._style.is_json):
            _write(sys.stderr, text)


def _word(state: str) -> str:
    return "ok" if state == "ready" else state


def _write(stream: TextIO, line: str) -> None:
    try:
        try:
            stream.write(line + "\n")
        except UnicodeEncodeError:  # the terminal's encoding is poorer than the task's text
            plain = line.encode(stream.encoding, "backslashreplace").decode(stream.encoding)
            stream.write(plain + "\n")
        stream.flush()
    except (BrokenPipeError, ValueError):
        pass  # whoever read us is gone; the run goes on, its logs are files


def _write_bytes(stream: TextIO, data: bytes) -> None:
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.flush()
    except (BrokenPipeError, ValueError):
        pass  # as above


def _wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
