"""Device names: TensorFlow's grammar, recorded on 2.21."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.devices.spec import DeviceSpec

GOOD = {
    "/gpu:0": "/device:GPU:0",
    "gpu:0": "/device:GPU:0",
    "cpu": "/device:CPU:*",
    "/GPU:*": "/device:GPU:*",
    "/device:gpu:0": "/device:GPU:0",
    "/device:XYZ:3": "/device:XYZ:3",
    "/device:Gpu:3": "/device:Gpu:3",
    "CpU:1": "/device:CPU:1",
    "cpu:-1": "/device:CPU:-1",
    "/cpu:00": "/device:CPU:0",
    "/job:w/job:x": "/job:x",
    "/job:": "/job:",
    "/job:a/gpu:0/task:3": "/job:a/task:3/device:GPU:0",
    "/job:worker/replica:0/task:1/device:CPU:0": "/job:worker/replica:0/task:1/device:CPU:0",
    "": "",
    "/": "",
    None: "",
}
BAD = ["foo", "/job", "/task:a", "/task:*/cpu:*", "/device:CPU", "/cpu:0/gpu:1", " /cpu:0"]


@pytest.mark.parametrize(("text", "printed"), GOOD.items())
def test_a_name_is_read_and_printed_in_the_full_form(text, printed):
    assert DeviceSpec.from_string(text).to_string() == printed


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_device_name_is_refused_with_the_name(text):
    with pytest.raises(ValueError, match=r"(?i)device name"):
        DeviceSpec.from_string(text)


@given(
    st.builds(
        DeviceSpec,
        job=st.none() | st.sampled_from(["worker", "ps"]),
        replica=st.none() | st.integers(0, 9),
        task=st.none() | st.integers(0, 99),
        device_type=st.sampled_from(["CPU", "GPU", "TPU"]),
        device_index=st.none() | st.integers(0, 9),
    )
)
def test_what_is_printed_is_read_back(spec):
    assert DeviceSpec.from_string(spec.to_string()) == spec


def test_an_overlay_wins_field_by_field():
    below, above = DeviceSpec.from_string("/job:w/gpu:1"), DeviceSpec.from_string("/task:2/cpu:0")
    assert below.make_merged_spec(above).to_string() == "/job:w/task:2/device:CPU:0"
    assert below.replace(job="ps").to_string() == "/job:ps/device:GPU:1"
    assert repr(below) == (
        "<DeviceSpec(job=w, replica=None, task=None, device_type=GPU, device_index=1)>"
    )
