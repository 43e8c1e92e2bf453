"""What CLUSTERSIM_DEVICES asks for: simulated devices, read from text.

    gpu:2                            two GPUs
    gpu:2,memory=2GiB,speed=0.5      ... of 2 GiB each, at half this machine's speed
    gpu:1;tpu:8                      several kinds, joined by `;`
    tpu:8,mesh=2x2x1x2               TPU cores in a mesh: x, y, z, cores of a chip

One CPU is always there; `cpu:4` makes it four. Knows nothing of devices while they live.
"""

import math
from dataclasses import dataclass

from clustersim import errors, units

_TYPES = ("cpu", "gpu", "tpu")
_SETTINGS = ("memory", "speed", "mesh")
_EXAMPLE = "Write for example gpu:2,memory=2GiB,speed=0.5 and join several by ';'."

_MOST_DEVICES = 4096
"""More of one kind in a process is a slip of the finger."""

_MESHES = {1: (1, 1, 1, 1), 2: (1, 1, 1, 2), 4: (2, 1, 1, 2), 8: (2, 2, 1, 2), 16: (2, 2, 2, 2)}
"""The meshes of small slices, by their number of cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """Some simulated devices of one kind."""

    device_type: str
    """As in device names: CPU, GPU, TPU."""
    count: int
    memory_bytes: int | None = None
    """How many bytes of tensors each may hold. None: no limit."""
    speed: float = 1.0
    """Relative to this machine: 0.5 takes twice as long. At most 1."""
    mesh: tuple[int, ...] = ()
    """How TPU cores lie: x, y, z, core; empty for other kinds."""


def parse_devices(text: str) -> list[DeviceRequest]:
    """Returns what `text` asks for, kind by kind.

    Raises:
        UsageError: It cannot be understood; all findings at once.
    """
    findings: list[str] = []
    requests = [
        _parse_one(part.strip(), findings) for part in text.split(";") if part.strip() != ""
    ]
    types = [request.device_type for request in requests if request is not None]
    findings += [
        f"{kind} is asked for more than once: give one number of them"
        for kind in sorted(set(types))
        if types.count(kind) > 1
    ]
    if findings:
        raise errors.UsageError(
            f"CLUSTERSIM_DEVICES is {text!r}: {'; '.join(findings)}. {_EXAMPLE}", code="CSE101"
        )
    return [request for request in requests if request is not None]


def _parse_one(part: str, findings: list[str]) -> DeviceRequest | None:
    head, *settings = (piece.strip() for piece in part.split(","))
    kind, _, number = head.partition(":")
    num_before = len(findings)
    if kind.lower() not in _TYPES:
        findings.append(f"{kind!r} is no kind of device, expected one of {', '.join(_TYPES)}")
    number = number or "1"
    count = _count(number, f"{number!r} in {head!r} is no number of devices", findings)
    values: dict[str, str] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in _SETTINGS:
            findings.append(f"{setting!r} is no setting, expected one of {', '.join(_SETTINGS)}")
        values[name] = value
    memory_bytes = _memory(values.get("memory"), findings)
    speed = _speed(values.get("speed"), findings)
    if len(findings) > num_before:
        return None
    mesh = _mesh(values.get("mesh"), kind.lower(), count, findings)
    return DeviceRequest(
        device_type=kind.upper(),
        count=count,
        memory_bytes=memory_bytes,
        speed=speed,
        mesh=mesh,
    )


def _count(text: str, otherwise: str, findings: list[str]) -> int:
    try:
        return units.parse_count(text, _MOST_DEVICES)
    except ValueError:
        findings.append(f"{otherwise}, expected 1 to {_MOST_DEVICES}")
        return 0


def _memory(text: str | None, findings: list[str]) -> int | None:
    if text is None:
        return None
    try:
        size_bytes = units.parse_size(text)
    except ValueError:
        findings.append(f"memory {text!r} is no size, expected for example 512MiB or 2GiB")
        return None
    return size_bytes


def _speed(text: str | None, findings: list[str]) -> float:
    if text is None:
        return 1.0
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0.0 < speed <= 1.0:
        findings.append(f"speed {text!r} is not in (0, 1], the part of this machine's speed")
    return speed


def _mesh(text: str | None, kind: str, count: int, findings: list[str]) -> tuple[int, ...]:
    if kind != "tpu":
        if text is not None:
            findings.append(f"mesh is for tpu only, not for {kind}")
        return ()
    if text is None:
        return _MESHES.get(count) or (count, 1, 1, 1)
    try:
        x, y, z, core = (units.parse_count(size, _MOST_DEVICES) for size in text.split("x"))
    except ValueError:
        findings.append(f"mesh {text!r} is not four sizes, expected for example 2x2x1x2")
        return ()
    mesh = (x, y, z, core)
    if math.prod(mesh) != count:
        findings.append(f"mesh {text!r} has {math.prod(mesh)} cores, but {count} are asked for")
    return mesh
