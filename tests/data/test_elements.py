"""Elements stay in host memory, whatever device tensors go to."""

import numpy as np
import pytest

from clustersim.data.dataset import Dataset
from clustersim.devices.current import MACHINE
from clustersim.devices.machine import Machine
from clustersim.values.array_ops import constant
from clustersim.values.shapes import TensorSpec
from tests.array_libraries import becoming

ROWS = np.ones([64, 1024], np.float32)  # 256 KiB
SPEC = TensorSpec([64, 1024], np.float32)


@pytest.fixture
def small_gpu():
    """A GPU of 64 KiB, on which tensors are made that ask for nothing."""
    with becoming(Machine("gpu:1,memory=64KiB")) as machine:
        assert constant(1.0).device.endswith("GPU:0")
        yield machine.default()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.from_tensors(ROWS),
        lambda: Dataset.from_tensor_slices(ROWS).batch(64),
        lambda: Dataset.from_tensor_slices({"a": ROWS.tolist()}).batch(64),
        lambda: Dataset.from_generator(lambda: iter([ROWS]), output_signature=SPEC),
        lambda: Dataset.from_generator(lambda: iter([ROWS]), output_types=np.float32),
        lambda: Dataset.range(1).map(lambda _: ROWS),
        lambda: Dataset.range(1).map(lambda _: constant(ROWS) + 1),
    ],
)
def test_data_larger_than_the_gpu_never_go_there(small_gpu, make):
    copies = small_gpu.counters().num_copies
    (element,) = make()
    value = element["a"] if isinstance(element, dict) else element
    assert value.device == MACHINE.host().name
    assert value.shape[0] == 64
    assert small_gpu.counters().num_copies == copies


def test_what_a_generator_yields_is_copied():
    def reusing():
        buffer = np.zeros(2, np.int64)
        for number in range(3):
            buffer[:] = number
            yield buffer

    dataset = Dataset.from_generator(reusing, output_signature=TensorSpec([2], np.int64))
    assert [row.tolist() for row in dataset.batch(3).as_numpy_iterator()] == [
        [[0, 0], [1, 1], [2, 2]]
    ]


def test_an_array_of_a_generator_is_taken_as_another_dtype_too():
    def source():
        yield np.arange(2, dtype=np.float32)
        yield np.arange(2, dtype=np.float64)
        yield [0, 1]

    dataset = Dataset.from_generator(source, output_signature=TensorSpec([2], np.float32))
    assert [row.tolist() for row in dataset.as_numpy_iterator()] == [[0.0, 1.0]] * 3
    assert {row.dtype for row in dataset} == {SPEC.dtype}
