"""MirroredStrategy: replicas take turns, meet in merge_call, and fail as one."""

import signal
import threading

import numpy as np
import pytest

from clustersim import errors
from clustersim.strategies.default import get_replica_context
from clustersim.strategies.mirrored import MirroredStrategy
from clustersim.strategies.options import HierarchicalCopyAllReduce, NcclAllReduce
from clustersim.values.array_ops import cast, constant, ones
from clustersim.values.dtypes import float32, int32
from clustersim.values.per_replica import DistributedValues, PerReplica
from clustersim.values.recipe import VariableAggregation, VariableSynchronization
from clustersim.values.variable import Variable

SUM, MEAN = VariableAggregation.SUM, VariableAggregation.MEAN
ON_READ = VariableSynchronization.ON_READ


@pytest.fixture
def strategy(two_devices):
    return MirroredStrategy(two_devices)


def replica():
    return int(get_replica_context().replica_id_in_sync_group)


def values(of):
    return [float(value) for value in of.values]


def merge(function, *args):
    return get_replica_context().merge_call(lambda _strategy, *given: function(*given), args=args)


def test_without_merge_call_replicas_run_one_after_the_other_in_the_callers_thread(strategy):
    seen = []

    def step():
        seen.append((replica(), "start", threading.current_thread()))
        seen.append((replica(), "end", threading.current_thread()))

    strategy.run(step)
    me = threading.current_thread()
    assert seen == [(0, "start", me), (0, "end", me), (1, "start", me), (1, "end", me)]


def test_replicas_meet_in_each_merge_call_and_go_on_in_order():
    seen = []

    def step():
        for phase in "ab":
            seen.append(f"{phase}{replica()}")
            merge(lambda: seen.append("merge"))
        seen.append(f"c{replica()}")

    MirroredStrategy(["/cpu:0", "/cpu:1", "/cpu:2"]).run(step)
    assert seen == [
        *("a0", "a1", "a2", "merge", "b0", "b1", "b2", "merge", "c0", "c1", "c2"),
    ]  # fmt: skip


def test_merge_functions_get_per_replica_arguments_and_their_results_are_split(strategy):
    def merged(given):
        assert isinstance(given, PerReplica)
        return PerReplica([value * 10 for value in given.values])

    assert strategy.run(lambda: merge(merged, replica() + 1)).values == (10, 20)


def test_a_merge_function_may_run_the_strategy_again(strategy):
    def again(running):
        return running.run(lambda: get_replica_context().all_reduce("SUM", constant(1.0)))

    result = strategy.run(lambda: get_replica_context().merge_call(again))
    assert values(result) == [2.0, 2.0]


@pytest.mark.parametrize("who", [0, 1])
def test_a_different_number_of_merge_calls_is_an_error_and_the_strategy_stays_good(strategy, who):
    def step():
        if replica() == who:
            merge(lambda: None)

    with pytest.raises(RuntimeError, match="different number"):
        strategy.run(step)
    assert strategy.run(replica).values == (0, 1)


@pytest.mark.parametrize("who", [0, 1])
def test_one_replicas_error_is_raised_and_the_others_are_unwound(strategy, who):
    unwound, caught = [], []

    def step():
        try:
            merge(lambda: None)
            _ = {1 - who: "fine"}[replica()]
            merge(lambda: None)
        except Exception as error:
            caught.append(type(error))
            raise
        finally:
            unwound.append(replica())

    with pytest.raises(KeyError):
        strategy.run(step)
    assert (sorted(unwound), caught) == ([0, 1], [KeyError])
    assert values(strategy.run(lambda: constant(float(replica())))) == [0.0, 1.0]


