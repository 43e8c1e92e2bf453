"""Our own answers where they differ from TensorFlow's on purpose; docs/deviations.md says why."""

import numpy as np
import pytest

from clustersim import tf
from tests.conformance.test_programs import run_all

LOGICAL_DEVICE_CALLS = (
    "experimental_assign_to_logical_device",
    "experimental_split_to_logical_devices",
    "experimental_replicate_to_logical_devices",
)

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def answer(name):
    return run_all([name])[0][name]


@pytest.mark.process
def test_a_failed_collective_does_not_poison_the_process():
    got = answer("mirrored_21_shape_mismatch_poisons")
    assert got["bad"] == {"error": "InvalidArgumentError"}
    assert got["after"] == got["new"] == {"replicas": [2.0, 2.0]}


@pytest.mark.process
def test_a_ps_in_the_cluster_is_not_waited_for():
    assert answer("mw_20_ps_in_cluster_blocks") == {"worker0": {"n": 2}, "worker1": {"n": 2}}


@pytest.mark.process
def test_a_ps_task_gets_a_strategy_whose_resolver_says_ps():
    assert answer("mw_21_ps_task_gets_error") == {"ps0": {"branch": "ps", "e": None, "id": 0}}


def test_a_one_device_strategy_without_a_device_takes_the_first():
    strategy = tf.distribute.OneDeviceStrategy()
    assert strategy.extended.worker_devices == (tf.constant(1.0).device,)


def test_every_strategy_makes_datasets_of_numpy_arrays():
    numpy_input = np.ones([10], dtype=np.float32)
    for strategy in (tf.distribute.MirroredStrategy(), tf.distribute.OneDeviceStrategy("/cpu:0")):
        dataset = strategy.experimental_make_numpy_dataset(numpy_input)
        assert dataset.element_spec == tf.TensorSpec((), tf.float32)
        assert len(list(dataset.batch(2))) == 5


def test_every_strategy_has_the_logical_device_calls():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert all(hasattr(strategy, name) for name in LOGICAL_DEVICE_CALLS)
    assert float(strategy.experimental_assign_to_logical_device(tf.constant(1.0), 0)) == 1.0
    with pytest.raises(ValueError, match="logical"):
        strategy.experimental_assign_to_logical_device(tf.constant(1.0), 1)
