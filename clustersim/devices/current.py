"""This process's devices, and the current one: `tf.device`, and the words of `tf.config`.

The device that a scope asks for is one of the ambient values.

Source: tensorflow/python/eager/context.py and distribute/device_util.py, 2.21; cases `device_*`.
"""

from collections.abc import Sequence
from contextvars import ContextVar, Token
from types import TracebackType

from clustersim.devices.device import Device, DeviceCounters
from clustersim.devices.machine import (
    LogicalDevice,
    LogicalDeviceConfiguration,
    Machine,
    PhysicalDevice,
)
from clustersim.devices.spec import DeviceSpec

MACHINE = Machine()

_requested: ContextVar[DeviceSpec | None] = ContextVar("clustersim_device", default=None)


class DeviceScope:
    """`tf.device`: places what is made inside on the named device; scopes nest field by field.

    Args:
        device_name: A device name, a LogicalDevice or a DeviceSpec. None clears the outer scopes.

    Raises:
        RuntimeError: A function was given; eager code cannot place by function.
        ValueError: On entering: the name cannot be understood.
    """

    def __init__(self, device_name: str | LogicalDevice | DeviceSpec | None) -> None:
        if callable(device_name):
            raise RuntimeError(  # noqa: TRY004  # TensorFlow's error
                f"tf.device does not take a function ({device_name!r}). Give a device name."
            )
        self._device_name = device_name
        self._tokens: list[Token[DeviceSpec | None]] = []

    def __enter__(self) -> None:
        self._tokens.append(_requested.set(self._merged()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _requested.reset(self._tokens.pop())

    def _merged(self) -> DeviceSpec | None:
        if self._device_name is None:
            return None
        if not isinstance(self._device_name, str | LogicalDevice | DeviceSpec):
            raise ValueError(  # noqa: TRY004  # TensorFlow's error
                f"tf.device takes a device name, not {self._device_name!r}. Write '/cpu:0'."
            )
        outer = _requested.get() or MACHINE.default_spec()
        return outer.make_merged_spec(as_spec(self._device_name))


def current_spec() -> DeviceSpec | None:
    """Returns what the current scope asks for, None outside of any."""
    return _requested.get()


def enter_device(spec: DeviceSpec | None) -> Token[DeviceSpec | None]:
    """Makes a full device name current, at less cost than a `DeviceScope`; see `leave_device`."""
    return _requested.set(spec)


def leave_device(token: Token[DeviceSpec | None]) -> None:
    """Restores what was current before `enter_device` returned `token`."""
    _requested.reset(token)


def as_spec(name: str | LogicalDevice | DeviceSpec | None) -> DeviceSpec:
    """Returns the spec of a device name or device. Raises ValueError for a bad name."""
    if isinstance(name, DeviceSpec):
        return name
    return DeviceSpec.from_string(name.name if isinstance(name, LogicalDevice) else name)


def current_device() -> Device:
    """Returns the device on which the current scope places things. Raises as `Machine.place`."""
    return MACHINE.place(_requested.get())


def host_device() -> Device:
    """Returns the first CPU, whose arrays are the host's."""
    return MACHINE.host()


def requested_device() -> str:
    """Returns the full name that the current scope asks for, '' outside of any."""
    spec = _requested.get()
    return "" if spec is None else spec.to_string()


def canonicalize(name: str | LogicalDevice | None) -> str:
    """Returns the full name that a strategy gives to `name`, whether the device exists or not.

    What the name leaves open is taken from the current scope, then from this process's first CPU.
    """
    hash(name)  # TensorFlow keeps what it resolved by name: a list is a TypeError
    if isinstance(name, DeviceSpec):
        raise AttributeError(  # noqa: TRY004  # TensorFlow's error
            f"A strategy takes device names, not {name!r}. Use its to_string()."
        )
    outer = MACHINE.default_spec().make_merged_spec(_requested.get() or DeviceSpec())
    return outer.make_merged_spec(as_spec(name)).to_string()


def set_local_task(job: str, task: int) -> None:
    """Makes this process `job`, `task` in the names of its devices; a runtime calls it once."""
    MACHINE.set_task(job, task)


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns what the machine has, before it is split."""
    return MACHINE.physical(device_type)


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the devices that programs see."""
    return MACHINE.logical(device_type)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Splits a physical device; before any is used. Raises as `Machine.configure`."""
    MACHINE.configure(device, logical_devices)


def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """Returns how a physical device is split, None if that was not said."""
    return MACHINE.configuration(device)


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the physical devices that become logical ones."""
    return MACHINE.visible(device_type)


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Hides the devices that are not named; before any is used. Raises as `Machine.show_only`."""
    MACHINE.show_only([devices] if isinstance(devices, PhysicalDevice) else devices, device_type)


def get_soft_device_placement() -> bool:
    """Returns whether a missing device is replaced by the CPU."""
    return MACHINE.soft_placement


def set_soft_device_placement(enabled: bool) -> None:  # noqa: FBT001  # TensorFlow's signature
    """Says whether a missing device is replaced by the CPU, or is an error."""
    MACHINE.soft_placement = enabled


def device_counters() -> dict[str, DeviceCounters]:
    """Returns what each device of this process did so far, by its full name."""
    return {device.name: device.counters() for device in MACHINE.devices()}


def get_memory_info(device: str) -> dict[str, int]:
    """Returns the bytes that a device's tensors hold now, and at most so far: `current`, `peak`.

    Raises:
        ValueError: There is no such device, or its memory has no limit and is not counted.
    """
    found = MACHINE.place(as_spec(canonicalize(device)))
    if not found.is_limited:
        raise ValueError(
            f"{device!r} has no memory limit, so nothing is counted. Give it one, for example"
            " CLUSTERSIM_DEVICES=gpu:1,memory=2GiB."
        )
    counters = found.counters()
    return {"current": counters.used_bytes, "peak": counters.peak_bytes}