def test_no_replica_can_catch_the_merge_functions_error(strategy):
    def step():
        try:
            merge(lambda: 1 // 0)
        except Exception:
            return "caught"

    with pytest.raises(ZeroDivisionError):
        strategy.run(step)


@pytest.fixture
def hears_interrupts():
    """A shell lets its background jobs ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_while(second_replica, strategy):
    """Runs a step whose replica 1 calls `second_replica` after an interrupt of the waiting caller."""

    def step():
        if replica() == 1:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            second_replica()
        merge(lambda: None)

    with pytest.raises(KeyboardInterrupt):
        strategy.run(step)


@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_waits_for_the_replica_whose_turn_it_is_and_unwinds_it(strategy):
    ended = []
    done = threading.Event()

    def second_replica():
        done.wait(0.2)
        ended.append(replica())

    interrupted_while(second_replica, strategy)
    assert ended == [1]
    total = strategy.run(lambda: get_replica_context().all_reduce("SUM", constant(1.0)))
    assert values(total) == [2.0, 2.0]


@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_leaves_a_replica_that_does_not_end_to_end_alone(strategy):
    done, went_on = threading.Event(), []

    def second_replica():
        done.wait(20)
        merge(lambda: None)
        went_on.append(1)

    interrupted_while(second_replica, strategy)
    done.set()
    assert strategy.run(replica).values == (0, 1)
    assert went_on == []


def test_a_failed_collective_leaves_the_strategy_and_new_ones_good(strategy, two_devices):
    def uneven():
        return get_replica_context().all_reduce("SUM", ones([replica() + 1]))

    with pytest.raises(errors.InvalidArgumentError):
        strategy.run(uneven)
    for each in (strategy, MirroredStrategy(two_devices)):
        total = each.run(lambda: get_replica_context().all_reduce("SUM", constant(1.0)))
        assert values(total) == [2.0, 2.0]


def test_int32_goes_through_the_host_and_cannot_travel_with_floats(strategy):
    with pytest.raises(ValueError, match="host"):
        strategy.run(lambda: get_replica_context().all_reduce("SUM", [constant(1), constant(2.0)]))


def test_writes_in_replicas_are_aggregated(strategy):
    with strategy.scope():
        total, mean = Variable(0.0, aggregation=SUM), Variable(0.0, aggregation=MEAN)
        seen = Variable(0.0, synchronization=ON_READ, aggregation=SUM)

    def step():
        number = cast(get_replica_context().replica_id_in_sync_group + 1, "float32")
        total.assign_add(number)
        mean.assign_add(number)
        seen.assign_add(number)

    strategy.run(step)
    assert (values(total), values(mean)) == ([3.0, 3.0], [1.5, 1.5])
    assert ([float(v) for v in seen.values], float(seen.numpy())) == ([1.0, 2.0], 3.0)


def test_a_variable_made_in_run_is_made_once_for_all(strategy):
    calls = []
    made = strategy.run(lambda: Variable(lambda: calls.append(1) or 1.0, name="q"))
    assert [v.name for v in made.values] == ["q:0", "q/replica_1:0"]
    assert len(calls) == 1


def test_a_variable_that_replica_0_did_not_make_is_an_error(strategy):
    with pytest.raises(RuntimeError, match="did not make"):
        strategy.run(lambda: Variable(1.0, name=f"v{replica()}"))


def test_strings_are_compared_by_identity_as_in_tensorflow(strategy):
    assert isinstance(strategy.run(lambda: constant(1.0).dtype.name), DistributedValues)
    assert strategy.run(lambda: 3) == 3


@pytest.mark.parametrize(
    ("devices", "error"),
    [
        (["/cpu:0", "cpu:0"], AssertionError),
        ("/cpu:0", ValueError),
        (["/job:worker/task:0/cpu:0", "/cpu:1"], ValueError),
        (["/job:worker/task:0/cpu:0", "/job:worker/task:1/cpu:0"], RuntimeError),
    ],
)
def test_devices_are_those_of_one_process_each_once(devices, error):
    with pytest.raises(error):
        MirroredStrategy(devices)


def test_every_way_to_combine_gives_the_same_numbers(two_devices):
    for ops in (NcclAllReduce(), HierarchicalCopyAllReduce(num_packs=2)):
        strategy = MirroredStrategy(two_devices, cross_device_ops=ops)
        assert float(strategy.reduce("SUM", strategy.run(lambda: ones([])), axis=None)) == 2.0
    with pytest.raises(ValueError, match="num_packs"):
        NcclAllReduce(num_packs=-1)


def test_many_runs_from_many_threads_do_not_disturb_each_other(two_devices):
    def train(results, number):
        strategy = MirroredStrategy(two_devices)
        for _ in range(50):
            total = strategy.run(
                lambda: get_replica_context().all_reduce("SUM", constant(float(number)))
            )
            results.append(values(total) == [2.0 * number] * 2)

    results = []
    threads = [threading.Thread(target=train, args=(results, n)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200


def test_gather_joins_in_the_order_of_replicas(strategy):
    parts = strategy.run(lambda: ones([replica() + 1]) * float(replica()))
    np.testing.assert_array_equal(strategy.gather(parts, axis=0).numpy(), [0.0, 1.0, 1.0])


@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_values_of_different_types_are_no_sum(strategy, op):
    mixed = strategy.run(lambda: constant([1, 2][replica()], [float32, int32][replica()], [1]))
    for combine in (
        lambda: strategy.reduce(op, mixed, axis=None),
        lambda: strategy.reduce(op, mixed, axis=0),
        lambda: strategy.gather(mixed, axis=0),
        lambda: strategy.extended.reduce_to(op, mixed, mixed),
        lambda: strategy.run(lambda x: get_replica_context().all_reduce(op, x), args=(mixed,)),
        lambda: strategy.run(lambda x: get_replica_context().all_gather(x, axis=0), args=(mixed,)),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=r"types: \[.float32., .int32"):
            combine()
