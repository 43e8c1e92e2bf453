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

Source: tensorflow/python/distribute/tpu_strategy.py, tpu/tpu_strategy_util.py, 2.21.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from clustersim import errors
from clustersim.cluster.resolvers import ClusterResolver
from clustersim.cluster.spec import ClusterSpec
from clustersim.devices.current import MACHINE, canonicalize
from clustersim.devices.topology import DeviceAssignment, Topology
from clustersim.strategies.base import Strategy
from clustersim.strategies.logical_devices import LogicalDevices
from clustersim.strategies.turns import InTurnExtended
from clustersim.values.function import Function, is_in_function

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
        super().__init__(
            tuple(self.device_of(replica, 0) for replica in range(assignment.num_replicas)),
            cluster_resolver=resolver,
        )
        self.logical_devices = LogicalDevices(
            assignment.num_cores_per_replica, self.device_of, is_spmd=is_spmd
        )

    def device_of(self, replica: int, logical_device: int) -> str:
        """Returns the full name of a replica's logical device."""
        ordinal = self.assignment.tpu_ordinal(replica, logical_device)
        return canonicalize(f"/device:TPU:{ordinal}")


class TPUStrategy(Strategy):
    """The same variables on several replicas, each of one or more TPU cores.

    Args:
        tpu_cluster_resolver: Which TPUs. Default: those of this process.
        experimental_device_assignment: Which cores each replica uses. Default: one core each.
        experimental_spmd_xla_partitioning: Whether pieces are one program's.
    """

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
