"""Strategies of several processes, on threads: TensorFlow's answers for two workers."""

import numpy as np
import pytest

from clustersim import errors
from clustersim.data.dataset import Dataset
from clustersim.strategies.base import Strategy
from clustersim.strategies.default import get_replica_context
from clustersim.strategies.replicated import ReplicatedExtended
from clustersim.values.array_ops import cast, constant, fill, ones, range_
from clustersim.values.distributed_variable import MirroredVariable, SyncOnReadVariable
from clustersim.values.per_replica import DistributedValues
from clustersim.values.recipe import VariableAggregation, VariableSynchronization
from clustersim.values.variable import Variable
from tests.strategies.ranks import CPU, on_ranks

ON_READ = VariableSynchronization.ON_READ
SUM, MEAN = VariableAggregation.SUM, VariableAggregation.MEAN
FIRST, NONE = VariableAggregation.ONLY_FIRST_REPLICA, VariableAggregation.NONE


def replica():
    return get_replica_context().replica_id_in_sync_group


def same_on_both(body):
    first, second = on_ranks(2, body)
    assert first == second
    return first


def test_run_returns_bare_values_and_reduce_goes_over_workers():
    def body(strategy, rank):
        own = strategy.run(replica)
        assert not isinstance(own, DistributedValues)
        assert int(own) == rank
        mean = strategy.reduce("MEAN", constant(rank + 1), axis=None)
        assert mean.dtype.name == "float64"
        return (
            strategy.num_replicas_in_sync,
            float(strategy.reduce("SUM", strategy.run(lambda: cast(replica(), "float32")), None)),
            float(strategy.reduce("SUM", 3.0, axis=None)),
            float(mean),
        )

    assert same_on_both(body) == (2, 1.0, 6.0, 1.5)


def test_a_mean_over_an_axis_is_weighted_by_what_each_worker_has():
    def body(strategy, rank):
        values = ones([rank + 1]) * (rank + 1.0)
        return float(strategy.reduce("MEAN", values, axis=0))

    assert same_on_both(body) == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    ("value", "error"),
    [({"a": constant(1.0)}, ValueError), (constant(True), errors.InvalidArgumentError)],
)
def test_what_workers_cannot_reduce_is_refused(value, error):
    with pytest.raises(error):
        on_ranks(2, lambda strategy, _rank: strategy.reduce("SUM", value, axis=None))


def test_context_collectives_take_nests_and_uneven_parts():
    def body(strategy, _rank):
        def step():
            context = get_replica_context()
            i = replica()
            summed = context.all_reduce("SUM", {"a": [i + 1], "b": cast(i, "float32")})
            joined = context.all_gather({"a": fill([i + 1], i)}, axis=0)
            merged = context.merge_call(lambda s, x: s.reduce("SUM", x, axis=None), args=(i,))
            return (
                int(summed["a"][0]),
                float(summed["b"]),
                joined["a"].numpy().tolist(),
                int(merged),
            )

        return strategy.run(step)

    assert same_on_both(body) == (3, 1.0, [0, 1, 1], 1)


def test_a_nest_is_reduced_in_one_call():
    def body(strategy, _rank):
        before = len(strategy.extended._cross_replica.calls)
        strategy.run(lambda: get_replica_context().all_reduce("SUM", [ones([2]), ones([3])]))
        return len(strategy.extended._cross_replica.calls) - before

    assert same_on_both(body) == 1


def test_python_numbers_and_scalars_are_refused_as_in_tensorflow():
    def reduces(strategy, _rank):
        strategy.run(lambda: get_replica_context().all_reduce("SUM", 2.0))

    def gathers(strategy, _rank):
        strategy.gather(constant(1.0), axis=0)

    for body in (reduces, gathers):
        with pytest.raises(ValueError, match=r"."):
            on_ranks(2, body)


