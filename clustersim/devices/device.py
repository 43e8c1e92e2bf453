"""A device while it lives: where its arrays are, how much it holds, how fast it is, what it did.

The boundary of a device is `receive` and `give`: an array crosses it only there, as a copy that is
counted (CPUs of one process share their memory, so that theirs is counted and not made). What is on
the device stays on it.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clustersim import errors, units
from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.devices.array import NUMPY, ArrayBackend, HostArray, NativeArray


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCounters:
    """What a device did since the process began."""

    num_copies: int
    """How many arrays came from another device, the host included."""
    copied_bytes: int
    num_operations: int
    """Counted only on a device with a limit or a speed; so are the times."""
    busy_s: float
    """How long its operations took, as slow as the device is."""
    stretched_s: float
    """How much of that is there because the device is slower than this machine."""
    used_bytes: int
    """What its tensors hold now; counted only on a device with a limit."""
    peak_bytes: int


class Device:
    """A logical device.

    Args:
        device_type: CPU, GPU, ...
        index: Which of its type.
        name: Its full name; changes with this process's task.
        backend: Where its arrays live.
        memory_bytes: How many bytes its tensors may hold. None: no limit, and nothing is counted.
        speed: Relative to this machine, at most 1.
        clock: On which slower operations are stretched.
    """

    def __init__(
        self,
        device_type: str,
        index: int,
        name: str,
        backend: ArrayBackend = NUMPY,
        *,
        memory_bytes: int | None = None,
        speed: float = 1.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.device_type, self.index, self.name, self.backend = device_type, index, name, backend
        self.memory_bytes, self.speed, self._clock = memory_bytes, speed, clock
        self.is_limited = memory_bytes is not None
        self.is_plain = speed == 1.0 and not self.is_limited and backend.is_ambient
        self._lock = threading.RLock()  # guards all fields below; re-entered by a finalizer
        self._num_copies = self._copied_bytes = self._num_operations = 0
        self._busy_s = self._stretched_s = 0.0
        self._used_bytes = self._peak_bytes = 0

    def receive(self, host: HostArray) -> NativeArray:
        """Returns an array of the host's on this device: a counted copy unless it is the host.

        Text is returned as it is: no accelerator holds any, and a `Tensor` of it is the host's.
        """
        if host.dtype.kind == "O":
            return host
        if self.backend is not NUMPY:
            self._count_copy(host.nbytes)
        return self.backend.from_host(host)

    def fetch(self, array: NativeArray, source: "Device") -> NativeArray:
        """Returns an array of another device on this one: a counted copy."""
        self._count_copy(source.size_bytes(array))
        if source.backend is self.backend:
            return array
        return self.backend.from_host(source.backend.to_host(array))

    def give(self, array: NativeArray) -> HostArray:
        """Returns an array of this device on the host, which the caller must not change."""
        return self.backend.to_host(array)

    def size_bytes(self, array: NativeArray) -> int:
        """Returns how much memory an array of this device takes."""
        return int(array.size) * self.backend.dtype_of(array).itemsize

    def compute(
        self, function: Callable[..., NativeArray], arrays: Sequence[NativeArray]
    ) -> NativeArray:
        """Calls `function` on arrays of this device, as slowly as the device is."""
        started = self._clock.now()
        with self.backend.active():
            result = self.backend.xp.asarray(function(*arrays))
        taken_s = self._clock.now() - started
        stretch_s = taken_s / self.speed - taken_s
        self._clock.sleep(stretch_s)
        with self._lock:
            self._num_operations += 1
            self._busy_s += taken_s + stretch_s
            self._stretched_s += stretch_s
        return result

    def hold(self, owner: object, array: NativeArray) -> None:
        """Counts an array that belongs to this device until its owner is gone.

        Raises:
            ResourceExhaustedError: The device has not so much memory left.
        """
        size_bytes = self.size_bytes(array)
        with self._lock:
            if self.memory_bytes is not None and self._used_bytes + size_bytes > self.memory_bytes:
                raise errors.ResourceExhaustedError(
                    f"Out of memory on {self.name}: a tensor of shape {tuple(array.shape)} and type"
                    f" {self.backend.dtype_of(array)} needs {units.format_size(size_bytes)}, but of"
                    f" {units.format_size(self.memory_bytes)} there are"
                    f" {units.format_size(self._used_bytes)} in use. Use smaller batches, let go of"
                    " tensors, or give the device more memory in CLUSTERSIM_DEVICES."
                )
            self._used_bytes += size_bytes
            self._peak_bytes = max(self._peak_bytes, self._used_bytes)
        weakref.finalize(owner, self._release, size_bytes).atexit = False

    def counters(self) -> DeviceCounters:
        """Returns what the device did so far."""
        with self._lock:
            return DeviceCounters(
                num_copies=self._num_copies,
                copied_bytes=self._copied_bytes,
                num_operations=self._num_operations,
                busy_s=self._busy_s,
                stretched_s=self._stretched_s,
                used_bytes=self._used_bytes,
                peak_bytes=self._peak_bytes,
            )

    def _release(self, size_bytes: int) -> None:
        with self._lock:
            self._used_bytes -= size_bytes

    def _count_copy(self, size_bytes: int) -> None:
        with self._lock:
            self._num_copies += 1
            self._copied_bytes += int(size_bytes)

    def __repr__(self) -> str:
        return f"<Device {self.name}>"
