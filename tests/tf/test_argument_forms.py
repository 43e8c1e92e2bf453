"""Whole numbers may be given in every form that TensorFlow 2.21 takes, and mean the same in each.

Each case was asked of TensorFlow: it takes the forms that are tried here.
"""

import numpy as np
import pytest

from clustersim import tf
from clustersim.devices.machine import Machine
from tests.array_libraries import becoming

A = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
BATCH = [[0], [1]]
Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def machine():
    with becoming(Machine("cpu:3")) as machine:
        yield machine


def numbers():
    return Dataset.range(6)


def strategy():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def replicas_rows(of):
    return of.run(lambda: tf.constant(A))


def joined_in_replicas(axis):
    def step():
        return tf.distribute.get_replica_context().all_gather(tf.constant(A), axis)

    return strategy().run(step).values[0]


def of_generator(args):
    spec = tf.TensorSpec((), tf.int32)
    return Dataset.from_generator(lambda n: iter(range(n)), output_signature=spec, args=args)


ONE = {
    "argmax.axis": (lambda n: tf.argmax(A, n), 1),
    "boolean_mask.axis": (lambda n: tf.boolean_mask(A, [True, False, True], axis=n), 1),
    "concat.axis": (lambda n: tf.concat([A, A], n), 1),
    "expand_dims.axis": (lambda n: tf.expand_dims(A, n), -1),
    "fill.dims": (lambda n: tf.fill(n, 1), 3),
    "gather.axis": (lambda n: tf.gather(A, [0], axis=n), 1),
    "gather.batch_dims": (lambda n: tf.gather(A, BATCH, batch_dims=n), 1),
    "key": (lambda n: tf.constant(A)[n], 1),
    "log_softmax.axis": (lambda n: tf.nn.log_softmax(A, n), 0),
    "one_hot.axis": (lambda n: tf.one_hot([0, 1], 3, axis=n), 0),
    "one_hot.depth": (lambda n: tf.one_hot([0, 1], n), 3),
    "ones.shape": (tf.ones, 3),
    "range.delta": (lambda n: tf.range(0, 5, n, tf.int32), 2),
    "range.limit": (lambda n: tf.range(n, dtype=tf.int32), 3),
    "range.start": (lambda n: tf.range(n, 5, dtype=tf.int32), 3),
    "reduce_all.axis": (lambda n: tf.reduce_all([[True, False]], n), 1),
    "reduce_max.axis": (lambda n: tf.reduce_max(A, n), 1),
    "reduce_mean.axis": (lambda n: tf.reduce_mean(A, n), 1),
    "reduce_min.axis": (lambda n: tf.reduce_min(A, n), 1),
    "reduce_prod.axis": (lambda n: tf.reduce_prod(A, n), 1),
    "reduce_sum.axis": (lambda n: tf.reduce_sum(A, n), -1),
    "reshape.shape": (lambda n: tf.reshape(A, n), 6),
    "slice": (lambda n: tf.constant(A)[:, n:], 1),
    "softmax.axis": (lambda n: tf.nn.softmax(A, n), 0),
    "split.axis": (lambda n: tf.split(A, 3, axis=n), 1),
    "split.num": (lambda n: tf.split(A, [1, 1], num=n), 2),
    "split.number": (lambda n: tf.split(A, n), 2),
    "squeeze.axis": (lambda n: tf.squeeze([A], n), 0),
    "stack.axis": (lambda n: tf.stack([A, A], axis=n), 1),
    "unstack.axis": (lambda n: tf.unstack(A, axis=n), 1),
    "unstack.num": (lambda n: tf.unstack(A, num=n), 2),
    "zeros.shape": (tf.zeros, 3),
    "Dataset.batch": (lambda n: numbers().batch(n), 4),
    "Dataset.batch.num_parallel_calls": (lambda n: numbers().batch(2, num_parallel_calls=n), 2),
    "Dataset.enumerate": (lambda n: numbers().enumerate(n), 2),
    "Dataset.from_generator.args": (lambda n: of_generator((n,)), 2),
    "Dataset.interleave.block_length": (
        lambda n: numbers().interleave(lambda x: Dataset.range(x + 3), 2, n),
        2,
    ),
    "Dataset.interleave.cycle_length": (
        lambda n: numbers().interleave(lambda x: Dataset.range(x + 3), n),
        2,
    ),
    "Dataset.map.num_parallel_calls": (lambda n: numbers().map(lambda x: x + 1, n), 2),
    "Dataset.prefetch": (lambda n: numbers().prefetch(n), 2),
    "Dataset.range": (Dataset.range, 3),
    "Dataset.range.start": (lambda n: Dataset.range(n, 6, 2), 3),
    "Dataset.repeat": (lambda n: numbers().repeat(n), 2),
    "Dataset.shard.index": (lambda n: numbers().shard(2, n), 1),
    "Dataset.shard.num_shards": (lambda n: numbers().shard(n, 1), 2),
    "Dataset.shuffle.buffer_size": (lambda n: numbers().shuffle(n, 3), 4),
    "Dataset.shuffle.seed": (lambda n: numbers().shuffle(6, n), 3),
    "Dataset.skip": (lambda n: numbers().skip(n), 2),
    "Dataset.take": (lambda n: numbers().take(n), 2),
    "Dataset.window.shift": (lambda n: numbers().window(2, n), 1),
    "Dataset.window.size": (lambda n: numbers().window(n), 2),
    "Dataset.window.stride": (lambda n: numbers().window(2, 1, n), 2),
    "gather across replicas": (lambda n: strategy().gather(replicas_rows(strategy()), n), 1),
    "all_gather": (joined_in_replicas, 1),
    "DeviceSpec.device_index": (
        lambda n: tf.DeviceSpec(device_type="CPU", device_index=n).to_string(),
        2,
    ),
    "DeviceSpec.task": (lambda n: tf.DeviceSpec(job="worker", task=n).to_string(), 2),
}

