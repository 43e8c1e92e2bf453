"""What the code of one replica sees of its strategy, inside `Strategy.run`.

Source: tensorflow/python/distribute/distribute_lib.py (ReplicaContext, ValueContext), 2.21; cases
`one_03`, `one_04`, `one_10`, `mirrored_09`, `mirrored_10`, `mw_07`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from clustersim.collectives.schedule import ReduceOp
from clustersim.strategies.options import CommunicationOptions
from clustersim.strategies.scope import require_replica
from clustersim.values import nest
from clustersim.values.array_ops import constant
from clustersim.values.tensor import Tensor


class Replicas(Protocol):
    """What a replica asks of the half of its strategy that differs between kinds."""

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The local replicas' devices."""
        ...

    def merge_call(
        self,
        context: "ReplicaContext",
        merge_fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> Any:
        """Calls a function once for all replicas."""
        ...

    def all_reduce_leaves(
        self,
        context: "ReplicaContext",
        op: ReduceOp,
        leaves: list[Any],
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Reduces tensors over all replicas."""
        ...

    def all_gather_leaves(
        self,
        context: "ReplicaContext",
        leaves: list[Any],
        axis: int,
        *,
        options: CommunicationOptions | None,
    ) -> list[Any]:
        """Joins tensors of all replicas."""
        ...


class OfReplicas(Protocol):
    """A strategy, as a replica sees it."""

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        ...

    @property
    def extended(self) -> Replicas:
        """The half that differs between kinds."""
        ...


class ReplicaContext:
    """One replica of a strategy.

    Args:
        strategy: Its strategy.
        replica_id: Which of all replicas it is.
        local_index: Which of this process's replicas it is.
    """

    def __init__(self, strategy: OfReplicas, replica_id: int, local_index: int) -> None:
        self._strategy = strategy
        self._replica_id = replica_id
        self._local_index = local_index

    @property
    def strategy(self) -> Any:
        """The strategy."""
        return self._strategy

    @property
    def local_index(self) -> int:
        """Which of this process's replicas it is, from 0."""
        return self._local_index

    @property
    def replica_id_in_sync_group(self) -> Tensor | int:
        """Which of all replicas it is: an int32 tensor on this replica's device."""
        return constant(self._replica_id)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def devices(self) -> Sequence[Any]:
        """The name of this replica's device.

        Raises:
            RuntimeError: This context is not the current one.
        """
        require_replica(self)
        return (self._strategy.extended.worker_devices[self._local_index],)

    def merge_call(
        self,
        merge_fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Returns what `merge_fn(strategy, *args, **kwargs)` returns, called once for all replicas.

        It runs in cross-replica context; arguments arrive as per-replica values.

        Raises:
            RuntimeError: This context is not the current one.
        """
        require_replica(self)
        return self._strategy.extended.merge_call(self, merge_fn, args, kwargs or {})

    def all_reduce(
        self, reduce_op: ReduceOp | str, value: Any, options: CommunicationOptions | None = None
    ) -> Any:
        """Returns the sum or mean of a nest of tensors over all replicas, on each of them.

        Raises:
            ValueError: There is no such reduction, or a leaf is no tensor.
            InvalidArgumentError: The replicas' shapes differ, or a dtype cannot be reduced.
        """
        if not isinstance(reduce_op, ReduceOp | str):
            raise AssertionError(  # noqa: TRY004  # TensorFlow's error
                f"reduce_op must be a ReduceOp or its name, not {reduce_op!r}."
            )
        op = as_reduce_op(reduce_op)
        reduced = self._strategy.extended.all_reduce_leaves(
            self, op, nest.flatten(value), options=options
        )
        return nest.pack_sequence_as(value, reduced)

    def all_gather(self, value: Any, axis: int, options: CommunicationOptions | None = None) -> Any:
        """Returns the replicas' tensors joined along an axis, for each leaf of a nest.

        Raises:
            ValueError, InvalidArgumentError: A leaf is a scalar, or the other dimensions differ.
        """
        gathered = self._strategy.extended.all_gather_leaves(
            self, nest.flatten(value), axis, options=options
        )
        return nest.pack_sequence_as(value, gathered)

    def __repr__(self) -> str:
        return (
            f"tf.distribute.ReplicaContext(replica id {self._replica_id}, total replicas in sync:"
            f" {self.num_replicas_in_sync})"
        )


class ValueContext:
    """What a value function is told: which replica it makes a value for, and of how many."""

    __slots__ = ("_num_replicas_in_sync", "_replica_id_in_sync_group")

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self._replica_id_in_sync_group = replica_id_in_sync_group
        self._num_replicas_in_sync = num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> int:
        """Which replica the value is for, from 0."""
        return self._replica_id_in_sync_group

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._num_replicas_in_sync

    def __str__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self._replica_id_in_sync_group}, "
            f" total replicas in sync: {self._num_replicas_in_sync})"
        )


def as_reduce_op(reduce_op: ReduceOp | str) -> ReduceOp:
    """Returns the reduction of that name, in any case.

    Raises:
        ValueError: There is none of that name.
        TypeError: It is neither a ReduceOp nor text.
    """
    if isinstance(reduce_op, ReduceOp):
        return reduce_op
    if not isinstance(reduce_op, str):
        raise TypeError(f"reduce_op must be a ReduceOp or its name, not {reduce_op!r}.")
    if reduce_op.upper() not in ReduceOp.__members__:
        raise ValueError(f"There is no reduction {reduce_op!r}. Use 'SUM' or 'MEAN'.")
    return ReduceOp[reduce_op.upper()]
