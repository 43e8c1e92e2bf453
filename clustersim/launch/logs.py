"""What a task prints: whole in its own file, line by line to the terminal, its last words kept.

Parses the last Python traceback of a task, whatever program it is, so that a failure can be told in
three lines. Knows files and text; not processes.
"""

import os
import re
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clustersim.cluster.spec import Task
from clustersim.errors import StartError
from clustersim.launch.plan import service_name

TAIL_LINES = 50
MAX_LINE_BYTES = 64 * 1024
"""What has no line end by then is cut there: a progress bar must not pile up."""

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$')
_ERROR = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_GROUP = re.compile(r"^  \+ Exception Group (?=Traceback)")
_SAYS_ERROR = re.compile(r"^(?:Error|ERROR)\b|^[A-Za-z_][\w.]*Error:")
_LIBRARY = re.compile(r"[/\\](?:clustersim|site-packages|lib[/\\]python3)[/\\.]|^<frozen")


def make_run_folder(parent: Path | None) -> tuple[Path, str]:
    """Makes and returns a new run's folder, and its number: the first of these that is writable.

    `parent` if it is given; `.clustersim/runs` here; the same under $XDG_STATE_HOME; a private
    temporary folder. A link `latest` beside it points to it.

    Raises:
        StartError: `parent` was given and cannot be written (CSE205).
    """
    if parent is not None:
        try:
            return _numbered(parent)
        except OSError as error:
            raise StartError(
                f"The run folder {parent} cannot be written: {error.strerror}. Give another one"
                " with --log-dir.",
                code="CSE205",
            ) from error
    for base in _bases():
        try:
            base.mkdir(parents=True, exist_ok=True)
            (base / ".gitignore").write_text("*\n")
            return _numbered(base / "runs")
        except OSError:
            continue
    return _numbered(Path(tempfile.mkdtemp(prefix="clustersim-")))


def _bases() -> Iterator[Path]:
    yield Path(".clustersim").absolute()
    state = os.environ.get("XDG_STATE_HOME")
    if state:
        yield Path(state) / "clustersim"


def _numbered(runs: Path) -> tuple[Path, str]:
    """Makes the next free folder; two launchers at once get two numbers."""
    runs.mkdir(parents=True, exist_ok=True)
    taken = [int(one.name) for one in runs.iterdir() if one.name.isdecimal()]
    number = max(taken, default=0)
    while True:
        number += 1
        folder = runs / f"{number:04d}"
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        latest = runs / "latest"
        fresh = runs / f".latest-{os.getpid()}"
        fresh.symlink_to(folder.name)
        fresh.replace(latest)  # atomic: there is always a link, and it is always whole
        return folder, folder.name


def log_path(folder: Path, task: Task) -> Path:
    """Returns where a task's log goes: `worker-1.log`."""
    return folder / f"{service_name(task)}.log"


class TaskLog:
    """One task's output: its file, and its last lines. Close it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._tails = {name: deque[str](maxlen=TAIL_LINES) for name in ("stdout", "stderr")}
        self._file = path.open("ab", buffering=0)
        self._rest: dict[str, bytes] = {}

    def feed(self, stream: str, data: bytes) -> list[bytes]:
        """Takes what came from `stream`; returns the lines that are now whole, with their ends."""
        self._file.write(data)
        *whole, rest = (self._rest.get(stream, b"") + data).split(b"\n")
        lines = [line + b"\n" for line in whole]
        if len(rest) > MAX_LINE_BYTES:
            lines, rest = [*lines, rest], b""
        self._rest[stream] = rest
        return self._keep(stream, lines)

    def finish(self, stream: str) -> list[bytes]:
        """Returns what `stream` left without a line end, when it is closed."""
        rest = self._rest.pop(stream, b"")
        return self._keep(stream, [rest] if rest else [])

    def close(self) -> None:
        """Closes the file. A second call does nothing."""
        self._file.close()

    def last_words(self) -> str | None:
        """Returns the last line, of all or of stderr, if it says that something failed."""
        for lines in (self.tail, self._tails["stderr"]):
            last = next((line for line in reversed(lines) if line.strip()), "")
            if _SAYS_ERROR.match(last):
                return last
        said = [line for line in self._tails["stderr"] if line.strip()]
        found = excerpt(said)
        return found.error if found is not None and found.text.endswith(said[-1]) else None

    def _keep(self, stream: str, lines: list[bytes]) -> list[bytes]:
        texts = [shown(line) for line in lines]
        self.tail.extend(texts)
        self._tails[stream].extend(texts)
        return lines


def shown(line: bytes) -> str:
    """Returns a line as text without its end; what is no UTF-8 is replaced."""
    return line.decode(errors="replace").removesuffix("\n").rstrip("\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The last traceback of a task, in short."""

    error: str
    """Its last line: `ValueError: boom`."""
    where: str
    """The innermost line of the program itself: `train.py:9 in main()`."""
    code: str
    """That line's text."""
    text: str
    """The whole traceback."""

    @property
    def place(self) -> str:
        """`train.py:9`, without the function."""
        return self.where.partition(" ")[0]


def excerpt(lines: Sequence[str]) -> Excerpt | None:
    """Returns the last traceback in `lines`, None if there is none."""
    # The outer traceback of an ExceptionGroup, as if it stood alone: `  + Exception Group Traceback`.
    lines = [_GROUP.sub("", line).removeprefix("  | ") for line in lines]
    starts = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent call")]
    if not starts:
        return None
    begin = starts[-1]
    frames: list[tuple[str, str, str, str]] = []
    for number in range(begin + 1, len(lines)):
        line = lines[number]
        frame = _FRAME.match(line)
        if frame is not None:
            code = lines[number + 1].strip() if number + 1 < len(lines) else ""
            frames.append((frame["file"], frame["line"], frame["function"], code))
        elif line and not line[0].isspace() and _ERROR.match(line):
            return _excerpt(line, frames, lines[begin : number + 1])
    return None


def _excerpt(error: str, frames: list[tuple[str, str, str, str]], text: Sequence[str]) -> Excerpt:
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])] or frames
    where = code = ""
    if own:
        file, line, function, code = own[-1]
        call = function if function.startswith("<") else f"{function}()"
        where = f"{Path(file).name}:{line} in {call}"
    return Excerpt(error=error, where=where, code=code, text="\n".join(text))
