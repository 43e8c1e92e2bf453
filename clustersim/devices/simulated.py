"""The devices of this process: which exist, what they are called, and where an operation goes.

A physical device is what the machine has (or is told to simulate); it is split into logical ones,
which programs see. `device` is TensorFlow's scope; the spec it asks for is one of the ambient
values. Names start with this process's job and task: `localhost` until a multi-worker strategy says
otherwise with `set_local_task`.

Knows nothing of tensors or of other processes' devices.

Source: tensorflow/python/eager/context.py and distribute/device_util.py, 2.21; cases `device_*`.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple

from clustersim import config, errors
from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.devices.array import (
    NUMPY,
    ApartBackend,
    ArrayBackend,
    CuPyBackend,
    num_real_gpus,
)
from clustersim.devices.device import Device, DeviceCounters
from clustersim.devices.request import DeviceRequest, parse_devices
from clustersim.devices.spec import DeviceSpec

_log = logging.getLogger(__name__)

_DEFAULT_TPUS = DeviceRequest(device_type="TPU", count=16, mesh=(2, 2, 2, 2))
"""What there is when nobody asked: enough for every example of TensorFlow's page."""

_MEBIBYTE = 1 << 20

LOCALHOST = "localhost"
"""The job of a process that is no member of a cluster."""


class PhysicalDevice(NamedTuple):
    """A device that the machine has, before it is split."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that programs see."""

    name: str
    device_type: str


@dataclass(frozen=True, slots=True)
class LogicalDeviceConfiguration:
    """Asks for one logical device on a physical one."""

    memory_limit: float | None = None
    """In MiB. None: no limit."""
    experimental_priority: int | None = None
    """Accepted, and without effect here."""
    experimental_device_ordinal: int | None = None
    """Accepted, and without effect here."""


