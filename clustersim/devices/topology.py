"""TPU topologies and assignments: which task's which core lies where, and which replica uses it.

    Topology           a mesh of cores (x, y, z, core) and who holds which: [task, device] -> place
    DeviceAssignment   [replica, logical core] -> place

All of it is arithmetic; no TPU is needed. Replicas are packed into the mesh as TensorFlow does it:

    the computation fills whole chips, has no stride, and as many replicas as fit are asked for
                 replicas, and chips within a replica, follow a ring of neighbours
    else         replicas fill a block as close to a cube as can be, cores of one chip first

Source: tensorflow/python/tpu/topology.py and device_assignment.py, 2.21; cases `tpu_01`, `tpu_02`.
"""

import enum
import itertools
import logging
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_log = logging.getLogger(__name__)

_RANK = 4
"""A place is x, y, z and the core of the chip."""

Ints: TypeAlias = npt.NDArray[np.int32]
IntsLike: TypeAlias = Sequence[int] | npt.NDArray[Any] | None


class Topology:
    """A mesh of TPU cores, and which task's which device each of them is.

    Args:
        serialized: What `serialized()` of another returned; the rest is then ignored.
        mesh_shape: `[4] int`: how many places there are along x, y, z and core.
        device_coordinates: `[tasks, devices per task, 4] int`: where each device lies.

    Raises:
        ValueError: The mesh has not four positive sizes, or the coordinates' shape is another.
    """

    def __init__(
        self,
        serialized: bytes | None = None,
        mesh_shape: IntsLike = None,
        device_coordinates: object = None,
    ) -> None:
        if serialized:
            mesh_shape, device_coordinates = _parsed(serialized)
        mesh, places = _ints(mesh_shape), _ints(device_coordinates)
        if mesh.shape != (_RANK,) or (mesh < 1).any():
            raise ValueError(
                f"`mesh_shape` must be 4 positive numbers (x, y, z, cores), not {mesh_shape!r}."
            )
        if places.ndim != 3 or places.shape[2] != _RANK:
            raise ValueError(
                "`device_coordinates` must have shape [tasks, devices per task, 4], not"
                f" {list(places.shape)}."
            )
        self._mesh_shape, self._device_coordinates = mesh, places
        self._tasks = np.full(mesh, -1, dtype=np.int32)
        self._ordinals = np.full(mesh, -1, dtype=np.int32)
        for task, device in np.ndindex(*places.shape[:2]):
            place = tuple(places[task, device])
            self._tasks[place], self._ordinals[place] = task, device

    @property
    def mesh_shape(self) -> Ints:
        """`[4] int32`: the sizes along x, y, z and core."""
        return self._mesh_shape

    @property
    def mesh_rank(self) -> int:
        """How many axes the mesh has: 4."""
        return len(self._mesh_shape)

    @property
    def device_coordinates(self) -> Ints:
        """`[tasks, devices per task, 4] int32`: where each device lies."""
        return self._device_coordinates

    @property
    def missing_devices(self) -> npt.NDArray[np.int64]:
        """`[n, 4] int64`: the places that no task holds."""
        return np.argwhere(self._tasks < 0)

    @property
    def num_tasks(self) -> int:
        """How many tasks hold cores."""
        return int(self._device_coordinates.shape[0])

    @property
    def num_tpus_per_task(self) -> int:
        """How many cores each task holds."""
        return int(self._device_coordinates.shape[1])

    def task_ordinal_at_coordinates(self, device_coordinates: Sequence[int] | Ints) -> int:
        """Returns which task holds the core at a place."""
        return int(self._tasks[tuple(device_coordinates)])

    def tpu_device_ordinal_at_coordinates(self, device_coordinates: Sequence[int]) -> int:
        """Returns which of its task's devices the core at a place is."""
        return int(self._ordinals[tuple(device_coordinates)])

    def cpu_device_name_at_coordinates(
        self, device_coordinates: Sequence[int], job: str | None = None
    ) -> str:
        """Returns the name of the CPU beside the core at a place."""
        task = self.task_ordinal_at_coordinates(device_coordinates)
        return f"{_job_part(job)}/task:{task}/device:CPU:0"

    def tpu_device_name_at_coordinates(
        self, device_coordinates: Sequence[int], job: str | None = None
    ) -> str:
        """Returns the device name of the core at a place."""
        task = self.task_ordinal_at_coordinates(device_coordinates)
        device = self.tpu_device_ordinal_at_coordinates(device_coordinates)
        return f"{_job_part(job)}/task:{task}/device:TPU:{device}"

    def serialized(self) -> bytes:
        """Returns TensorFlow's TopologyProto of this topology."""
        return b"".join(
            (
                _numbers_field(1, self._mesh_shape),
                _number_field(2, self.num_tasks),
                _number_field(3, self.num_tpus_per_task),
                _numbers_field(4, self._device_coordinates.reshape(-1)),
            )
        )


