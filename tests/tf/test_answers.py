"""TensorFlow 2.21's answers to small right and wrong uses; each was asked of both and once differed."""

import numpy as np
import pytest

from clustersim import tf
from clustersim.devices.machine import Machine
from tests.array_libraries import becoming

distribute = tf.distribute
ON_READ = tf.VariableSynchronization.ON_READ
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN
FIRST, NONE = tf.VariableAggregation.ONLY_FIRST_REPLICA, tf.VariableAggregation.NONE

CPUS = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]


@pytest.fixture(autouse=True)
def machine():
    with becoming(Machine("cpu:2")) as machine:
        yield machine


@pytest.fixture
def strategy():
    return distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def context():
    return distribute.get_replica_context()


def replica():
    return tf.cast(context().replica_id_in_sync_group, tf.float32)


def variable(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def plain(answer):
    """An answer as Python values, with the name of its dtype or of its error."""
    if isinstance(answer, type):
        return answer.__name__
    if isinstance(answer, tf.Tensor):
        return answer.dtype.name, answer.numpy().tolist()
    return answer


def outcome(function, *args):
    try:
        return plain(function(*args))
    except Exception as error:
        return type(error).__name__


MATRIX, VECTOR = [[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda m, v: m[[0, 1]], ("float32", 2.0)),
        (lambda m, v: m[m > 2.0], ("float32", [3.0, 4.0])),
        (lambda m, v: m[np.array([True, False])], ("float32", [[1.0, 2.0]])),
        (lambda m, v: m[tf.constant([True])], "ValueError"),
        (lambda m, v: m[tf.constant(1), -1], ("float32", 4.0)),
        (lambda m, v: v[5:], ("float32", [])),
        (lambda m, v: m[0, 0, 0], "InvalidArgumentError"),
        (lambda m, v: v[...,], ("float32", VECTOR)),
        (lambda m, v: m[::0], "InvalidArgumentError"),
        (lambda m, v: v[2], "InvalidArgumentError"),
        (lambda m, v: v[tf.constant([0])], "TypeError"),
        (lambda m, v: v[np.array([0])], "TypeError"),
        (lambda m, v: v[1.0], "TypeError"),
        (lambda m, v: v["a"], "TypeError"),
    ],
)
def test_tensors_take_tensorflows_keys(function, expected):
    assert outcome(function, tf.constant(MATRIX), tf.constant(VECTOR)) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda m, v: v @ v, "InvalidArgumentError"),
        (lambda m, v: ~v, "InvalidArgumentError"),
        (lambda m, v: v & v, "InvalidArgumentError"),
        (lambda m, v: v == tf.constant([1.0]), ("bool", [True, False])),
        (lambda m, v: v == tf.constant([1.0, 2.0, 3.0]), ("bool", False)),
        (lambda m, v: v != tf.constant([1.0, 2.0, 3.0]), ("bool", True)),
        (lambda m, v: bool(tf.constant([])), False),
        (lambda m, v: int(tf.constant([3])), "TypeError"),
        (lambda m, v: f"{tf.constant([1])}", "[1]"),
        (lambda m, v: tf.reduce_sum("a"), "InvalidArgumentError"),
        (lambda m, v: tf.reduce_sum(tf.constant(True)), "InvalidArgumentError"),
        (lambda m, v: tf.reduce_any(v), "InvalidArgumentError"),
        (lambda m, v: tf.sqrt(tf.constant(4)), "InvalidArgumentError"),
        (lambda m, v: tf.exp(1), "InvalidArgumentError"),
        (lambda m, v: tf.where(m > 3.0), ("int64", [[1, 1]])),
        (lambda m, v: tf.zeros(-1), "InvalidArgumentError"),
        (lambda m, v: tf.zeros("a"), "TypeError"),
        (lambda m, v: tf.range(1, 2, 0), "InvalidArgumentError"),
        (lambda m, v: tf.cast(1 + 2j, tf.float32), ("float32", 1.0)),
    ],
)
def test_operations_answer_as_tensorflows(function, expected):
    assert outcome(function, tf.constant(MATRIX), tf.constant(VECTOR)) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.1, tf.float64, ("float64", 1.1)),
        (16777217, tf.float64, ("float64", 16777217.0)),
        (True, tf.int32, ("int32", 1)),
        (True, tf.float32, ("float32", 1.0)),
        (np.float32(1.5), tf.int32, ("int32", 1)),
        (1.5, tf.int32, "TypeError"),
        (1, tf.bool, "TypeError"),
    ],
)
def test_a_constant_is_taken_as_the_dtype_that_is_asked_for(value, dtype, expected):
    assert outcome(tf.constant, value, dtype) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"initial_value": 1.0, "shape": [2]}, "ValueError"),
        ({"initial_value": 1.0, "name": 3}, "ValueError"),
        ({"initial_value": 1.0, "name": ""}, ":0"),
        ({"initial_value": 1.0, "aggregation": 1}, "Variable:0"),
        ({"initial_value": 1.0, "aggregation": None}, "Variable:0"),
        ({"initial_value": 1.0, "trainable": True, "synchronization": ON_READ}, "Variable:0"),
    ],
)
def test_variables_take_tensorflows_arguments(arguments, expected):
    assert outcome(lambda: tf.Variable(**arguments).name) == expected


