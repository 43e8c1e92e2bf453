"""`TPUStrategy` on a simulated mesh: replicas of several logical devices, and what lies on which.

    resolver = TPUClusterResolver(tpu="")          names the TPUs that this process simulates
    experimental_connect_to_cluster(resolver)      nothing to do for one's own process
    topology = initialize_tpu_system(resolver)     the mesh; from now on its cores are devices
    assignment = DeviceAssignment.build(topology, computation_shape=[1, 1, 1, 2], num_replicas=4)
    strategy = TPUStrategy(resolver, experimental_device_assignment=assignment)

Replicas run as `MirroredStrategy`'s do, each on its logical device 0. The three logical-device calls
are annotations: values stay as they are, and `strategy.extended.placement(tensor)` says which logical
device would hold which slice, which TensorFlow cannot show.

How many cores there are: CLUSTERSIM_DEVICES=tpu:8, else 16 in a mesh of [2, 2, 2, 2].

Source: tensorflow/python/distribute/tpu_strategy.py, tpu/tpu_strategy_util.py and
compiler/xla/experimental/xla_sharding.py, 2.21.
"""

from __future__ import annotations

import itertools
import math
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clustersim import errors
from clustersim.cluster.resolvers import ClusterResolver
from clustersim.cluster.spec import ClusterSpec
from clustersim.devices.simulated import MACHINE, canonicalize
from clustersim.devices.topology import DeviceAssignment, Topology
from clustersim.strategies.base import Strategy
from clustersim.strategies.mirrored import InTurnExtended
from clustersim.values import nest, scope
from clustersim.values.function import Function, is_in_function
from clustersim.values.per_replica import DistributedValues
from clustersim.values.tensor import Operators, Tensor, apply, convert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LOCAL = frozenset({"", "local"})


class TPUClusterResolver(ClusterResolver):
    """Names the TPUs of this process.

    Args:
        tpu: "" or "local": there are no others here.
        zone: Accepted, and without effect; so are the other arguments.

    Raises:
        ValueError: `tpu` names a TPU elsewhere.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # TensorFlow's signature
        self,
        tpu: str | None = None,
        zone: str | None = None,  # noqa: ARG002
        project: str | None = None,  # noqa: ARG002
        job_name: str = "worker",
        coordinator_name: str | None = None,  # noqa: ARG002
        coordinator_address: str | None = None,  # noqa: ARG002
        credentials: object = "default",  # noqa: ARG002
        service: object = None,  # noqa: ARG002
        discovery_url: str | None = None,  # noqa: ARG002
    ) -> None:
        name = "" if tpu is None else tpu
        if name not in _LOCAL:
            raise ValueError(
                f"tpu is {tpu!r}, but TPUs are simulated in this process only. Write tpu=''."
            )
        self.task_type = job_name
        self.task_id = 0

    def cluster_spec(self) -> ClusterSpec:
        """Returns an empty map: no other task holds TPUs."""
        return ClusterSpec({})

    def master(
        self,
        task_type: str | None = None,  # noqa: ARG002  # TensorFlow's signature
        task_id: int | None = None,  # noqa: ARG002
        rpc_layer: str | None = None,  # noqa: ARG002
    ) -> str:
        """Returns ''."""
        return ""

    def num_accelerators(
        self,
        task_type: str | None = None,  # noqa: ARG002  # TensorFlow's signature
        task_id: int | None = None,  # noqa: ARG002
        config_proto: object = None,  # noqa: ARG002
    ) -> dict[str, int]:
        """Returns how many cores there are."""
        return {"TPU": math.prod(MACHINE.tpu_mesh())}


def connect_to_cluster(cluster_spec_or_resolver: object, **options: object) -> None:
    """Does what `tf.config.experimental_connect_to_cluster` does for one's own process: nothing."""
    del cluster_spec_or_resolver, options


def initialize_tpu_system(cluster_resolver: ClusterResolver | None = None) -> Topology:
    """Makes the cores devices of this process; returns their mesh.

    Raises:
        NotFoundError: CLUSTERSIM_DEVICES names devices, but no TPU.
    """
    del cluster_resolver
    mesh = MACHINE.tpu_mesh()
    if not mesh:
        raise errors.NotFoundError(
            "There is no TPU: CLUSTERSIM_DEVICES names other devices only. Add tpu:8 to it, or unset"
            " it."
        )
    MACHINE.start_tpus()
    x_size, y_size, z_size, num_cores = mesh
    places = itertools.product(range(z_size), range(y_size), range(x_size), range(num_cores))
    coordinates = np.array([[x, y, z, core] for z, y, x, core in places])
    return Topology(mesh_shape=mesh, device_coordinates=coordinates[np.newaxis])