class DeviceOrderMode(enum.IntEnum):
    """In which order cores are assigned."""

    AUTO = 0
    RING = 1
    MESH = 2


class DeviceAssignment:
    """Which core each logical core of each replica is.

    Args:
        topology: The mesh.
        core_assignment: `[replicas, cores per replica, 4] int`: the place of each.

    Raises:
        ValueError: It is no topology, or the shape is another.
    """

    def __init__(self, topology: Topology, core_assignment: object) -> None:
        _check_topology(topology)
        places = _ints(core_assignment)
        if places.ndim != 3 or places.shape[2] != topology.mesh_rank:
            raise ValueError(
                "`core_assignment` must have shape [replicas, cores per replica,"
                f" {topology.mesh_rank}], not {list(places.shape)}."
            )
        self._topology, self._core_assignment = topology, places
        self._replicas: dict[tuple[int, int], list[int]] = defaultdict(list)
        for replica, core in np.ndindex(*places.shape[:2]):
            task = topology.task_ordinal_at_coordinates(places[replica, core])
            self._replicas[task, core].append(replica)

    @classmethod
    def build(
        cls,
        topology: Topology | bytes,
        computation_shape: IntsLike = None,
        computation_stride: IntsLike = None,
        num_replicas: int = 1,
        device_order_mode: DeviceOrderMode = DeviceOrderMode.AUTO,
    ) -> "DeviceAssignment":
        """Packs replicas into a topology.

        Args:
            topology: The mesh, or its serialized form.
            computation_shape: `[4] int`: the block of cores of one replica. Default: one core.
            computation_stride: `[4] int`: how far apart its cores lie. Default: side by side.
            num_replicas: How many.
            device_order_mode: Whether cores must follow a ring, or a mesh.

        Raises:
            ValueError: A shape is wrong, or the replicas do not fit.
        """
        mesh = Topology(serialized=topology) if isinstance(topology, bytes) else topology
        _check_topology(mesh)
        shape = _positive(computation_shape, "computation_shape")
        stride = _positive(computation_stride, "computation_stride")
        counts = _counts(mesh.mesh_shape, shape, stride)
        if num_replicas > counts.prod():
            raise ValueError(
                f"{num_replicas} replicas of shape {shape} and stride {stride} do not fit in a mesh"
                f" of shape {mesh.mesh_shape}: it holds {counts.prod()}. Ask for fewer, or for"
                " smaller ones."
            )
        if mesh.missing_devices.size:
            return cls(mesh, _in_task_order(mesh, int(shape.prod()), num_replicas, stride))
        block = _block(num_replicas, [int(count) for count in counts])
        is_whole = bool(
            shape[-1] == mesh.mesh_shape[-1]
            and stride.prod() == 1
            and num_replicas == counts.prod()
        )
        if device_order_mode is DeviceOrderMode.RING and not is_whole:
            raise ValueError(
                "device_order_mode RING needs whole chips, no stride and as many replicas as fit"
                f" ({counts.prod()}). Use AUTO."
            )
        if is_whole and device_order_mode is not DeviceOrderMode.MESH:
            return cls(mesh, _in_rings(shape, block, num_replicas, int(mesh.mesh_shape[-1])))
        return cls(mesh, _in_blocks(shape, stride, block, num_replicas))

    @property
    def topology(self) -> Topology:
        """The mesh."""
        return self._topology

    @property
    def num_replicas(self) -> int:
        """How many replicas there are."""
        return int(self._core_assignment.shape[0])

    @property
    def num_cores_per_replica(self) -> int:
        """How many logical cores, also called logical devices, a replica has."""
        return int(self._core_assignment.shape[1])

    @property
    def core_assignment(self) -> Ints:
        """`[replicas, cores per replica, 4] int32`: the place of each."""
        return self._core_assignment

    def coordinates(self, replica: int, logical_core: int) -> tuple[int, ...]:
        """Returns the place of a replica's logical core."""
        return tuple(self._core_assignment[replica, logical_core])

    def lookup_replicas(self, task_id: int, logical_core: int) -> list[int]:
        """Returns the replicas whose logical core is in a task, sorted.

        Raises:
            ValueError: There are none.
        """
        found = self._replicas.get((task_id, logical_core))
        if found is None:
            raise ValueError(
                f"No replica has its logical core {logical_core} in task {task_id}. The topology has"
                f" {self._topology.num_tasks} tasks, a replica"
                f" {self.num_cores_per_replica} logical cores."
            )
        return found

    def tpu_ordinal(self, replica: int = 0, logical_core: int = 0) -> int:
        """Returns which of its task's devices a logical core is."""
        return self._topology.tpu_device_ordinal_at_coordinates(
            self.coordinates(replica, logical_core)
        )

    def host_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """Returns the name of the CPU beside a logical core."""
        return self._topology.cpu_device_name_at_coordinates(
            self.coordinates(replica, logical_core), job=job
        )

    def tpu_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        """Returns the device name of a logical core."""
        return self._topology.tpu_device_name_at_coordinates(
            self.coordinates(replica, logical_core), job=job
        )


