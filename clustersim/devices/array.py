"""Where arrays live and which functions work on them: one small protocol over array libraries.

NumPy backs every CPU and every simulated device. CuPy is imported when a real GPU is first asked
for; this is the only file that names it. An operation takes its functions from `xp`, and uses only
those of the array API standard, in its spelling: `concat`, `astype`, `permute_dims`. Nothing becomes
an array of NumPy but through `to_host`, and no dtype is NumPy's but through `dtype_of`.

Source: array API standard 2023.12, data-apis.org/array-api.
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
    """One array library, on one device. Stateless and thread-safe.

    It need not hold text: arrays of objects stay on the host.
    """

    @property
    def is_ambient(self) -> bool:
        """Whether its functions work without entering `active`."""
        ...

    @property
    def xp(self) -> Any:
        """The namespace of its functions, by the array API standard's names."""
        ...

    def from_host(self, array: HostArray) -> NativeArray:
        """Returns `array` in the backend's memory; may share memory with it."""
        ...

    def to_host(self, array: NativeArray) -> HostArray:
        """Returns `array` in the memory of this process; may share memory with it."""
        ...

    def dtype_of(self, array: NativeArray) -> np.dtype[Any]:
        """Returns NumPy's dtype of a native array's elements."""
        ...

    def native_dtype(self, dtype: np.dtype[Any]) -> Any:
        """Returns what the functions of `xp` take for one of NumPy's dtypes."""
        ...

    def active(self) -> AbstractContextManager[object]:
        """Returns a context in which the library's functions work on this device."""
        ...


def _standard_numpy() -> ModuleType:
    """Returns NumPy under the standard's names, all of which it has since 2.1."""
    if hasattr(np, "astype"):
        return np
    names = ModuleType("numpy_by_the_standards_names")
    vars(names).update(vars(np))
    vars(names).update(
        concat=np.concatenate,
        permute_dims=np.transpose,
        matrix_transpose=lambda array: np.swapaxes(array, -1, -2),
        astype=lambda array, dtype: array.astype(dtype),
    )
    return names


class NumPyBackend:
    """Arrays of NumPy, in the memory of this process."""

    is_ambient = True
    xp = _standard_numpy()

    def from_host(self, array: HostArray) -> NativeArray:
        """Returns the same array."""
        return array

    def to_host(self, array: NativeArray) -> HostArray:
        """Returns the same array."""
        return np.asarray(array)

    def dtype_of(self, array: NativeArray) -> np.dtype[Any]:
        """Returns the array's dtype."""
        dtype: np.dtype[Any] = array.dtype
        return dtype

    def native_dtype(self, dtype: np.dtype[Any]) -> Any:
        """Returns the same dtype."""
        return dtype

    def active(self) -> AbstractContextManager[object]:
        """Returns a context that does nothing."""
        return nullcontext()


class ApartBackend(NumPyBackend):
    """NumPy as the memory of a simulated device: what crosses its border is copied."""

    def from_host(self, array: HostArray) -> NativeArray:
        """Copies to the device."""
        return np.array(array)

    def to_host(self, array: NativeArray) -> HostArray:
        """Copies from the device."""
        return np.array(array)


class CuPyBackend:
    """Arrays of CuPy, on a real GPU, under the standard's names, which array_api_compat gives them.

    Args:
        index: Which of the machine's GPUs.

    Raises:
        ModuleNotFoundError: CuPy or array_api_compat is not installed.
    """

    is_ambient = False

    def __init__(self, index: int = 0) -> None:
        self._index = index
        try:
            self._cupy = importlib.import_module("cupy")
            self.xp = importlib.import_module("array_api_compat.cupy")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"A real GPU needs CuPy and array_api_compat, and {error.name} is not installed. Run"
                " `pip install clustersim[cuda12]`, or simulate one with CLUSTERSIM_DEVICES=gpu:1."
            ) from error

    def from_host(self, array: HostArray) -> NativeArray:
        """Copies to the GPU."""
        with self.active():
            return self._cupy.asarray(array)

    def to_host(self, array: NativeArray) -> HostArray:
        """Copies from the GPU."""
        with self.active():
            return np.asarray(self._cupy.asnumpy(array))

    def dtype_of(self, array: NativeArray) -> np.dtype[Any]:
        """Returns the array's dtype: CuPy's are NumPy's."""
        dtype: np.dtype[Any] = array.dtype
        return dtype

    def native_dtype(self, dtype: np.dtype[Any]) -> Any:
        """Returns the same dtype: CuPy's are NumPy's."""
        return dtype

    def active(self) -> AbstractContextManager[object]:
        """Returns a context in which this GPU is CuPy's current one."""
        device: AbstractContextManager[object] = self._cupy.cuda.Device(self._index)
        return device


def num_real_gpus() -> int:
    """Returns how many GPUs CuPy finds; 0 without CuPy or a driver."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    runtime = importlib.import_module("cupy").cuda.runtime
    try:
        return int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError:
        return 0


NUMPY: ArrayBackend = NumPyBackend()