SEVERAL = {
    "broadcast_to.shape": (lambda n: tf.broadcast_to(1.0, n), [3, 2]),
    "constant.shape": (lambda n: tf.constant(1.0, shape=n), [3, 2]),
    "fill.dims": (lambda n: tf.fill(n, 1), [3, 2]),
    "gather.indices": (lambda n: tf.gather(A, n), [1, 0]),
    "one_hot.indices": (lambda n: tf.one_hot(n, 2), [1, 0]),
    "ones.shape": (tf.ones, [3, 2]),
    "reduce_any.axis": (lambda n: tf.reduce_any([[True]], n), [0, 1]),
    "reduce_max.axis": (lambda n: tf.reduce_max(A, n), [0, 1]),
    "reduce_mean.axis": (lambda n: tf.reduce_mean(A, n), [0, 1]),
    "reduce_sum.axis": (lambda n: tf.reduce_sum(A, n), [0, 1]),
    "reshape.shape": (lambda n: tf.reshape(A, n), [3, -1]),
    "split.sizes": (lambda n: tf.split(A, n, axis=1), [1, 2]),
    "squeeze.axis": (lambda n: tf.squeeze([[A]], n), [0, 1]),
    "tile.multiples": (lambda n: tf.tile(A, n), [1, 2]),
    "transpose.perm": (lambda n: tf.transpose(A, n), [1, 0]),
    "zeros.shape": (tf.zeros, [3, 2]),
    "TensorShape": (tf.TensorShape, [3, 2]),
    "TensorSpec.shape": (lambda n: tf.TensorSpec(n).shape, [3, 2]),
    "Variable.shape": (lambda n: tf.Variable(A, shape=n).shape, [2, 3]),
    "Dataset.from_generator.output_shapes": (
        lambda n: Dataset.from_generator(lambda: iter([A]), tf.float32, n),
        [2, 3],
    ),
}

FORMS_OF_ONE = {
    "NumPy's int32": np.int32,
    "NumPy's int64": np.int64,
    "an array without dimensions": np.asarray,
    "a tensor": tf.constant,
    "an int64 tensor": lambda n: tf.constant(n, tf.int64),
    "a variable": tf.Variable,
}

FORMS_OF_SEVERAL = {
    "a tuple": tuple,
    "an array": np.asarray,
    "a tensor": tf.constant,
    "an int64 tensor": lambda n: tf.constant(n, tf.int64),
    "a variable": tf.Variable,
    "NumPy's numbers": lambda n: [np.int64(one) for one in n],
    "tensors": lambda n: [tf.constant(one) for one in n],
    "a number and tensors": lambda n: [n[0], *map(tf.constant, n[1:])],
}


def plain(answer):
    if isinstance(answer, Dataset):
        return [plain(element) for element in answer]
    if isinstance(answer, list | tuple):
        return [plain(each) for each in answer]
    if isinstance(answer, tf.Tensor):
        return answer.dtype.name, answer.numpy().tolist()
    return str(answer)


@pytest.mark.parametrize("form", FORMS_OF_ONE.values(), ids=FORMS_OF_ONE)
@pytest.mark.parametrize("case", ONE)
def test_a_number_means_the_same_in_every_form(case, form):
    function, number = ONE[case]
    assert plain(function(form(number))) == plain(function(number))


@pytest.mark.parametrize("form", FORMS_OF_SEVERAL.values(), ids=FORMS_OF_SEVERAL)
@pytest.mark.parametrize("case", SEVERAL)
def test_several_numbers_mean_the_same_in_every_form(case, form):
    function, given = SEVERAL[case]
    assert plain(function(form(given))) == plain(function(given))


NOT_SHAPES = sorted(set(ONE) - {case for case in ONE if case.startswith(("Dataset", "Dev", "key"))})


@pytest.mark.parametrize("case", [case for case in NOT_SHAPES if not case.startswith("range")])
def test_a_float_is_never_cut_off_to_a_number(case):
    function, number = ONE[case]
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        function(tf.constant(number + 0.5))


@pytest.mark.parametrize(
    "function",
    [
        lambda n: tf.tile(A, n),
        lambda n: tf.reshape(A, n),
        lambda n: tf.transpose(A, n),
        tf.zeros,
        lambda n: tf.fill(n, 1),
        lambda n: tf.broadcast_to(1.0, n),
        lambda n: tf.reduce_sum(A, n),
    ],
)
def test_a_tensor_of_floats_is_no_list_of_numbers(function):
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(tf.constant([1.0, 0.0]))


def test_a_per_replica_value_counts_as_the_replicas_own():
    of = strategy()
    times = of.experimental_distribute_values_from_function(
        lambda context: tf.constant([1 + context.replica_id_in_sync_group])
    )
    tiled = of.run(lambda n: tf.tile([7], n), args=(times,))
    assert [part.numpy().tolist() for part in tiled.values] == [[7], [7, 7]]
    rows = of.run(tf.zeros, args=(times,))
    assert [str(part.shape) for part in rows.values] == ["(1,)", "(2,)"]


def test_a_variable_that_is_a_number_can_be_counted_with():
    v = tf.Variable(2)
    assert list(range(v)) == [0, 1]
    assert [1, 2, 3][v] == 3
    with pytest.raises(TypeError):
        range(tf.Variable(2.0))