def _job_part(job: str | None) -> str:
    return "" if job is None else f"/job:{job}"


def _ints(values: object) -> Ints:
    return np.asarray(values, dtype=np.int32)


def _check_topology(topology: object) -> None:
    if not isinstance(topology, Topology):
        raise ValueError(  # noqa: TRY004  # TensorFlow's error
            f"`topology` must be a Topology, not {topology!r}. tf.tpu.experimental."
            "initialize_tpu_system returns one."
        )


def _positive(values: IntsLike, name: str) -> Ints:
    array = _ints([1] * _RANK if values is None else values)
    if array.shape != (_RANK,) or (array < 1).any():
        raise ValueError(f"`{name}` must be {_RANK} positive numbers, not {values!r}.")
    return array


def _counts(mesh_shape: Ints, shape: Ints, stride: Ints) -> Ints:
    """Returns how many replicas fit along each axis.

    Raises:
        ValueError: Not even one does.
    """
    footprint = shape * stride
    if (footprint > mesh_shape).any():
        raise ValueError(
            f"A replica of shape {shape} and stride {stride} takes {footprint} and does not fit in a"
            f" mesh of shape {mesh_shape}."
        )
    return (mesh_shape // footprint) * stride


def _block(num_replicas: int, counts: list[int]) -> list[int]:
    """Returns how many replicas to lay along each axis: as close to a cube as can be.

    The axis that holds the fewest is filled first; among equals the core axis, then x, y, z.
    """
    block = [0] * _RANK
    if num_replicas < 1:
        return block
    remaining = num_replicas
    order = sorted(range(_RANK), key=lambda axis: (counts[axis], (axis + 1) % _RANK))
    for num_done, axis in enumerate(order):
        target = math.ceil(remaining ** (1.0 / (_RANK - num_done)))
        block[axis] = min(target, counts[axis])
        remaining = -(-remaining // block[axis])
    return block


def _in_blocks(shape: Ints, stride: Ints, block: list[int], num_replicas: int) -> Ints:
    """Returns the places of replicas that fill a block, the core axis fastest, then x, y, z."""
    sizes = [block[-1], *block[:-1]]
    cores = np.stack(
        np.meshgrid(*(np.arange(n) * s for n, s in zip(shape, stride, strict=True)), indexing="ij"),
        axis=-1,
    ).reshape(-1, _RANK)
    replicas = []
    for replica in range(num_replicas):
        core, x, y, z = (int(i) for i in np.unravel_index(replica, sizes, order="F"))
        position = _ints([x, y, z, core])
        offset = position // stride * (shape * stride) + position % stride
        replicas.append(cores + offset)
    return _ints(replicas).reshape(num_replicas, len(cores), _RANK)


def _in_rings(shape: Ints, block: list[int], num_replicas: int, num_cores: int) -> Ints:
    """Returns the places of replicas, and of the chips of each, that follow a ring."""
    inner = _ring(*(int(size) for size in shape[:3]))
    outer = _ring(*block[:3])
    return _ints(
        [
            [
                [*(o * int(n) + i for o, n, i in zip(start, shape, chip, strict=False)), core]
                for chip in inner
                for core in range(num_cores)
            ]
            for start in outer[:num_replicas]
        ]
    )


def _in_task_order(topology: Topology, num_cores: int, num_replicas: int, stride: Ints) -> Ints:
    """Returns places for a mesh with holes: the cores that are there, in the order of tasks."""
    places = topology.device_coordinates.reshape(-1, _RANK)
    if stride.prod() != 1 or num_replicas * num_cores > len(places):
        raise AssertionError(
            f"A mesh with missing devices takes no stride and {len(places)} cores at most, not"
            f" {num_replicas} replicas of {num_cores} with stride {stride}."
        )
    return places[: num_replicas * num_cores].reshape(num_replicas, num_cores, _RANK)


def _ring(x_size: int, y_size: int, z_size: int) -> list[tuple[int, int, int]]:
    """Returns all chips of a mesh in an order in which neighbours follow each other.

    Layers along z are walked in turn, each without its corner (0, 0); the corners lead back.
    """
    sizes = (x_size, y_size, z_size)
    large = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(large) <= 1:
        return list(itertools.product(range(x_size), range(y_size), range(z_size)))
    if any(sizes[axis] % 2 for axis in large):
        _log.warning("A mesh of %s has an odd dimension: its chips form no ring.", sizes)
        return [(x, y, z) for z, y, x in itertools.product(*map(range, reversed(sizes)))]
    if len(large) == 2:
        first, second = large
        flat = [(0, 0), *_open_ring(sizes[first], sizes[second])]
        return [_placed(first, a, second, b) for a, b in flat]
    ring = [(0, 0, 0)]
    layer = list(_open_ring(x_size, y_size))
    for z in range(z_size):
        ring += [(x, y, z) for x, y in (layer if z % 2 == 0 else reversed(layer))]
    return ring + [(0, 0, z) for z in range(z_size - 1, 0, -1)]


def _placed(first: int, a: int, second: int, b: int) -> tuple[int, int, int]:
    place = [0, 0, 0]
    place[first], place[second] = a, b
    return place[0], place[1], place[2]


def _open_ring(width: int, height: int) -> Iterator[tuple[int, int]]:
    """Yields the places of a ring around a `width` x `height` mesh, without (0, 0)."""
    for row in range(height):
        there = range(1, width)
        yield from ((x, row) for x in (there if row % 2 == 0 else reversed(there)))
    yield from ((0, y) for y in range(height - 1, 0, -1))


# -- TopologyProto: four fields of numbers, written by hand so that no protobuf is needed here --------


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _number_field(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _numbers_field(field: int, numbers: Ints) -> bytes:
    packed = b"".join(_varint(int(number)) for number in numbers)
    return _varint(field << 3 | 2) + _varint(len(packed)) + packed


def _varints(data: bytes) -> Iterator[tuple[int, int]]:
    """Yields each number and where it ends."""
    number = shift = 0
    for position, byte in enumerate(data):
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield number, position + 1
            number = shift = 0


def _parsed(serialized: bytes) -> tuple[list[int], npt.NDArray[Any]]:
    """Returns the mesh's shape and the coordinates of a TopologyProto.

    Raises:
        ValueError: It is none.
    """
    fields: dict[int, list[int]] = {}
    rest = serialized
    while rest:
        (tag, tag_end), (value, end) = itertools.islice(_varints(rest), 2)
        del tag_end
        if tag & 7 == 2:
            fields[tag >> 3] = [number for number, _ in _varints(rest[end : end + value])]
            end += value
        else:
            fields[tag >> 3] = [value]
        rest = rest[end:]
    places = np.array(fields.get(4, []))
    shape = (*fields.get(2, [0]), *fields.get(3, [0]), _RANK)
    if places.size != math.prod(shape):
        raise ValueError(
            f"The serialized topology has {places.size} coordinates, expected shape {shape}."
        )
    return fields.get(1, []), places.reshape(shape)