class Machine:
    """The devices of one process. There is one instance, `MACHINE`.

    Devices are split when the first of them is used; how they are split can be said until then.

    Args:
        devices: What to simulate, as CLUSTERSIM_DEVICES. None: that variable, when it is first needed.
        clock: On which slow devices are slow.
        backend_of: Makes the backend of a device that is no CPU, of its type and index. None: CuPy
            for real GPUs, NumPy for what is simulated.
    """

    def __init__(
        self,
        devices: str | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        backend_of: Callable[[str, int], ArrayBackend] | None = None,
    ) -> None:
        self._lock = threading.RLock()  # guards all fields below
        self._job, self._task = LOCALHOST, 0
        self._soft_placement = True
        self._text, self._clock, self._backend_of = devices, clock, backend_of
        self._requests: dict[PhysicalDevice, DeviceRequest] | None = None
        self._configurations: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
        self._hidden: set[PhysicalDevice] = set()
        self._devices: list[Device] = []
        self._default: Device | None = None
        self._placed: dict[DeviceSpec | None, Device] = {}
        self._missed: set[str] = set()

    def physical(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """Returns the physical devices, of one type or of all."""
        return [d for d in self._found() if device_type in {None, d.device_type}]

    def logical(self, device_type: str | None = None) -> list[LogicalDevice]:
        """Returns the logical devices; from then on they cannot be split differently."""
        is_local = self._job == LOCALHOST
        return [
            LogicalDevice(
                f"/device:{d.device_type}:{d.index}" if is_local else d.name, d.device_type
            )
            for d in self._started()
            if device_type in {None, d.device_type}
        ]

    def configure(
        self, device: PhysicalDevice, configurations: Sequence[LogicalDeviceConfiguration]
    ) -> None:
        """Says into how many logical devices a physical one is split.

        Raises:
            RuntimeError: A device was used already.
            ValueError: There is no such physical device.
        """
        with self._lock:
            if device not in self._found():
                raise ValueError(
                    f"No physical device {device!r}. This machine has {self.physical()}."
                )
            if device.device_type == "CPU" and any(
                each.memory_limit is not None for each in configurations
            ):
                raise ValueError(
                    "A CPU's memory cannot be limited: it is this process's own. Limit a GPU, or"
                    " leave memory_limit out."
                )
            if self._devices and self._configurations.get(device) != list(configurations):
                raise RuntimeError(
                    "Devices cannot be split after one of them was used. Call"
                    " set_logical_device_configuration before any tensor is made."
                )
            self._configurations[device] = list(configurations)

    def configuration(self, device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
        """Returns how a physical device is split, None if that was not said."""
        return self._configurations.get(device)

    def visible(self, device_type: str | None = None) -> list[PhysicalDevice]:
        """Returns the physical devices that become logical ones, of one type or of all."""
        return [device for device in self.physical(device_type) if device not in self._hidden]

    def show_only(self, devices: Sequence[PhysicalDevice], device_type: str | None = None) -> None:
        """Hides the devices that are not named: all others of one type, or of all types.

        Raises:
            ValueError: One does not exist or has another type, or the first CPU is not named.
            RuntimeError: A device was used already.
        """
        with self._lock:
            known = self.physical(device_type)
            for device in devices:
                if device not in known:
                    raise ValueError(f"No physical device {device!r}. This machine has {known}.")
            hidden = (self._hidden - set(known)) | (set(known) - set(devices))
            if self._devices and hidden != self._hidden:
                raise RuntimeError(
                    "Devices cannot be hidden after one of them was used. Call set_visible_devices"
                    " before any tensor is made."
                )
            if self.physical("CPU")[0] in hidden:
                raise ValueError(
                    "The first CPU cannot be hidden: it is this process itself. Name it, too."
                )
            self._hidden = hidden

    def set_task(self, job: str, task: int) -> None:
        """Makes this process a member of a cluster: all its devices are renamed."""
        with self._lock:
            self._job, self._task = job, task
            self._placed.clear()
            for device in self._devices:
                device.name = self._full_name(device.device_type, device.index)

    @property
    def soft_placement(self) -> bool:
        """Whether a device that is not there is replaced by the CPU, silently."""
        return self._soft_placement

    @soft_placement.setter
    def soft_placement(self, enabled: bool) -> None:
        with self._lock:
            self._soft_placement = bool(enabled)
            self._placed.clear()

    def place(self, spec: DeviceSpec | None) -> Device:
        """Returns the device for an operation that asks for `spec`; None asks for nothing.

        Raises:
            InvalidArgumentError: It is another process's device, or it is not there and soft
                placement is off.
        """
        found = self._placed.get(spec)
        if found is None:
            with self._lock:
                found = self._placed[spec] = self._find(spec)
        return found

    def host(self) -> Device:
        """Returns the first CPU, whose arrays are the host's."""
        return self._started()[0]

    def default(self) -> Device:
        """Returns where things go that ask for nothing: the first GPU, else the first CPU."""
        if self._default is None:
            gpus = (device for device in self._started() if device.device_type == "GPU")
            self._default = next(gpus, self._devices[0])
        return self._default

    def devices(self) -> list[Device]:
        """Returns the logical devices."""
        return list(self._started())

    def tpu_mesh(self) -> tuple[int, ...]:
        """Returns how the TPU cores lie (x, y, z, core); empty if there are none."""
        self._found()
        requests = (self._requests or {}).values()
        asked = [request.mesh for request in requests if request.mesh]
        is_asked = bool(asked) or bool(self._text)
        return asked[0] if asked else () if is_asked else _DEFAULT_TPUS.mesh

    def start_tpus(self) -> None:
        """Adds the default TPU cores to the devices, unless there are some."""
        with self._lock:
            if not any(device.device_type == "TPU" for device in self._started()):
                self._devices += [
                    self._device("TPU", index, _DEFAULT_TPUS, None)
                    for index in range(_DEFAULT_TPUS.count)
                ]
                self._placed.clear()

    def default_spec(self) -> DeviceSpec:
        """Returns the full name of this process's first CPU."""
        return DeviceSpec(self._job, 0, self._task, "CPU", 0)

    def _find(self, spec: DeviceSpec | None) -> Device:
        devices = self._started()
        if spec is None:
            return self.default()
        wanted = self.default_spec().make_merged_spec(spec)
        if (wanted.job, wanted.replica, wanted.task) != (self._job, 0, self._task):
            raise errors.InvalidArgumentError(
                f"{wanted.to_string()} is unknown: this process has the devices of"
                f" /job:{self._job}/replica:0/task:{self._task} only. Leave job and task out."
            )
        if wanted.device_index is not None and wanted.device_index < 0:
            raise errors.InvalidArgumentError(
                f"Malformed device specification {wanted.to_string()!r}: an index is 0 or more."
            )
        for device in devices:
            if (device.device_type, device.index) == (wanted.device_type, wanted.device_index):
                return device
        if self._soft_placement:
            self._say_missing(wanted.to_string())
            return devices[0]
        raise errors.InvalidArgumentError(
            f"{wanted.to_string()} does not exist and soft placement is off. This process has"
            f" {[device.name for device in devices]}."
        )

    def _started(self) -> list[Device]:
        if not self._devices:
            with self._lock:
                self._devices = self._devices or self._split()
        return self._devices

    def _found(self) -> dict[PhysicalDevice, DeviceRequest]:
        """Returns the physical devices: one CPU at least, and what was asked for or is really there."""
        if self._requests is None:
            with self._lock:
                if self._text is None:
                    self._text = config.simulated_devices()
                asked = parse_devices(self._text)
                if not self._text and (num_gpus := num_real_gpus()):
                    asked = [DeviceRequest(device_type="GPU", count=num_gpus)]
                if not any(request.device_type == "CPU" for request in asked):
                    asked.insert(0, DeviceRequest(device_type="CPU", count=1))
                asked.sort(key=lambda request: request.device_type)  # CPUs first: the host is one
                self._requests = {
                    PhysicalDevice(
                        f"/physical_device:{request.device_type}:{index}", request.device_type
                    ): request
                    for request in asked
                    for index in range(request.count)
                }
        return self._requests

    def _split(self) -> list[Device]:
        devices: list[Device] = []
        found = self._found()
        for physical in self.visible():
            request = found[physical]
            parts: Sequence[LogicalDeviceConfiguration | None]
            parts = self._configurations.get(physical) or (None,)
            for part in parts:
                kind = physical.device_type
                index = sum(device.device_type == kind for device in devices)
                devices.append(self._device(kind, index, request, part))
        return devices

    def _device(
        self,
        kind: str,
        index: int,
        request: DeviceRequest,
        part: LogicalDeviceConfiguration | None,
    ) -> Device:
        memory_bytes = request.memory_bytes
        if part is not None and part.memory_limit is not None:
            memory_bytes = int(part.memory_limit * _MEBIBYTE)
        return Device(
            kind,
            index,
            self._full_name(kind, index),
            self._backend(kind, index),
            memory_bytes=memory_bytes,
            speed=request.speed,
            clock=self._clock,
        )

    def _backend(self, kind: str, index: int) -> ArrayBackend:
        if kind == "CPU":
            return NUMPY
        if self._backend_of is not None:
            return self._backend_of(kind, index)
        return CuPyBackend(index) if kind == "GPU" and not self._text else ApartBackend()

    def _say_missing(self, name: str) -> None:
        if name not in self._missed:
            self._missed.add(name)
            _log.warning(
                "There is no %s: what is placed there goes to the CPU (soft placement). Simulate it"
                " with CLUSTERSIM_DEVICES, for example gpu:1.",
                name,
            )

    def _full_name(self, device_type: str, index: int) -> str:
        return DeviceSpec(self._job, 0, self._task, device_type, index).to_string()


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
