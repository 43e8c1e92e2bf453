"""TPU topologies: TensorFlow's arithmetic, whose recorded answers are in tests/conformance."""

import itertools

import numpy as np
import pytest

from clustersim.devices.topology import DeviceAssignment, DeviceOrderMode, Topology


def mesh_of(*sizes):
    x, y, z, cores = map(range, sizes)
    places = [[i, j, k, core] for k, j, i, core in itertools.product(z, y, x, cores)]
    return Topology(mesh_shape=sizes, device_coordinates=[places])


MESHES = [(2, 2, 1, 2), (2, 2, 2, 2), (4, 4, 1, 2), (4, 4, 4, 1), (1, 4, 2, 2), (3, 2, 1, 2)]


@pytest.mark.parametrize("sizes", MESHES)
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 1, 1, 2), (1, 2, 1, 1)])
def test_every_core_is_used_once_by_as_many_replicas_as_fit(sizes, shape):
    if any(np.array(shape) > sizes):
        return
    count = int(np.prod(np.array(sizes) // shape))
    places = DeviceAssignment.build(mesh_of(*sizes), shape, num_replicas=count).core_assignment
    flat = {tuple(place) for place in places.reshape(-1, 4)}
    assert len(flat) == places.shape[0] * places.shape[1]


@pytest.mark.parametrize("sizes", [(2, 2, 1, 2), (4, 4, 4, 1), (4, 2, 1, 2)])
def test_replicas_that_fill_the_mesh_follow_a_ring_of_neighbours(sizes):
    chips = int(np.prod(sizes[:3]))
    built = DeviceAssignment.build(mesh_of(*sizes), [1, 1, 1, sizes[3]], num_replicas=chips)
    starts = [np.array(built.coordinates(replica, 0)) for replica in range(chips)]
    for one, other in zip(starts, [*starts[1:], starts[0]], strict=True):
        assert np.abs(one - other).sum() == 1


def test_a_topology_survives_its_serialized_form():
    topology = mesh_of(2, 2, 2, 2)
    again = Topology(serialized=topology.serialized())
    np.testing.assert_array_equal(again.device_coordinates, topology.device_coordinates)
    np.testing.assert_array_equal(again.mesh_shape, topology.mesh_shape)


def test_a_mesh_with_holes_is_assigned_in_the_order_of_tasks():
    holed = Topology(mesh_shape=[2, 1, 1, 2], device_coordinates=[[[0, 0, 0, 0], [1, 0, 0, 1]]])
    assert holed.missing_devices.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    built = DeviceAssignment.build(holed, num_replicas=2)
    assert built.core_assignment.tolist() == [[[0, 0, 0, 0]], [[1, 0, 0, 1]]]


def test_a_ring_must_be_possible():
    with pytest.raises(ValueError, match="RING"):
        DeviceAssignment.build(mesh_of(2, 2, 1, 2), device_order_mode=DeviceOrderMode.RING)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"computation_shape": [1, 2]}, "computation_shape"),
        ({"computation_stride": [0, 1, 1, 1]}, "computation_stride"),
        ({"computation_shape": [4, 1, 1, 1]}, "does not fit"),
        ({"num_replicas": 9}, "9 replicas"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_numbers(options, said):
    with pytest.raises(ValueError, match=said):
        DeviceAssignment.build(mesh_of(2, 2, 1, 2), **options)
