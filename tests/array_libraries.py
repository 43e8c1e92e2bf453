"""Array libraries to run tests on: NumPy, CuPy where there is a GPU, and array_api_strict.

array_api_strict knows the array API standard and no word more. Its devices do not share arrays, and it
refuses to become an array of NumPy in silence, as CuPy does: what works on it leans on NumPy nowhere by
accident.
"""

from contextlib import contextmanager, nullcontext

import array_api_strict
import numpy as np
import pytest

from clustersim.devices.array import CuPyBackend, num_real_gpus
from clustersim.devices.current import MACHINE
from clustersim.devices.machine import Machine

NUM_DEVICES = 2


class StrictBackend:
    """Arrays of array_api_strict, on one of its devices; the index picks which.

    It is ambient though a function that makes an array would make it on another device: operations
    take their arrays from the boundary of the device, and do not make any.
    """

    is_ambient = True
    xp = array_api_strict

    def __init__(self, device_type, index):
        del device_type
        self.device = array_api_strict.Device(f"device{index % NUM_DEVICES + 1}")

    def from_host(self, array):
        dtype = self.native_dtype(array.dtype)
        return array_api_strict.asarray(array, dtype=dtype, device=self.device, copy=True)

    def to_host(self, array):
        assert array.device == self.device, "an array is read through another device's boundary"
        cpu = array_api_strict.Device("CPU_DEVICE")
        return np.array(array_api_strict.asarray(array, device=cpu))

    def dtype_of(self, array):
        return np.dtype(str(array.dtype).rpartition(".")[2])

    def native_dtype(self, dtype):
        return getattr(array_api_strict, dtype.name)

    def active(self):
        return nullcontext()


def cupy_backend(device_type, index):
    """Spreads any number of devices over the GPUs that are really there."""
    del device_type
    return CuPyBackend(index % num_real_gpus())


BACKENDS = {"numpy": None, "strict": StrictBackend}
if num_real_gpus():
    BACKENDS["cupy"] = cupy_backend


@pytest.fixture(autouse=True, params=list(BACKENDS))
def array_library(request):
    """Runs each test on NumPy, and on GPUs of every other library here, the first the default device."""
    name = request.param
    if name == "numpy":
        yield name
    else:
        with becoming(Machine(f"gpu:{NUM_DEVICES};tpu:16", backend_of=BACKENDS[name])):
            yield name


@contextmanager
def becoming(machine):
    """Makes `MACHINE`, which many modules hold, like another machine for a while; returns it."""
    before = vars(MACHINE).copy()
    vars(MACHINE).update(vars(machine))
    try:
        yield MACHINE
    finally:
        vars(MACHINE).update(before)


@pytest.fixture
def two_devices(array_library):
    """The names of two devices of the library."""
    kind = "cpu" if array_library == "numpy" else "gpu"
    return [f"/{kind}:0", f"/{kind}:1"]