@pytest.mark.parametrize("change", [1.0, [1.0], [[1.0], [1.0]]])
def test_what_is_added_to_a_variable_must_have_its_shape(change):
    assert outcome(tf.Variable(VECTOR).assign_add, change) == "InvalidArgumentError"


def test_an_assignment_returns_the_variable_to_be_read_later():
    v = tf.Variable(1.0)
    written = v.assign(2.0)
    v.assign_add(1.0)
    assert str(written) == "<tf.Variable 'UnreadVariable' shape=() dtype=float32, numpy=3.0>"
    assert float(written + 1.0) == 4.0
    assert isinstance(written, tf.Variable)
    assert written.assign_sub(3.0).numpy() == v.numpy() == 0.0
    assert v.assign(1.0, read_value=False) is None


def test_a_variable_is_read_onto_the_current_device():
    with tf.device("/cpu:1"):
        v = tf.Variable(1.0)
    assert (v.value().device, v.read_value().device) == (CPUS[1], CPUS[0])
    assert v.get_shape() == v.shape == []


def test_writes_that_are_not_aggregated_return_each_replicas_own(strategy):
    outside = tf.Variable(0.0)
    for v in (
        variable(strategy, 0.0, aggregation=NONE),
        variable(strategy, 0.0, synchronization=ON_READ, aggregation=SUM),
        outside,
    ):
        written = strategy.run(lambda v=v: v.assign_add(tf.constant(1.0)))
        assert isinstance(written, distribute.DistributedValues)
        assert {type(one).__name__ for one in written.values} == {"_UnreadVariable"}
    assert outside.numpy() == 2.0


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 3.0), (MEAN, 3.0), (FIRST, 3.0)])
def test_assigning_outside_to_what_is_synchronized_on_read_returns_the_aggregate(
    strategy, aggregation, expected
):
    v = variable(strategy, synchronization=ON_READ, aggregation=aggregation)
    assert plain(v.assign(3.0)) == ("float32", expected)


@pytest.mark.parametrize("value", [VECTOR, (1.0, 2.0), "a", None])
def test_only_the_first_replicas_tensor_or_number_is_taken(strategy, value):
    v = variable(strategy, VECTOR, aggregation=FIRST)
    assert outcome(strategy.run, lambda: v.assign(value)) == "AttributeError"


def test_a_variable_can_be_read_and_not_written_under_another_strategy(strategy):
    v = variable(strategy, aggregation=SUM)
    other = distribute.OneDeviceStrategy("/cpu:0")
    assert plain(other.run(lambda: v + 1.0)) == ("float32", 2.0)
    assert plain(other.run(v.value)) == ("float32", 1.0)
    for refused in (lambda: v.assign(tf.constant(1.0)), v.read_value, v.numpy):
        assert outcome(other.run, refused) == "RuntimeError"


@pytest.mark.parametrize("kwargs", [[("a", 1)], 3])
def test_arguments_by_name_are_a_mapping(strategy, kwargs):
    with pytest.raises(TypeError, match="kwargs"):
        strategy.run(lambda **given: given, kwargs=kwargs)


def test_a_replica_context_names_its_device_as_in_tensorflow(strategy):
    kept = []
    devices = strategy.run(lambda: kept.append(context()) or context().devices)
    assert devices[0][0].values == tuple(CPUS)
    assert type(kept[0]).__name__ == "_MirroredReplicaContext"
    assert outcome(lambda: kept[0].devices) == "RuntimeError"
    assert distribute.OneDeviceStrategy("/cpu:1").run(lambda: context().devices) == (CPUS[1],)
    assert context().devices == ("",)


def test_older_names_are_there(strategy):
    assert strategy.unwrap(strategy.run(replica)) == strategy.experimental_local_results(
        strategy.run(replica)
    )
    assert strategy.extended.non_slot_devices(None) == tuple(CPUS)