def test_a_variable_begins_with_the_chiefs_value_and_may_then_diverge():
    def body(strategy, rank):
        calls = []
        with strategy.scope():
            v = Variable(lambda: calls.append(1) or constant(float(rank + 10)), name="w")
        first = float(v.numpy())
        v.assign(rank + 100.0)
        assert isinstance(v, MirroredVariable)
        assert [part.name for part in v.values] == ["w:0"]
        return len(calls), first, float(v.numpy()) - rank

    assert same_on_both(body) == (1, 10.0, 100.0)


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [(SUM, (3, 3)), (MEAN, (1.5, 1.5)), (FIRST, (1, 2)), (NONE, (1, 2))],
)
def test_replicas_write_what_the_aggregation_says(aggregation, expected):
    def body(strategy, _rank):
        with strategy.scope():
            v = Variable(0.0, aggregation=aggregation)
        strategy.run(lambda: v.assign(cast(replica() + 1, "float32")))
        return float(v.numpy())

    assert on_ranks(2, body) == list(expected)


@pytest.mark.parametrize(
    ("aggregation", "read", "stored", "reread"),
    [(SUM, 3.0, (2.5, 3.0), 5.5), (MEAN, 1.5, (5.0, 6.0), 5.5)],
)
def test_a_variable_synchronized_on_read_is_aggregated_when_read(aggregation, read, stored, reread):
    def body(strategy, rank):
        with strategy.scope():
            v = Variable(0.0, synchronization=ON_READ, aggregation=aggregation)
        assert isinstance(v, SyncOnReadVariable)
        strategy.run(lambda: v.assign_add(cast(replica() + 1, "float32")))
        outside = float(v.numpy())
        v.assign(rank + 5.0)
        return outside, float(v.values[0]), float(v.numpy())

    assert on_ranks(2, body) == [(read, own, reread) for own in stored]


def test_a_mirrored_variable_is_one_value_for_reduce():
    def body(strategy, _rank):
        with strategy.scope():
            v = Variable(4.0)
        with pytest.raises(AssertionError):
            strategy.reduce("SUM", v, axis=None)
        return float(strategy.reduce("MEAN", v, axis=None))

    assert same_on_both(body) == 4.0


def test_variables_that_cannot_be_kept_equal_are_refused():
    strategy = Strategy(ReplicatedExtended((CPU,)))
    with strategy.scope():
        for wrong in (
            {"synchronization": VariableSynchronization.NONE},
            {"aggregation": MEAN, "dtype": "int32"},
        ):
            with pytest.raises(ValueError, match=r"."):
                Variable(1, **wrong)


def test_workers_without_data_get_empty_tensors_until_the_last_is_done():
    def body(strategy, rank):
        data = strategy.distribute_datasets_from_function(
            lambda _context: Dataset.range(1 if rank == 0 else 3).batch(1)
        )
        seen = []
        for batch in data:
            assert isinstance(batch, DistributedValues)
            (own,) = strategy.experimental_local_results(batch)
            total = strategy.reduce("SUM", strategy.run(lambda x: x, args=(batch,)), axis=0)
            seen.append((own.numpy().tolist(), int(total)))
        return seen

    first, second = on_ranks(2, body)
    assert first == [([0], 0), ([], 1), ([], 2)]
    assert second == [([0], 0), ([1], 1), ([2], 2)]


def test_endless_data_needs_no_agreement():
    def body(strategy, _rank):
        batches = iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(4).repeat()))
        for _ in range(3):
            next(batches)
        return strategy.extended._cross_replica.calls

    assert same_on_both(body) == []


def test_a_global_batch_is_divided_between_workers():
    def body(strategy, _rank):
        data = strategy.experimental_distribute_dataset(Dataset.range(10).batch(4))
        return [x.values[0].numpy().tolist() for x in data]

    assert on_ranks(2, body) == [[[0, 1], [4, 5], [8]], [[2, 3], [6, 7], [9]]]


def test_all_reduced_bytes_are_measured():
    def body(strategy, _rank):
        strategy.reduce("SUM", ones([4]), axis=None)
        return strategy.extended.measurements()["size_bytes"]

    assert same_on_both(body) == 16


def test_alone_a_value_that_is_not_distributed_comes_back():
    strategy = Strategy(ReplicatedExtended((CPU,)))
    assert strategy.reduce("SUM", 3.0, axis=None) == 3.0
    assert not isinstance(next(iter(_distributed(strategy))), DistributedValues)
    np.testing.assert_array_equal(strategy.gather(range_(2), axis=0), [0, 1])


def _distributed(strategy):
    return strategy.experimental_distribute_dataset(Dataset.range(3).batch(2))
