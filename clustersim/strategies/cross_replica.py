"""What the other processes of a strategy add to this one: the seam below multi-worker strategies.

A strategy holds its local replicas itself and asks a `CrossReplica` for everything that crosses the
border of the process. One process alone uses `SINGLE_PROCESS`; `MultiWorkerMirroredStrategy` hands
in one that is backed by a communicator. Knows nothing of transports, devices or variables.

How a multi-worker strategy is made (see `replicated`):

    devices.current.set_local_task(task.type, task.index)     # names: /job:worker/.../task:0/...
    extended = ReplicatedExtended(
        devices=(canonical device name, ...),                   # the local ones only
        cross_replica=hook,                                     # this protocol
        cluster_resolver=resolver,
        is_chief=roles.is_chief(spec, task.type, task.index),
        metrics=metrics,                                        # also the communicator's recorder
    )
    Strategy.__init__(self, extended)

Replica ids are `rank * len(devices) + position`; num_replicas_in_sync is `size * len(devices)`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from clustersim.collectives.schedule import ReduceOp
from clustersim.strategies.options import CommunicationOptions

Array = npt.NDArray[Any]


class CrossReplica(Protocol):
    """Collectives among the processes of one strategy.

    Every method but the two attributes is a collective: all processes call the same ones in the
    same order, from the thread that runs the program. Results are new arrays that the caller owns;
    arguments are not changed. Errors are those of `Communicator` (InvalidArgumentError for shapes
    that differ, InternalError for kinds, ops or dtypes, UnavailableError, DeadlineExceededError).
    `options` are the call's own, None for the strategy's.
    """

    @property
    def rank(self) -> int:
        """Which process this is, from 0, the chief's is 0."""
        ...

    @property
    def size(self) -> int:
        """How many processes hold replicas; no collective is asked for when it is 1."""
        ...

    def all_reduce(
        self,
        arrays: Sequence[Array],
        op: ReduceOp,
        *,
        options: CommunicationOptions | None = None,
    ) -> list[Array]:
        """Reduces each array over the processes, in one call or as many as seem good.

        Arrays may differ in shape and dtype from each other, not between processes. MEAN divides by
        `size`; integers then become float64, floats keep their dtype. Dtypes are float16, float32,
        float64, int32, int64, or smaller integers, which wrap as NumPy does.
        """
        ...

    def all_gather(
        self, array: Array, *, axis: int, options: CommunicationOptions | None = None
    ) -> Array:
        """Concatenates the processes' arrays in rank order; sizes may differ along `axis`.

        Raises ValueError for a scalar.
        """
        ...

    def broadcast(self, array: Array, *, root: int = 0) -> Array:
        """Returns the root's array; all give one of the same shape and dtype, any dtype."""
        ...


class _SingleProcess:
    """One process: everything is as it was."""

    rank = 0
    size = 1

    def all_reduce(
        self,
        arrays: Sequence[Array],
        op: ReduceOp,
        *,
        options: CommunicationOptions | None = None,  # noqa: ARG002  # the protocol's signature
    ) -> list[Array]:
        """Returns the arrays; a MEAN of integers is float64."""
        if op is ReduceOp.SUM:
            return list(arrays)
        return [array.astype(mean_dtype(array.dtype), copy=False) for array in arrays]

    def all_gather(
        self,
        array: Array,
        *,
        axis: int,  # noqa: ARG002
        options: CommunicationOptions | None = None,  # noqa: ARG002
    ) -> Array:
        """Returns the array."""
        return array

    def broadcast(self, array: Array, *, root: int = 0) -> Array:  # noqa: ARG002
        """Returns the array."""
        return array


SINGLE_PROCESS: CrossReplica = _SingleProcess()


def mean_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of a mean: floats stay, small integers become float32, others float64."""
    if np.issubdtype(dtype, np.floating):
        return dtype
    return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)
