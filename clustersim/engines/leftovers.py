"""Containers of runs whose launcher and supervisor were both killed: found by their label, and ended.

A container of a run says by a label who launched it: the machine's boot and process namespace, the pid
and when that process began, which together name one process once and for all. Only launchers of the same
boot and namespace can be judged from here; an engine may well serve other machines, too. Without /proc no
launcher can be named, and nothing is judged.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from clustersim.launch.launcher import start_time

LABEL = "clustersim.launcher"

_LIMIT_S = 60.0


def own_mark() -> str:
    """Returns how this process is named in labels: `BOOT/NAMESPACE/PID/START`, '' without /proc."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").readlink()
    except OSError:
        return ""
    return f"{boot}/{namespace}/{os.getpid()}/{start_time(os.getpid())}"


def is_left(mark: str, own: str, started: Callable[[int], str]) -> bool:
    """Returns whether the launcher of that mark is surely gone.

    Args:
        mark: Of a container.
        own: Of this process.
        started: Returns when a process began, '' if there is none of that pid.
    """
    match mark.split("/"):
        case [*here, pid, began] if own and here == own.split("/")[:2] and pid.isdecimal():
            return started(int(pid)) != began
        case _:
            return False


def end_left(docker: Sequence[str]) -> int:
    """Takes away what killed runs left on the engine; returns how many containers that were."""
    own = own_mark()
    containers, networks = (
        [
            one
            for one, _, mark in (line.partition(" ") for line in _lines(docker, *listing))
            if is_left(mark, own, start_time)
        ]
        for listing in (("ps", "--all", "--no-trunc"), ("network", "ls", "--no-trunc"))
    )
    if containers:
        _lines(docker, "rm", "--force", "--volumes", *containers, is_listing=False)
    if networks:
        _lines(docker, "network", "rm", *networks, is_listing=False)
    return len(containers)


def _lines(docker: Sequence[str], *words: str, is_listing: bool = True) -> list[str]:
    """Returns what a command prints, nothing if it fails: whoever starts a run hears it then."""
    form = ["--filter", f"label={LABEL}", "--format", f'{{{{.ID}}}} {{{{.Label "{LABEL}"}}}}']
    try:
        done = subprocess.run(
            [*docker, *words, *(form if is_listing else [])],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.splitlines() if done.returncode == 0 else []
