"""Which devices there are, what they are called, and where an operation is placed."""

import pytest

from clustersim import errors
from clustersim.devices.current import DeviceScope, canonicalize, current_device, requested_device
from clustersim.devices.machine import LogicalDevice, LogicalDeviceConfiguration, Machine
from clustersim.devices.spec import DeviceSpec

LOCAL = "/job:localhost/replica:0/task:0/device:CPU:0"


def spec(text):
    return DeviceSpec.from_string(text)


def test_a_machine_has_one_cpu_until_it_is_split():
    machine = Machine()
    machine.configure(machine.physical("CPU")[0], [LogicalDeviceConfiguration()] * 3)
    assert [d.name for d in machine.logical()] == [f"/device:CPU:{i}" for i in range(3)]
    assert machine.place(spec("/cpu:2")).name.endswith("CPU:2")


def test_devices_cannot_be_split_after_use():
    machine = Machine()
    machine.place(None)
    with pytest.raises(RuntimeError, match="before any tensor"):
        machine.configure(machine.physical()[0], [LogicalDeviceConfiguration()] * 2)


def test_a_missing_device_falls_back_silently_only_while_placement_is_soft():
    machine = Machine()
    assert machine.place(spec("/gpu:0")).name == LOCAL
    machine.soft_placement = False
    with pytest.raises(errors.InvalidArgumentError, match="GPU:0 does not exist"):
        machine.place(spec("/gpu:0"))


@pytest.mark.parametrize("name", ["/job:worker/task:0/cpu:0", "/task:1/cpu:0"])
def test_another_processes_device_is_refused_whatever_placement_is(name):
    with pytest.raises(errors.InvalidArgumentError, match="is unknown"):
        Machine().place(spec(name))


def test_joining_a_cluster_renames_the_devices_that_are_there():
    machine = Machine()
    device = machine.place(None)
    machine.set_task("worker", 1)
    assert device.name == "/job:worker/replica:0/task:1/device:CPU:0"
    assert machine.place(spec("/job:worker/task:1/cpu:0")) is device
    assert machine.logical()[0].name == device.name


def test_scopes_nest_field_by_field_and_none_clears_them():
    with DeviceScope("/gpu:1"):
        with DeviceScope("/task:0"):
            assert requested_device().endswith("GPU:1")
        with DeviceScope(None):
            assert requested_device() == ""
            assert current_device().name == LOCAL
    assert requested_device() == ""


def test_a_bad_scope_is_refused_when_entered_a_function_at_once():
    scope = DeviceScope("xyz")
    with pytest.raises(ValueError, match="Unknown attribute"):
        scope.__enter__()
    with pytest.raises(RuntimeError, match="function"):
        DeviceScope(lambda _op: "/cpu:0")


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("", LOCAL),
        (None, LOCAL),
        ("/cpu:*", LOCAL),
        ("GPU", LOCAL.replace("CPU", "GPU")),
        ("/job:worker/task:1/cpu:0", "/job:worker/replica:0/task:1/device:CPU:0"),
        (LogicalDevice("/device:CPU:1", "CPU"), LOCAL.replace("CPU:0", "CPU:1")),
    ],
)
def test_strategies_complete_names_whether_the_device_exists_or_not(name, full):
    assert canonicalize(name) == full


def test_hidden_devices_are_not_there_for_programs():
    machine = Machine("gpu:2;tpu:8")
    first, second = machine.physical("GPU")
    machine.show_only([second], "GPU")
    assert machine.visible("GPU") == [second]
    assert [d.name for d in machine.logical("GPU")] == ["/device:GPU:0"]
    assert len(machine.logical("TPU")) == 8
    assert machine.physical("GPU") == [first, second]
    machine.show_only([second], "GPU")
    with pytest.raises(RuntimeError, match="before any tensor"):
        machine.show_only([first], "GPU")


def test_only_devices_that_exist_can_be_shown_and_the_host_stays():
    machine = Machine("gpu:1")
    for devices, kind in (("x", None), (machine.physical("CPU"), "GPU"), ([], "CPU")):
        with pytest.raises(ValueError, match="CPU"):
            machine.show_only(devices, kind)
    machine.show_only(machine.physical("CPU"))
    assert machine.logical("GPU") == []
    assert machine.default() is machine.host()
