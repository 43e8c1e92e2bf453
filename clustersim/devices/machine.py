"""What devices a process has: physical ones, the logical ones they are split into, and their names.

A physical device is what the machine has, or is told to simulate; it is split into logical ones, which
programs see. Names start with the process's job and task: `localhost` until a multi-worker strategy
says otherwise.

Knows nothing of tensors, of other processes' devices, or of which device is current (see `current`).

Source: tensorflow/python/eager/context.py and distribute/device_util.py, 2.21; cases `device_*`.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from clustersim.devices.device import Device
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
