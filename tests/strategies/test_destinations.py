"""`reduce_to`, `batch_reduce_to` and `broadcast_to` answer where they were told to, as TensorFlow's."""

import pytest

from clustersim import tf
from clustersim.devices.machine import Machine
from tests.array_libraries import becoming

CPUS = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(4)]


@pytest.fixture(autouse=True)
def machine():
    with becoming(Machine("cpu:4")) as machine:
        yield machine


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def on(device, value=0.0):
    with tf.device(device):
        return tf.constant(value)


def variable_on(device):
    with tf.device(device):
        return tf.Variable(0.0)


def each(strategy):
    def step():
        context = tf.distribute.get_replica_context()
        return tf.constant(1.0) + tf.cast(context.replica_id_in_sync_group, tf.float32)

    return strategy.run(step)


def shown(value):
    if isinstance(value, tf.distribute.DistributedValues):
        return type(value).__name__, [shown(part) for part in value.values]
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    return float(value), CPUS.index(value.device)


@pytest.mark.parametrize("name", ["/cpu:2", "CPU:2", "/device:CPU:2", CPUS[2]])
def test_a_value_is_reduced_to_a_named_device(strategy, name):
    extended, value = strategy.extended, each(strategy)
    assert shown(extended.reduce_to("SUM", value, name)) == (3.0, 2)
    assert shown(extended.reduce_to("MEAN", value, name)) == (1.5, 2)
    assert shown(extended.reduce_to("SUM", {"a": value}, name)) == {"a": (3.0, 2)}
    pairs = [(value, name), (value, "/cpu:3")]
    assert list(map(shown, extended.batch_reduce_to("SUM", pairs))) == [(3.0, 2), (3.0, 3)]


@pytest.mark.parametrize("make", [on, variable_on])
def test_a_tensor_or_variable_stands_for_its_device(strategy, make):
    assert shown(strategy.extended.reduce_to("SUM", each(strategy), make("/cpu:3"))) == (3.0, 3)


def test_a_mirrored_variable_stands_for_the_devices_of_its_components(strategy):
    with strategy.scope():
        v = tf.Variable(1.0)
    value = each(strategy)
    both = ("Mirrored", [(3.0, 0), (3.0, 1)])
    assert shown(strategy.extended.reduce_to("SUM", value, v)) == both
    assert shown(strategy.extended.reduce_to("SUM", value, value)) == both
    assert shown(strategy.extended.reduce_to("SUM", {"a": value}, v)) == {"a": both}


def test_the_device_scope_does_not_overrule_a_destination(strategy):
    value = each(strategy)
    with tf.device("/cpu:3"):
        assert shown(strategy.extended.reduce_to("SUM", value, "/cpu:2")) == (3.0, 2)
        assert shown(strategy.reduce("SUM", value, axis=None)) == (3.0, 3)


def test_one_value_stays_where_it_is_when_its_mean_is_asked_for(strategy):
    with strategy.scope():
        v = tf.Variable(1.0)
    tensor = on("/cpu:3", 5.0)
    assert strategy.extended.reduce_to("MEAN", v, "/cpu:2") is v
    assert strategy.extended.reduce_to("MEAN", tensor, v) is tensor


def test_a_value_is_broadcast_to_a_device_or_to_those_of_a_variable(strategy):
    extended, tensor = strategy.extended, on("/cpu:3", 5.0)
    with strategy.scope():
        v = tf.Variable(1.0)
    assert shown(extended.broadcast_to(tensor, "/cpu:2")) == (5.0, 2)
    assert shown(extended.broadcast_to(tensor, v)) == ("Mirrored", [(5.0, 0), (5.0, 1)])
    assert shown(extended.broadcast_to(v, "/cpu:2")) == (1.0, 2)
    per_replica = extended.broadcast_to(each(strategy), "/cpu:2")
    assert shown(per_replica) == ("PerReplica", [(1.0, 2), (2.0, 2)])
    assert extended.broadcast_to(2.0, "/cpu:2") == 2.0


def test_one_replica_reduces_to_a_device_too():
    alone = tf.distribute.MirroredStrategy(["/cpu:1"])
    value = each(alone)
    assert shown(alone.extended.reduce_to("SUM", value, "/cpu:2")) == (1.0, 2)
    with tf.device("/cpu:3"):
        assert shown(alone.reduce("SUM", value, axis=None)) == (1.0, 3)
        assert shown(alone.reduce("MEAN", value, axis=None)) == (1.0, 1)


@pytest.mark.parametrize(
    ("destinations", "error"),
    [
        (["/cpu:0"], AssertionError),
        (("/cpu:0", "/cpu:1"), AssertionError),
        (None, AssertionError),
        ("nonsense", ValueError),
        (3, ValueError),
        (tf.DeviceSpec(device_type="CPU"), ValueError),
    ],
)
def test_what_is_no_destination_is_refused(strategy, destinations, error):
    with pytest.raises(error):
        strategy.extended.reduce_to("SUM", each(strategy), destinations)
    with pytest.raises(error):
        strategy.extended.broadcast_to(on("/cpu:0"), destinations)