def test_a_mean_over_replicas_of_small_integers_is_float32(strategy):
    small = strategy.run(lambda: tf.cast(replica() + 1.0, tf.uint8))
    assert plain(strategy.reduce("MEAN", small, axis=None)) == ("float32", 1.5)


def test_a_plain_array_of_zeros_can_be_summed(strategy):
    zeros = strategy.reduce("SUM", np.array([0, 0]), axis=None)
    assert (zeros.tolist(), outcome(strategy.reduce, "SUM", 0, None)) == ([0, 0], "AttributeError")


def test_an_axis_may_be_numpys_number(strategy):
    rows = strategy.run(lambda: tf.ones([2, 3]))
    assert plain(strategy.reduce("SUM", rows, axis=np.int64(1))) == ("float32", [6.0, 6.0])


@pytest.mark.parametrize(
    ("value", "axis", "expected"),
    [
        (VECTOR, -1, "ValueError"),
        (VECTOR, 1, "ValueError"),
        (VECTOR, "0", "AssertionError"),
        ([1], -1, ("int32", [1, 1])),
        ([1], 1, "InvalidArgumentError"),
        (["a"], 1, "ValueError"),
    ],
)
def test_gather_takes_an_axis_that_is_there(strategy, value, axis, expected):
    parts = strategy.run(lambda: tf.constant(value))
    assert outcome(strategy.gather, parts, axis) == expected


def test_the_default_strategy_runs_replica_0_of_1_and_merges_across_it():
    default = distribute.get_strategy()
    inside = default.run(lambda: (context().replica_id_in_sync_group, distribute.has_strategy()))
    assert (plain(inside[0]), inside[1]) == (("int32", 0), False)

    def merged(running):
        made = tf.Variable(1.0)
        return [
            running is default,
            distribute.in_cross_replica_context(),
            distribute.has_strategy(),
            context(),
            type(made).__name__,
        ]

    assert context().merge_call(merged) == [True, True, False, None, "ResourceVariable"]
    assert default.run(lambda: type(tf.Variable(1.0)).__name__) == "ResourceVariable"


def test_the_default_strategy_hands_datasets_on_and_has_no_devices():
    default = distribute.get_strategy()
    dataset = tf.data.Dataset.range(3)
    assert default.distribute_datasets_from_function(lambda _: dataset) is dataset
    assert type(default).__name__ == "_DefaultDistributionStrategy"
    assert outcome(lambda: default.extended.parameter_devices) == "RuntimeError"
    assert default.extended.variable_created_in_scope(tf.Variable(1.0))


def test_setting_the_default_strategy_sets_none():
    distribute.experimental_set_strategy(distribute.get_strategy())
    assert not distribute.has_strategy()
    assert not distribute.in_cross_replica_context()
    assert type(tf.Variable(1.0)).__name__ == "ResourceVariable"


def test_device_names_are_refused_as_in_tensorflow():
    def placed(name):
        with tf.device(name):
            return tf.constant(1.0).device

    assert outcome(placed, "/cpu:-1") == "InvalidArgumentError"
    for name, error in ((["/cpu:0"], "TypeError"), (tf.DeviceSpec(), "AttributeError")):
        assert outcome(distribute.OneDeviceStrategy, name) == error
    assert outcome(distribute.MirroredStrategy, ["/job:worker/cpu:0"]) == "ValueError"


