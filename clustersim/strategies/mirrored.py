"""`MirroredStrategy`: one replica on each of several devices of this process.

How its replicas run is in `turns`, how their values combine in `replicated`; here is which devices they
are on, and what TensorFlow combines on the host.

Source: tensorflow/python/distribute/mirrored_strategy.py, 2.21; cases `mirrored_*`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clustersim.devices.current import canonicalize, list_logical_devices
from clustersim.devices.machine import LogicalDevice
from clustersim.devices.spec import DeviceSpec
from clustersim.strategies.base import Strategy
from clustersim.strategies.turns import InTurnExtended
from clustersim.values.dtypes import as_dtype
from clustersim.values.per_replica import DistributedValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clustersim.collectives.schedule import ReduceOp
    from clustersim.strategies.options import CommunicationOptions, CrossDeviceOps
    from clustersim.strategies.replica_context import ReplicaContext


class MirroredExtended(InTurnExtended):
    """The replicas of one process, some of whose values TensorFlow combines on the host."""

    def all_reduce_leaves(
        self,
        context: ReplicaContext,
        op: ReduceOp,
        leaves: list[Any],
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Reduces all leaves over all replicas.

        Raises:
            ValueError: Some leaves are int32, which goes through the host, and some are not.
        """
        self._check_one_way([_dtype_name(leaf) for leaf in leaves])
        return super().all_reduce_leaves(context, op, leaves, options=options)

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: CommunicationOptions | None = None,
    ) -> list[Any]:
        """Returns `reduce_to` of each pair. Raises as `all_reduce_leaves`."""
        self._check_one_way([_dtype_name(value) for value, _ in value_destination_pairs])
        return super().batch_reduce_to(reduce_op, value_destination_pairs, options)

    @staticmethod
    def _check_one_way(names: Sequence[str]) -> None:
        if "int32" in names and set(names) != {"int32"}:
            raise ValueError(
                "Inputs must be either all on the host or all on the compute devices: int32 is"
                f" combined on the host, the other types are not, and these are {list(names)}."
                " Reduce them in two calls, or cast the int32."
            )


def _dtype_name(leaf: Any) -> str:
    parts = leaf.values if isinstance(leaf, DistributedValues) else (leaf,)
    name: str = as_dtype(parts[0].dtype).name
    return name


class MirroredStrategy(Strategy):
    """The same variables on several devices of this process, kept equal.

    Args:
        devices: Their names. Default: all GPUs, else all CPUs that the process has.
        cross_device_ops: Accepted; every way to combine gives the same numbers here.

    TF_CONFIG is ignored: this strategy is about one process.

    Raises:
        ValueError: A name cannot be understood, or names mix this process with others.
        AssertionError: A device is named twice.
        RuntimeError: The devices belong to several tasks.
    """

    def __init__(
        self,
        devices: Sequence[str | LogicalDevice] | None = None,
        cross_device_ops: CrossDeviceOps | None = None,
    ) -> None:
        self._cross_device_ops = cross_device_ops
        names = _canonical(devices) if devices else all_local_devices()
        super().__init__(MirroredExtended(names))


def all_local_devices() -> tuple[str, ...]:
    """Returns the full names of all GPUs of this process, else of all its CPUs."""
    found = list_logical_devices("GPU") or list_logical_devices("CPU")
    return tuple(canonicalize(device) for device in found)


def _canonical(devices: Sequence[str | LogicalDevice]) -> tuple[str, ...]:
    specs = [
        DeviceSpec.from_string(each.name if isinstance(each, LogicalDevice) else each)
        for each in devices
    ]
    is_local = [spec.job in {None, "localhost"} for spec in specs]
    if any(is_local) and not all(is_local):
        raise ValueError(
            f"devices mixes this process's with other jobs': {list(devices)!r}. Name the devices of"
            " one process, without their job."
        )
    if len({(spec.job, spec.replica, spec.task) for spec in specs}) > 1:
        raise RuntimeError(
            f"devices names several tasks: {list(devices)!r}. MirroredStrategy is about one process;"
            " use MultiWorkerMirroredStrategy for several."
        )
    if any(spec.job not in {None, "localhost"} and spec.task is None for spec in specs):
        raise ValueError(
            f"devices names another job without a task: {list(devices)!r}. Write for example"
            " '/job:worker/task:0/cpu:0'."
        )
    names = tuple(canonicalize(each) for each in devices)
    if len(set(names)) != len(names):
        raise AssertionError(
            f"No duplicates allowed in `devices`: {list(names)!r}. Name each device once."
        )
    return names