def shutdown_tpu_system(cluster_resolver: ClusterResolver | None = None) -> None:
    """Does nothing: simulated cores hold nothing that must be given back."""
    del cluster_resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """What one logical device holds of a tensor."""

    replica: int
    logical_device: int
    device: str
    slices: tuple[slice, ...]
    """Its part of the tensor, one slice for each dimension."""
    value: Tensor

    def __str__(self) -> str:
        part = ", ".join(f"{one.start}:{one.stop}" for one in self.slices)
        return f"replica {self.replica}, logical device {self.logical_device} ({self.device}): [{part}]"


class Placement(tuple[Shard, ...]):
    """Where a tensor lies: one shard for each logical device that holds some of it."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))


@dataclass(frozen=True, slots=True)
class _Annotation:
    """How a tensor is laid over the logical devices of its replica."""

    logical_devices: tuple[int, ...]
    splits: tuple[int, ...] | None
    """Into how many pieces each dimension is cut; None: each device holds all."""
    replica: int


class TPUExtended(InTurnExtended):
    """Replicas of several logical devices each.

    Args:
        resolver: What the strategy was made from.
        assignment: Which core each logical core of each replica is.
        is_spmd: Whether pieces are one program's, so that nothing can be put on one device.
    """

    def __init__(
        self, resolver: ClusterResolver, assignment: DeviceAssignment, *, is_spmd: bool
    ) -> None:
        self.assignment = assignment
        self.is_spmd = is_spmd
        self._annotations: dict[int, tuple[weakref.ref[Tensor], _Annotation]] = {}
        super().__init__(
            tuple(self.device_of(replica, 0) for replica in range(assignment.num_replicas)),
            cluster_resolver=resolver,
        )

    @property
    def num_logical_devices(self) -> int:
        """How many logical devices a replica has."""
        return self.assignment.num_cores_per_replica

    def device_of(self, replica: int, logical_device: int) -> str:
        """Returns the full name of a replica's logical device."""
        ordinal = self.assignment.tpu_ordinal(replica, logical_device)
        return canonicalize(f"/device:TPU:{ordinal}")

    def annotated(
        self, tensor: Any, logical_devices: Sequence[int], splits: Sequence[int] | None = None
    ) -> Tensor:
        """Returns the same value as a tensor of its own, for which `placement` knows where it lies."""
        made = apply(lambda array: array, convert(tensor))
        mode = scope.current()
        replica = 0 if mode is None or mode.replica is None else mode.replica.local_index
        annotation = _Annotation(
            tuple(logical_devices), None if splits is None else tuple(splits), replica
        )
        key = id(made)
        forget = weakref.ref(made, lambda _: self._annotations.pop(key, None))
        self._annotations[key] = forget, annotation
        return made

    def placement(self, tensor: Any) -> Placement:
        """Returns which logical device holds which slice of a tensor, or of each replica's.

        A tensor that no logical-device call returned lies on logical device 0 of its replica.
        """
        if isinstance(tensor, DistributedValues):
            shards = [self._shards(part, index) for index, part in enumerate(tensor.values)]
            return Placement(itertools.chain.from_iterable(shards))
        return Placement(self._shards(convert(tensor), None))

    def _shards(self, value: Any, replica: int | None) -> list[Shard]:
        tensor = convert(value)
        reference, annotation = self._annotations.get(id(tensor), (None, None))
        if annotation is None or reference is None or reference() is not tensor:
            annotation = _Annotation((0,), None, replica or 0)
        shape = [int(dim or 0) for dim in tensor.shape]
        splits = annotation.splits
        whole = tuple(slice(0, size) for size in shape)
        shards = []
        for position, logical_device in enumerate(annotation.logical_devices):
            part = whole if splits is None else _piece(shape, splits, position)
            shards.append(
                Shard(
                    replica=annotation.replica,
                    logical_device=logical_device,
                    device=self.device_of(annotation.replica, logical_device),
                    slices=part,
                    value=tensor if splits is None else tensor[part],
                )
            )
        return shards


