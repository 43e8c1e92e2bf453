"""Pure: device names as TensorFlow writes them: parse, print, overlay, replace.

    /job:worker/replica:0/task:1/device:GPU:0     the full form
    /gpu:0   gpu   CPU:1   /device:GPU:*          partial forms; a missing index is None, printed `*`

A spec says nothing about whether such a device exists; see `simulated` for that.

Source: tensorflow/python/framework/device_spec.py, 2.21; recorded cases `device_01`, `device_02`.
"""

from dataclasses import dataclass, replace

SHORT_TYPES = frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"})
"""The types that may stand without `device:` in front, in any case."""

_EXAMPLES = "Write for example '/gpu:0' or '/job:worker/task:1/device:CPU:0'."


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """A device name as a value; every field may be missing (None).

    Valid calls:
        DeviceSpec(job="worker", task=1, device_type="GPU", device_index=0)
        DeviceSpec.from_string("/job:worker/task:1/gpu:0")
    """

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def __post_init__(self) -> None:
        for field in ("replica", "task", "device_index"):
            value = getattr(self, field)
            if value is not None and type(value) is not int:
                # A frozen value is completed once, while it is made; ValueError if it is no number.
                object.__setattr__(self, field, int(value))
        # The constructor and the `device:` form change the case of these two alone.
        if self.device_type in {"cpu", "gpu"}:
            object.__setattr__(self, "device_type", self.device_type.upper())

    @classmethod
    def from_string(cls, spec: str | None) -> "DeviceSpec":
        """Reads a device name; None and '' are the empty spec.

        Raises:
            ValueError: A part is no device attribute, or an index no number.
        """
        fields: dict[str, str | int | None] = {}
        for part in (spec or "").split("/"):
            if part:
                _read_part(part, spec or "", fields)
        return cls(**fields)  # type: ignore[arg-type]  # `_read_part` gives each its type

    def parse_from_string(self, spec: str | None) -> "DeviceSpec":
        """Returns what `spec` says; this spec is not changed. Raises as `from_string`."""
        return self.from_string(spec)

    def to_string(self) -> str:
        """Returns the name: job, replica, task, device; the device only if its type is known."""
        text = "" if self.job is None else f"/job:{self.job}"
        text += "" if self.replica is None else f"/replica:{self.replica}"
        text += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is None:
            return text
        index = "*" if self.device_index is None else self.device_index
        return f"{text}/device:{self.device_type}:{index}"

    def make_merged_spec(self, dev: "DeviceSpec") -> "DeviceSpec":
        """Returns this spec with the fields that `dev` sets laid over it."""
        return DeviceSpec(
            job=self.job if dev.job is None else dev.job,
            replica=self.replica if dev.replica is None else dev.replica,
            task=self.task if dev.task is None else dev.task,
            device_type=self.device_type if dev.device_type is None else dev.device_type,
            device_index=self.device_index if dev.device_index is None else dev.device_index,
        )

    def replace(self, **kwargs: str | int | None) -> "DeviceSpec":
        """Returns this spec with some fields changed."""
        return replace(self, **kwargs)  # type: ignore[arg-type]  # checked by the dataclass

    def __repr__(self) -> str:
        return (
            f"<DeviceSpec(job={self.job}, replica={self.replica}, task={self.task},"
            f" device_type={self.device_type}, device_index={self.device_index})>"
        )


def _refuse_change(_: DeviceSpec, name: str, value: object) -> None:
    raise AttributeError(f"A DeviceSpec cannot be changed: {name} = {value!r}. Use replace().")


# TensorFlow's error is an AttributeError by name, not dataclasses' FrozenInstanceError.
type.__setattr__(DeviceSpec, "__setattr__", _refuse_change)


def _read_part(part: str, spec: str, fields: dict[str, str | int | None]) -> None:
    words = part.split(":")
    name, short = words[0], words[0].upper()
    if len(words) == 2 and name == "job":
        fields["job"] = words[1]
    elif len(words) == 2 and name in {"replica", "task"}:
        fields[name] = _number(words[1], part, spec)
    elif len(words) == 3 and name == "device":
        _read_device(words[1], words[2], part, spec, fields)
    elif len(words) <= 2 and short in SHORT_TYPES:
        _read_device(short, words[1] if len(words) == 2 else "*", part, spec, fields)
    else:
        raise ValueError(f"Unknown attribute {part!r} in device name {spec!r}. {_EXAMPLES}")


def _read_device(
    device_type: str, index: str, part: str, spec: str, fields: dict[str, str | int | None]
) -> None:
    if "device_type" in fields:
        raise ValueError(
            f"Device name {spec!r} names a second device type, {part!r}. Keep one of them."
        )
    fields["device_type"] = device_type
    fields["device_index"] = None if index == "*" else _number(index, part, spec)


def _number(text: str, part: str, spec: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"{text!r} in {part!r} of device name {spec!r} is not a whole number. {_EXAMPLES}"
        ) from None
