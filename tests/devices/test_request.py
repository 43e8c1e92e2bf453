"""CLUSTERSIM_DEVICES: what can be asked for, and what is said about what cannot."""

import pytest

from clustersim import errors
from clustersim.devices.request import DeviceRequest, parse_devices


def test_the_grammar_gives_kind_count_memory_and_speed():
    assert parse_devices("gpu:2,memory=2GiB,speed=0.5") == [
        DeviceRequest(device_type="GPU", count=2, memory_bytes=2 * 2**30, speed=0.5)
    ]


def test_several_kinds_are_joined_by_semicolons():
    kinds = [(each.device_type, each.count) for each in parse_devices(" cpu:2 ; gpu ;tpu:8 ")]
    assert kinds == [("CPU", 2), ("GPU", 1), ("TPU", 8)]


def test_nothing_asks_for_nothing():
    assert parse_devices("") == []


@pytest.mark.parametrize(
    ("text", "mesh"),
    [("tpu:8", (2, 2, 1, 2)), ("tpu:16,mesh=4x2x1x2", (4, 2, 1, 2)), ("tpu:6", (6, 1, 1, 1))],
)
def test_tpu_cores_lie_in_a_mesh(text, mesh):
    assert parse_devices(text)[0].mesh == mesh


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("xpu:1", "no kind of device"),
        ("gpu:none", "no number of devices"),
        ("gpu:0", "no number of devices"),
        ("gpu:1,color=red", "no setting"),
        ("gpu:1,memory=big", "no size"),
        ("gpu:1,speed=2", "not in"),
        ("gpu:1,speed=fast", "not in"),
        ("gpu:1,mesh=1x1x1x1", "for tpu only"),
        ("tpu:8,mesh=2x2", "not four sizes"),
        ("tpu:8,mesh=2x2x2x2", "16 cores, but 8"),
        ("gpu:1;gpu:2", "more than once"),
    ],
)
def test_what_cannot_be_understood_is_named_with_an_example(text, said):
    with pytest.raises(errors.UsageError, match=said) as raised:
        parse_devices(text)
    assert "gpu:2,memory=2GiB" in str(raised.value)


def test_all_findings_are_said_at_once():
    with pytest.raises(errors.UsageError, match=r"'xpu'.*'nan'"):
        parse_devices("xpu:1;gpu:1,speed=nan")
