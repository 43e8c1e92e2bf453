"""TPUStrategy: replicas of logical devices, and where annotated tensors lie."""

import pytest

from clustersim.devices.topology import DeviceAssignment
from clustersim.strategies.tpu import TPUClusterResolver, TPUStrategy, initialize_tpu_system
from clustersim.values.array_ops import ones, range_, reshape
from clustersim.values.function import function


def strategy_of(shape, num_replicas, **options):
    resolver = TPUClusterResolver(tpu="")
    topology = initialize_tpu_system(resolver)
    assignment = DeviceAssignment.build(topology, shape, num_replicas=num_replicas)
    return TPUStrategy(resolver, assignment, **options)


@pytest.fixture
def two_by_four():
    return strategy_of([1, 1, 1, 2], 4)


@pytest.fixture
def eight_by_one():
    return strategy_of([1, 2, 2, 2], 1)


def test_without_an_assignment_each_core_is_a_replica():
    strategy = TPUStrategy()
    assert strategy.num_replicas_in_sync == 16
    assert strategy.extended.worker_devices[3].endswith("/task:0/device:TPU:3")


def test_only_functions_of_tensorflow_run(two_by_four):
    with pytest.raises(NotImplementedError, match=r"tf\.function"):
        two_by_four.run(lambda: 1)

    class Model:
        @function
        def __call__(self):
            return 3

    for runnable, result in ((function(lambda: 1), 1), (Model(), 3)):
        values = two_by_four.experimental_local_results(two_by_four.run(runnable))
        assert [int(value) for value in values] == [result] * two_by_four.num_replicas_in_sync
    assert function(lambda: two_by_four.run(lambda: 2))() == 2


def test_a_split_tensor_lies_in_pieces_counted_row_by_row(eight_by_one):
    images = reshape(range_(32), [1, 4, 8, 1])
    split = eight_by_one.experimental_split_to_logical_devices(images, [1, 2, 4, 1])
    placement = eight_by_one.extended.placement(split)
    assert [shard.logical_device for shard in placement] == list(range(8))
    assert [(s.slices[1], s.slices[2]) for s in placement][5] == (slice(2, 4), slice(2, 4))
    assert placement[5].value.numpy().reshape(-1).tolist() == [18, 19, 26, 27]
    assert "logical device 5" in str(placement)
    assert "[0:1, 2:4, 2:4, 0:1]" in str(placement)


def test_an_assigned_and_a_replicated_tensor_lie_whole(two_by_four):
    extended = two_by_four.extended
    placed = two_by_four.experimental_assign_to_logical_device(ones([2]), 1)
    everywhere = two_by_four.experimental_replicate_to_logical_devices(ones([2]))
    assert [shard.logical_device for shard in extended.placement(placed)] == [1]
    assert [shard.logical_device for shard in extended.placement(everywhere)] == [0, 1]
    assert [shard.logical_device for shard in extended.placement(ones([2]))] == [0]


def test_each_replicas_tensor_lies_on_its_own_cores(two_by_four):
    @function
    def step():
        return two_by_four.experimental_split_to_logical_devices(ones([2, 2]), [2, 1])

    shards = two_by_four.extended.placement(two_by_four.run(step))
    assert [(s.replica, s.logical_device) for s in shards] == [
        (replica, core) for replica in range(4) for core in range(2)
    ]
    assert len({shard.device for shard in shards}) == 8


@pytest.mark.parametrize(
    ("tensor", "dims", "said"),
    [
        (ones([2, 2]), [2], "one number for each"),
        (ones([3, 2]), [2, 1], "cannot be cut"),
        (ones([2, 4, 8, 1]), [1, 2, 4, 1], "8 pieces.*2 logical devices"),
        ((ones([2]), ones([2])), [1, 2, 4, 1], "images.*8 pieces.*2 logical devices"),
        ((ones([2]), ones([2])), [2], "images"),
    ],
)
def test_a_split_must_fit_the_tensor_and_the_replica(two_by_four, tensor, dims, said):
    with pytest.raises(ValueError, match=said):
        two_by_four.experimental_split_to_logical_devices(tensor, dims)


def test_a_tensor_is_assigned_to_a_logical_device_that_exists(two_by_four):
    with pytest.raises(ValueError, match=r"0\.\.1"):
        two_by_four.experimental_assign_to_logical_device(ones([2]), 2)
    spmd = strategy_of([1, 1, 1, 2], 4, experimental_spmd_xla_partitioning=True)
    with pytest.raises(ValueError, match="SPMD"):
        spmd.experimental_assign_to_logical_device(ones([2]), 0)


def test_tpus_elsewhere_are_refused():
    with pytest.raises(ValueError, match="simulated"):
        TPUClusterResolver(tpu="grpc://10.0.0.2:8470")
