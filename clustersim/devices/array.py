"""Where arrays live and which functions work on them: one small protocol over array libraries.

NumPy backs every CPU and every simulated device. CuPy is imported when a real GPU is first asked
for; this is the only file that names it. An operation takes its functions from `xp`, and uses only
those that NumPy and the array API standard share, so that nothing leans on NumPy by accident.
"""

import importlib
import importlib.util
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

HostArray: TypeAlias = npt.NDArray[Any]
"""An array in the memory of this process."""

NativeArray: TypeAlias = Any
"""An array of a backend's own type: `numpy.ndarray`, `cupy.ndarray`, ..."""


class ArrayBackend(Protocol):
    """One array library, on one device. Stateless and thread-safe."""

    @property
    def is_ambient(self) -> bool:
        """Whether its functions work without entering `active`."""
        ...

    @property
    def xp(self) -> ModuleType:
        """The namespace of its functions, with NumPy's names."""
        ...

    def from_host(self, array: HostArray) -> NativeArray:
        """Returns `array` in the backend's memory; may share memory with it."""
        ...

    def to_host(self, array: NativeArray) -> HostArray:
        """Returns `array` in the memory of this process; may share memory with it."""
        ...

    def concatenate(self, arrays: list[NativeArray], *, axis: int) -> NativeArray:
        """Joins arrays along an axis; the one function whose name the standard changed."""
        ...

    def active(self) -> AbstractContextManager[object]:
        """Returns a context in which the library's functions work on this device."""
        ...


class NumPyBackend:
    """Arrays of NumPy, in the memory of this process."""

    is_ambient = True
    xp = np

    def from_host(self, array: HostArray) -> NativeArray:
        """Returns the same array."""
        return array

    def to_host(self, array: NativeArray) -> HostArray:
        """Returns the same array."""
        return np.asarray(array)

    def concatenate(self, arrays: list[NativeArray], *, axis: int) -> NativeArray:
        """Joins arrays along an axis."""
        return np.concatenate(arrays, axis=axis)

    def active(self) -> AbstractContextManager[object]:
        """Returns a context that does nothing."""
        return nullcontext()


class CuPyBackend:
    """Arrays of CuPy, on a real GPU.

    Args:
        index: Which of the machine's GPUs.

    Raises:
        ModuleNotFoundError: CuPy is not installed.
    """

    is_ambient = False

    def __init__(self, index: int = 0) -> None:
        self._index = index
        try:
            self.xp = importlib.import_module("cupy")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "A real GPU needs CuPy, which is not installed. Run `pip install"
                " clustersim[cuda12]`, or simulate one with CLUSTERSIM_DEVICES=gpu:1."
            ) from error

    def from_host(self, array: HostArray) -> NativeArray:
        """Copies to the GPU; text stays on the host, as in TensorFlow."""
        if array.dtype == object:
            return array
        with self.active():
            return self.xp.asarray(array)

    def to_host(self, array: NativeArray) -> HostArray:
        """Copies from the GPU."""
        return np.asarray(self.xp.asnumpy(array))

    def concatenate(self, arrays: list[NativeArray], *, axis: int) -> NativeArray:
        """Joins arrays along an axis."""
        return self.xp.concatenate(arrays, axis=axis)

    def active(self) -> AbstractContextManager[object]:
        """Returns a context in which this GPU is CuPy's current one."""
        device: AbstractContextManager[object] = self.xp.cuda.Device(self._index)
        return device


def num_real_gpus() -> int:
    """Returns how many GPUs CuPy finds; 0 without CuPy or a driver."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    runtime = CuPyBackend().xp.cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError:
        return 0


NUMPY: ArrayBackend = NumPyBackend()
