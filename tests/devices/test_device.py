"""Simulated devices: their border is copied over and counted, their memory ends, they are slow."""

import numpy as np
import pytest

from clustersim import errors
from clustersim.clock import ManualClock
from clustersim.devices.array import ApartBackend
from clustersim.devices.device import Device
from clustersim.devices.machine import LogicalDeviceConfiguration, Machine
from clustersim.devices.spec import DeviceSpec
from clustersim.values.tensor import Tensor, apply

GPU = DeviceSpec.from_string("/gpu:0")


@pytest.fixture
def machine():
    return Machine("gpu:2,memory=1KiB")


def tensor(device, size):
    return Tensor(device.receive(np.zeros(size, np.float32)), device)


def test_a_simulated_gpu_has_tensorflows_names(machine):
    assert [d.name for d in machine.physical("GPU")] == [
        "/physical_device:GPU:0",
        "/physical_device:GPU:1",
    ]
    assert [d.name for d in machine.logical()] == [
        "/device:CPU:0",
        "/device:GPU:0",
        "/device:GPU:1",
    ]
    assert machine.place(GPU).name == "/job:localhost/replica:0/task:0/device:GPU:0"


def test_what_asks_for_nothing_goes_to_the_first_gpu(machine):
    assert machine.place(None) is machine.place(GPU)
    assert Machine("").place(None).device_type == "CPU"


def test_crossing_a_border_is_a_counted_copy(machine):
    first, second = machine.devices()[1:]
    array = first.receive(np.zeros(8, np.float32))
    there = second.fetch(array, first)
    there[0] = 1.0
    assert array[0] == 0.0
    assert (second.counters().num_copies, second.counters().copied_bytes) == (1, 32)


def test_cpus_share_their_memory_and_count_all_the_same():
    first, second = Machine("cpu:2").devices()
    array = first.receive(np.zeros(8, np.float32))
    assert second.fetch(array, first) is array
    assert (first.counters().num_copies, second.counters().num_copies) == (0, 1)


def test_a_device_holds_no_more_than_its_memory(machine):
    device = machine.place(GPU)
    kept = tensor(device, 200)
    with pytest.raises(errors.ResourceExhaustedError, match=r"GPU:0.*\(100,\).*in use.*memory"):
        tensor(device, 100)
    del kept
    assert tensor(device, 100).shape == (100,)


def test_memory_comes_back_when_tensors_go(machine):
    device = machine.place(GPU)
    for _ in range(10):
        tensor(device, 200)
    assert (device.counters().used_bytes, device.counters().peak_bytes) == (0, 800)


def test_logical_devices_can_have_a_limit_of_their_own():
    machine = Machine("gpu:1")
    gpu = machine.physical("GPU")[0]
    machine.configure(
        gpu, [LogicalDeviceConfiguration(memory_limit=1), LogicalDeviceConfiguration()]
    )
    assert [d.memory_bytes for d in machine.devices()] == [None, 2**20, None]
    with pytest.raises(ValueError, match="CPU"):
        Machine("").configure(
            Machine("").physical("CPU")[0], [LogicalDeviceConfiguration(memory_limit=1)]
        )


def test_a_slow_device_stretches_its_operations_on_the_clock_it_was_given():
    clock = ManualClock()
    device = Device("GPU", 0, "/device:GPU:0", ApartBackend(), speed=0.25, clock=clock)

    def takes_one_second(array):
        clock.advance(1.0)
        return array

    apply(takes_one_second, tensor(device, 1), device=device)
    counters = device.counters()
    assert clock.now() == 4.0
    assert (counters.num_operations, counters.busy_s, counters.stretched_s) == (1, 4.0, 3.0)


def test_tpus_are_there_when_the_system_is_initialized():
    machine = Machine("")
    assert (machine.tpu_mesh(), machine.logical("TPU")) == ((2, 2, 2, 2), [])
    machine.start_tpus()
    machine.start_tpus()
    assert len(machine.logical("TPU")) == 16
    assert Machine("gpu:1").tpu_mesh() == ()


def test_a_missing_device_is_said_once(caplog):
    machine = Machine("")
    for _ in range(3):
        assert machine.place(DeviceSpec.from_string("/gpu:3")).device_type == "CPU"
        machine.soft_placement = True
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "gpu:1" in caplog.text