def _piece(shape: Sequence[int], splits: Sequence[int], position: int) -> tuple[slice, ...]:
    """Returns which slice piece number `position` is; pieces are counted row by row."""
    indices = np.unravel_index(position, splits)
    sizes = [size // count for size, count in zip(shape, splits, strict=True)]
    return tuple(
        slice(int(index) * size, (int(index) + 1) * size)
        for index, size in zip(indices, sizes, strict=True)
    )


class TPUStrategy(Strategy):
    """The same variables on several replicas, each of one or more TPU cores.

    Args:
        tpu_cluster_resolver: Which TPUs. Default: those of this process.
        experimental_device_assignment: Which cores each replica uses. Default: one core each.
        experimental_spmd_xla_partitioning: Whether pieces are one program's.
    """

    _extended: TPUExtended

    def __init__(
        self,
        tpu_cluster_resolver: ClusterResolver | None = None,
        experimental_device_assignment: DeviceAssignment | None = None,
        experimental_spmd_xla_partitioning: bool = False,  # noqa: FBT001, FBT002  # TensorFlow's
    ) -> None:
        resolver = tpu_cluster_resolver or TPUClusterResolver("")
        assignment = experimental_device_assignment
        if assignment is None:
            topology = initialize_tpu_system(resolver)
            cores = topology.device_coordinates.reshape(-1, 1, topology.mesh_rank)
            assignment = DeviceAssignment(topology, cores)
        super().__init__(
            TPUExtended(resolver, assignment, is_spmd=bool(experimental_spmd_xla_partitioning))
        )

    @property
    def extended(self) -> TPUExtended:
        """The half with the less common calls, and `placement`."""
        return self._extended

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: object = None,
    ) -> Any:
        """Calls a `tf.function` on each replica. See `Strategy.run`.

        Raises:
            NotImplementedError: `fn` is a plain function, and this is no `tf.function` either.
        """
        kinds = (vars(kind).get("__call__") for kind in type(fn).__mro__)
        is_function = isinstance(fn, Function) or any(isinstance(k, Function) for k in kinds)
        if not is_function and not is_in_function():
            raise NotImplementedError(
                "TPUStrategy.run(fn, ...) does not support pure eager execution, and"
                f" {fn!r} is a plain function. Decorate it with @tf.function."
            )
        return super().run(fn, args, kwargs, options)

    def experimental_assign_to_logical_device(self, tensor: Any, logical_device_id: int) -> Tensor:
        """Returns `tensor`, annotated to lie on one logical device of its replica.

        Raises:
            ValueError: There is no such logical device, or the strategy is in SPMD mode.
        """
        if self._extended.is_spmd:
            raise ValueError(
                "Cannot assign a tensor to a logical device in SPMD mode. Make the TPUStrategy with"
                " experimental_spmd_xla_partitioning=False."
            )
        count = self._extended.num_logical_devices
        if not 0 <= logical_device_id < count:
            raise ValueError(
                f"logical_device_id is {logical_device_id}, but a replica has {count} logical"
                f" devices (0..{count - 1})."
            )
        return self._extended.annotated(tensor, [logical_device_id])

    def experimental_split_to_logical_devices(
        self, tensor: Any, partition_dimensions: Sequence[int]
    ) -> Tensor:
        """Returns `tensor`, annotated to be cut into one piece for each logical device.

        Args:
            tensor: What is cut.
            partition_dimensions: Into how many pieces each dimension is cut.

        Raises:
            ValueError: There is not one number for each dimension, a dimension cannot be cut evenly,
                or the pieces are not as many as the logical devices.
        """
        count, num_pieces = self._extended.num_logical_devices, math.prod(partition_dimensions)
        pieces = (
            f"partition_dimensions {list(partition_dimensions)} makes {num_pieces} pieces, and a"
            f" replica has {count} logical devices"
        )
        if nest.is_nested(tensor) or not isinstance(tensor, Operators):
            raise ValueError(
                f"Only one tensor can be split, not a {type(tensor).__name__}: pass, for example,"
                f" `images` of (images, labels). Besides, {pieces}; both must be the same."
                if num_pieces != count
                else f"Only one tensor can be split, not a {type(tensor).__name__}: pass, for"
                " example, `images` of (images, labels)."
            )
        shape = convert(tensor).shape
        if len(shape) != len(partition_dimensions):
            raise ValueError(
                f"partition_dimensions {list(partition_dimensions)} has"
                f" {len(partition_dimensions)} numbers, but the tensor's shape {shape} has"
                f" {len(shape)} dimensions. Give one number for each."
            )
        for axis, (size, split) in enumerate(zip(shape, partition_dimensions, strict=True)):
            if size is not None and size % split != 0:
                raise ValueError(
                    f"Dimension {axis} of shape {shape} is {size}, which cannot be cut into {split}"
                    " equal pieces. Choose a divisor."
                )
        if num_pieces != count:
            raise ValueError(f"There must be one piece for each logical device: {pieces}.")
        return self._extended.annotated(tensor, range(count), partition_dimensions)

    def experimental_replicate_to_logical_devices(self, tensor: Any) -> Tensor:
        """Returns `tensor`, annotated to lie on every logical device of its replica."""
        return self._extended.annotated(tensor, range(self._extended.num_logical_devices))
