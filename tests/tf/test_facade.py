"""The façade has TensorFlow's names, and says so where it lacks one."""

import numpy as np
import pytest

from clustersim import tf


def test_what_is_exported_is_there():
    for name in tf.__all__:
        assert hasattr(tf, name)


def test_a_name_that_we_lack_says_what_to_do():
    with pytest.raises(AttributeError, match=r"'keras'.*real TensorFlow"):
        _ = tf.keras
    assert not hasattr(tf, "GradientTape")


def test_the_main_programs_words_are_there():
    for name in (
        "distribute.OneDeviceStrategy",
        "distribute.MultiWorkerMirroredStrategy",
        "distribute.experimental.MultiWorkerMirroredStrategy",
        "distribute.cluster_resolver.TFConfigClusterResolver",
        "distribute.Server",
        "distribute.ReduceOp.SUM",
        "data.Dataset.from_tensor_slices",
        "data.experimental.AutoShardPolicy.OFF",
        "config.list_logical_devices",
        "errors.UnavailableError",
        "train.ClusterSpec",
        "nn.log_softmax",
        "math.log",
        "nest.map_structure",
    ):
        found = tf
        for part in name.split("."):
            found = getattr(found, part)


def test_a_decorated_function_is_the_function():
    @tf.function(jit_compile=True)
    def double(x):
        """Doubles."""
        return x * 2

    class Holder:
        @tf.function
        def method(self, x):
            return self.offset + x

        offset = 2

    assert double(3) == 6
    assert double.__doc__ == "Doubles."
    assert Holder().method(1) == 3
    with pytest.raises(TypeError, match="no option"):
        tf.function(double, nonsense=1)


def test_what_a_decorated_function_returns_are_tensors():
    v = tf.Variable(1.0)
    returned = tf.function(lambda: (1, None, [2.0, "a"], {"v": v, "n": np.float64(3)}))()
    assert repr(returned) == (
        "(<tf.Tensor: shape=(), dtype=int32, numpy=1>, None,"
        " [<tf.Tensor: shape=(), dtype=float32, numpy=2.0>,"
        " <tf.Tensor: shape=(), dtype=string, numpy=b'a'>],"
        " {'v': <tf.Tensor: shape=(), dtype=float32, numpy=1.0>,"
        " 'n': <tf.Tensor: shape=(), dtype=float64, numpy=3.0>})"
    )
    assert tf.function(lambda: v.assign_add(1.0))().dtype is tf.float32
    assert isinstance(tf.function(lambda x: x)(np.arange(2)), tf.Tensor)
    with pytest.raises(TypeError, match=r"To be compatible with tf\.function"):
        tf.function(object)()


def test_per_replica_values_leave_a_decorated_function_as_they_are():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    @tf.function
    def step():
        return strategy.run(lambda: 2), strategy.experimental_distribute_values_from_function(
            lambda context: context.replica_id_in_sync_group
        )

    number, values = step()
    assert isinstance(number, tf.Tensor)
    assert isinstance(values, tf.distribute.DistributedValues)


def test_seeded_random_numbers_come_again():
    tf.random.set_seed(1)
    first = tf.random.uniform([3]).numpy()
    tf.random.set_seed(1)
    assert (tf.random.uniform([3]).numpy() == first).all()
    assert tf.random.uniform([2], maxval=5, dtype=tf.int32).dtype is tf.int32
    assert tf.random.normal([2], seed=3).shape == [2]
    with pytest.raises(ValueError, match="maxval"):
        tf.random.uniform([2], dtype=tf.int32)
