"""How many cores this process may use: fewer than the machine has, in a container or under taskset.

Libraries that start a thread for each core ask the machine, and so does `os.cpu_count`. A container
that may use half a core of 64 would then run 64 threads in turns. What counts is the smallest of the
machine's cores, the scheduler's mask, and the quota of every control group (cgroup, v1 and v2) above
this process.
"""

import math
import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc/self")


def usable_cores(proc: Path = _PROC, *, machine: int | None = None) -> int:
    """Returns how many cores this process can keep busy, at least 1.

    Args:
        proc: The process's folder under /proc; where there is none, no quota is known.
        machine: How many cores there are without a quota. Default: those in the scheduler's mask,
            else all.
    """
    cores = machine or _cores_of_mask()
    return max(1, min([cores, *(math.ceil(quota) for quota in _quotas(proc))]))


def _cores_of_mask() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(proc: Path) -> Iterator[float]:
    """Yields every CPU quota, in cores, from this process's own group up to the root."""
    try:
        groups = (proc / "cgroup").read_text().splitlines()
        mounts = (proc / "mountinfo").read_text().splitlines()
    except OSError:
        return  # not Linux, or /proc is hidden
    for line in groups:
        _, controllers, group = line.split(":", 2)
        is_v2 = controllers == ""
        if not is_v2 and "cpu" not in controllers.split(","):
            continue
        for root, folder in _mounted(mounts, is_v2=is_v2):
            quota_of = _quota_v2 if is_v2 else _quota_v1
            for level in _upwards(folder, group, root):
                quota = quota_of(level)
                if quota is not None:
                    yield quota


def _mounted(mounts: list[str], *, is_v2: bool) -> Iterator[tuple[str, Path]]:
    """Yields what part of the hierarchy is mounted, and where. See proc(5), mountinfo."""
    for line in mounts:
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        if kind == ("cgroup2" if is_v2 else "cgroup"):
            fields = before.split()
            if is_v2 or "cpu" in options.split()[-1].split(","):
                yield fields[3], Path(fields[4])


def _upwards(folder: Path, group: str, root: str) -> Iterator[Path]:
    """Yields a group's folder and those above it, as far as they are mounted here.

    In a container the mount shows only a part: its root, or nothing that names the group.
    """
    inside = group.removeprefix(root if root != "/" else "").strip("/")
    level = folder if ".." in inside.split("/") else folder / inside
    while not level.is_dir() and level != folder:
        level = level.parent
    yield level
    while level != folder:
        level = level.parent
        yield level


def _quota_v2(folder: Path) -> float | None:
    match _words(folder / "cpu.max"):
        case [quota, period] if quota.isdecimal() and int(period) > 0:
            return int(quota) / int(period)
    return None


def _quota_v1(folder: Path) -> float | None:
    match _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us"):
        case [quota], [period] if int(quota) > 0 and int(period) > 0:
            return int(quota) / int(period)
    return None


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