def test_a_split_that_is_there_already_may_be_asked_for_again():
    with becoming(Machine("")):
        cpu = tf.config.list_physical_devices("CPU")[0]
        two = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(cpu, two)
        assert len(tf.config.list_logical_devices("CPU")) == 2
        tf.config.set_logical_device_configuration(cpu, two)
        for device, parts, error in (
            (cpu, two * 2, "RuntimeError"),
            ("x", [], "ValueError"),
            (cpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1)], "ValueError"),
        ):
            assert outcome(tf.config.set_logical_device_configuration, device, parts) == error


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: tf.constant(np.array([1.5, 2.5]), tf.int32), ("int32", [1, 2])),
        (lambda: tf.constant(np.array([True]), tf.float32), ("float32", [1.0])),
        (lambda: tf.constant(np.int32(1), tf.bool), ("bool", True)),
        (lambda: tf.constant([True, False], tf.int32), ("int32", [1, 0])),
        (lambda: tf.constant(3, tf.complex64), ("complex64", 3 + 0j)),
        (lambda: tf.constant(1) + np.array([1.5, 2.5]), ("int32", [2, 3])),
        (lambda: tf.Variable([1]).assign_add(np.array([2.5])).value(), ("int32", [3])),
        (lambda: tf.constant([1, 2.5], tf.int32), "TypeError"),
        (lambda: tf.constant(1 + 1j, tf.float32), "TypeError"),
        (lambda: tf.constant([tf.constant(1), 2]), "ValueError"),
        (lambda: tf.convert_to_tensor([tf.constant(1), 2]), ("int32", [1, 2])),
        (lambda: tf.constant(tf.constant(1), tf.float32), "TypeError"),
        (lambda: tf.constant(np.array([1, "a"], dtype=object)), "ValueError"),
        (lambda: tf.function(3), "TypeError"),
    ],
)
def test_numpys_numbers_become_what_is_asked_for_pythons_only_without_loss(function, expected):
    assert outcome(function) == expected


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda: tf.add_n([1, 2]), ("int32", 3)),
        (lambda: tf.add_n([]), "ValueError"),
        (lambda: tf.add_n([[1], [1, 2]]), "InvalidArgumentError"),
        (lambda: tf.greater_equal(1, 1), ("bool", True)),
        (lambda: tf.less_equal(2, 1), ("bool", False)),
        (lambda: tf.logical_xor(True, False), ("bool", True)),
        (lambda: tf.boolean_mask([1, 2], [True, False]), ("int32", [1])),
        (lambda: tf.boolean_mask([[1, 2]], [True, False], axis=1), ("int32", [[1]])),
        (lambda: tf.tile([1, 2], [2]), ("int32", [1, 2, 1, 2])),
        (lambda: [plain(part) for part in tf.split([1, 2], 2)], [("int32", [1]), ("int32", [2])]),
        (lambda: [plain(one) for one in tf.split([1, 2, 3], [1, 2])][1], ("int32", [2, 3])),
        (lambda: tf.split([1, 2, 3], 2), "InvalidArgumentError"),
    ],
)
def test_a_few_more_functions_are_there(function, expected):
    assert outcome(function) == expected


def test_update_answers_with_what_its_function_returned(strategy):
    v = variable(strategy)
    extended = strategy.extended
    assert type(extended.update(v, lambda v: v.assign(2.0))).__name__ == "Mirrored"
    assert extended.update(v, lambda v: v) is v
    apart = extended.update(v, lambda v: v.assign_add(1.0), group=False)
    assert [type(one).__name__ for one in apart] == ["_UnreadVariable"] * 2
    assert outcome(extended.update, tf.Variable(1.0), lambda v: v) == "AssertionError"
    assert plain(extended.read_var(v)) == ("float32", 3.0)
    assert extended.reduce_to("MEAN", 3.0, v) == 3.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: distribute.MirroredStrategy(["/cpu:0"]),
        distribute.MultiWorkerMirroredStrategy,
    ],
)
def test_one_replica_answers_with_tensors_and_bare_variables(make, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = make()
    v = variable(strategy, aggregation=SUM)
    assert type(strategy.run(lambda: v.assign_add(2.0))).__name__ == "_UnreadVariable"
    assert type(v.assign(3.0)).__name__ == "_UnreadVariable"
    assert plain(strategy.reduce("SUM", 3.0, axis=None)) == ("float32", 3.0)
    assert strategy.reduce("MEAN", 3, axis=None) == 3
    assert outcome(strategy.reduce, "SUM", None, None) == "ValueError"
    assert strategy.run(lambda: context().devices) == [[CPUS[0]]]
    assert strategy.run(lambda: type(context()).__name__) == "_MirroredReplicaContext"


def test_a_lone_worker_makes_tensors_of_plain_values(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = distribute.MultiWorkerMirroredStrategy()
    assert plain(strategy.reduce("SUM", VECTOR, axis=None)) == ("float32", VECTOR)
    assert outcome(strategy.reduce, "SUM", {"a": 1.0}, None) == "ValueError"
    assert plain(strategy.gather(3, axis=0)) == ("int32", 3)
    assert strategy.extended.experimental_between_graph
    assert type(strategy.extended).__name__ == "CollectiveAllReduceExtended"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"job_name": "x", "task_index": 0}, "InternalError"),
        ({"job_name": "worker", "task_index": 7}, "InternalError"),
        ({"protocol": "foo"}, "NotFoundError"),
    ],
)
def test_a_server_outside_of_its_cluster_is_refused(options, error):
    assert outcome(lambda: distribute.Server({"worker": ["localhost:1"]}, **options)) == error
