"""OneDeviceStrategy, the default strategy, and where calls are allowed."""

import copy
import threading

import pytest

from clustersim import errors
from clustersim.data.dataset import Dataset
from clustersim.strategies.default import (
    DEFAULT_STRATEGY,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from clustersim.strategies.one_device import OneDeviceStrategy
from clustersim.values.array_ops import cast, constant, range_, zeros
from clustersim.values.variable import Variable


@pytest.fixture
def strategy(two_devices):
    return OneDeviceStrategy(two_devices[0])


def test_the_seeds_example_gives_90(strategy):
    result = 0
    for i in range(10):
        result += strategy.run(lambda x: x * 2, args=(i,))
    assert result == 90


@pytest.mark.parametrize("args", [3, "a", None, constant([1])])
def test_args_must_be_a_list_or_a_tuple(strategy, args):
    with pytest.raises(ValueError, match="args must be"):
        strategy.run(lambda x: x, args=args)


def test_inside_run_the_context_is_replica_0(strategy):
    context = strategy.run(get_replica_context)
    assert context.strategy is strategy
    assert strategy.run(lambda: int(get_replica_context().replica_id_in_sync_group)) == 0
    with pytest.raises(RuntimeError, match="not the current one"):
        context.merge_call(lambda _s: 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.run(lambda: 1),
        lambda s: s.reduce("SUM", 1.0, axis=None),
        lambda s: s.gather(constant([1.0]), axis=0),
        lambda s: s.scope().__enter__(),
    ],
)
def test_calls_for_all_replicas_are_refused_inside_run(strategy, call):
    with pytest.raises(RuntimeError, match="merge_call"):
        strategy.run(lambda: call(strategy))


def test_merge_call_leaves_the_replica_for_a_moment(strategy):
    def merge(given, x):
        return given is strategy, in_cross_replica_context(), get_replica_context(), x

    result = strategy.run(lambda: get_replica_context().merge_call(merge, args=(5,)))
    assert result == (True, True, None, 5)


def test_a_mean_changes_the_type_and_a_sum_does_not(strategy):
    def reduced(op, value):
        return strategy.reduce(op, value, axis=0).dtype.name

    assert reduced("MEAN", range_(3)) == "float64"
    assert reduced("mean", cast(range_(3), "uint8")) == "float32"
    assert reduced("Sum", range_(3)) == "int32"


@pytest.mark.parametrize(
    ("op", "value", "axis", "error"),
    [
        ("MAX", 1.0, None, ValueError),
        (3, 1.0, None, AssertionError),
        (3, constant([1.0]), 0, TypeError),
        ("SUM", constant(1.0), 0, ValueError),
        ("SUM", constant([1.0]), 1, ValueError),
        ("SUM", constant([1.0]), "a", TypeError),
        ("SUM", constant([1.0]), [0], TypeError),
        ("SUM", constant([True]), 0, TypeError),
        ("SUM", {"a": 1}, 0, TypeError),
        ("MEAN", [1, 2], 0, AttributeError),
    ],
)
def test_what_cannot_be_reduced_has_tensorflows_error(strategy, op, value, axis, error):
    with pytest.raises(error):
        strategy.reduce(op, value, axis)


def test_without_an_axis_the_value_comes_back_untouched(strategy):
    for value in ("abc", None, {"a": [1]}, zeros([2])):
        assert strategy.reduce("SUM", value, axis=None) is value
    assert strategy.experimental_local_results([1, 2]) == ([1, 2],)


def test_scopes_mix_with_themselves_only(strategy):
    other = OneDeviceStrategy("/cpu:0")
    with strategy.scope() as entered:
        assert entered is strategy is get_strategy()
        with strategy.scope():
            pass
        assert has_strategy()
        for refused in (other.scope().__enter__, lambda: other.run(lambda: 1)):
            with pytest.raises(RuntimeError, match="Mixing different"):
                refused()
        with pytest.raises(RuntimeError, match="nest"):
            DEFAULT_STRATEGY.scope().__enter__()
    assert not has_strategy()


def test_a_scope_object_is_good_once_and_stays_entered_after_a_second_try(strategy):
    scope = strategy.scope()
    with scope:
        pass
    with pytest.raises(AttributeError, match="again"):
        scope.__enter__()
    assert get_strategy() is strategy
    scope.__exit__(None, None, None)
    assert not has_strategy()


def test_threads_do_not_inherit_a_scope(strategy):
    seen = []
    with strategy.scope():
        thread = threading.Thread(target=lambda: seen.append(has_strategy()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_a_strategy_can_be_installed_and_removed(strategy):
    experimental_set_strategy(strategy)
    assert get_strategy() is strategy
    experimental_set_strategy(None)
    assert get_strategy() is DEFAULT_STRATEGY
    with strategy.scope(), pytest.raises(RuntimeError):
        experimental_set_strategy(None)


def test_variables_go_to_the_device_and_are_plain(strategy):
    remote = OneDeviceStrategy("/job:worker/task:1/cpu:0")
    with remote.scope(), pytest.raises(errors.InvalidArgumentError, match="unknown"):
        Variable(1.0)
    with strategy.scope():
        v = Variable(1.0)
    assert type(v) is Variable
    strategy.run(lambda: v.assign_add(2.0))
    assert float(v) == 3.0


def test_a_strategy_is_not_copied(strategy):
    with pytest.raises(RuntimeError):
        copy.copy(strategy)


def test_steps_and_input_are_measured(strategy):
    dataset = strategy.experimental_distribute_dataset(Dataset.range(6).batch(2))
    for batch in dataset:
        strategy.run(lambda x: x + 1, args=(batch,))
    counters = strategy.extended.measurements()
    assert counters["steps"] == 3
    assert counters["size_bytes"] == 0
    assert counters["compute_s"] > 0


def test_the_default_strategy_changes_nothing():
    dataset = Dataset.range(3)
    assert DEFAULT_STRATEGY.experimental_distribute_dataset(dataset) is dataset
    assert DEFAULT_STRATEGY.run(lambda x: x + 1, args=(1,)) == 2
    assert get_replica_context().replica_id_in_sync_group == 0
    with pytest.raises(RuntimeError, match="worker_devices"):
        _ = DEFAULT_STRATEGY.extended.worker_devices
