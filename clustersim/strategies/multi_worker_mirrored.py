"""`MultiWorkerMirroredStrategy`: the same variables in every worker, kept equal by collectives.

The constructor reads TF_CONFIG strictly, starts this process's server on its own address, and waits
until the chief and all workers have joined. What differs from TensorFlow on purpose: a ps in the
cluster is never waited for, and a ps task gets a strategy that says so instead of a ValueError.

Source: tensorflow/python/distribute/collective_all_reduce_strategy.py, 2.21.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from clustersim.cluster import roles
from clustersim.cluster.resolvers import ClusterResolver, TFConfigClusterResolver
from clustersim.cluster.spec import EVALUATOR, PS, ClusterSpec, Task
from clustersim.cluster.tf_config import TFConfig
from clustersim.collectives.communicator import Communicator
from clustersim.collectives.schedule import ReduceOp
from clustersim.config import Listen, TaskSettings
from clustersim.devices import current
from clustersim.errors import FailedPreconditionError
from clustersim.events import Event, StepFinished
from clustersim.observe.metrics import Metrics
from clustersim.runtime import task as runtime_task
from clustersim.runtime.task import TaskRuntime
from clustersim.strategies.base import Strategy
from clustersim.strategies.cross_replica import SINGLE_PROCESS, CrossReplica
from clustersim.strategies.options import CommunicationImplementation, CommunicationOptions
from clustersim.strategies.turns import InTurnExtended
from clustersim.values.per_replica import DistributedValues
from clustersim.values.tensor import convert

Array = npt.NDArray[Any]

_log = logging.getLogger(__name__)


class MultiWorkerMirroredStrategy(Strategy):
    """Synchronous training on several workers, one replica on each.

    Args:
        cluster_resolver: Where this process stands. Default: TF_CONFIG.
        communication_options: For all collectives of this strategy.

    Without a cluster the process trains alone, as in TensorFlow, and says so.

    Raises:
        SpecError: TF_CONFIG is wrong (a ValueError, TypeError or json.JSONDecodeError, whichever
            TensorFlow raises).
        ValueError: An argument is of the wrong kind, or the place is not in the cluster.
        KeyError: This is an evaluator that the cluster does not list, as in TensorFlow.
        NotReady: The other tasks did not come within CLUSTERSIM_START_TIMEOUT.
        UnknownError: This task's own address cannot be bound.
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None = None,
        communication_options: CommunicationOptions | None = None,
    ) -> None:
        _check(cluster_resolver, ClusterResolver, "cluster_resolver")
        _check(communication_options, CommunicationOptions, "communication_options")
        resolver = cluster_resolver or TFConfigClusterResolver()
        options = communication_options or CommunicationOptions()
        task = _place(resolver)
        if task is not None:
            current.set_local_task(task.type, task.index)
        runtime = _runtime(resolver.cluster_spec(), task)
        metrics = Metrics() if runtime is None else _ReportedMetrics(runtime)
        extended = _CollectiveExtended(
            devices=_local_devices(),
            cross_replica=_cross_replica(runtime, options, metrics),
            cluster_resolver=resolver,
            is_chief=task is None or roles.is_chief(resolver.cluster_spec(), task.type, task.index),
            metrics=metrics,
        )
        super().__init__(extended)
        if runtime is not None:
            runtime.num_replicas = max(runtime.num_replicas, self.num_replicas_in_sync)


class _CollectiveExtended(InTurnExtended):
    """The replicas of one worker. Plain values become tensors, even where there is no other worker."""

    experimental_between_graph = True

    def reduce(self, op: ReduceOp, value: Any) -> Any:
        """Returns the sum or mean over all replicas. Raises as `ReplicatedExtended.reduce`."""
        is_plain = not isinstance(value, DistributedValues) and self.num_replicas_in_sync == 1
        return super().reduce(op, convert(value) if is_plain and op is ReduceOp.SUM else value)

    def gather(self, value: Any, axis: int) -> Any:
        """Returns the replicas' tensors joined. Raises as `ReplicatedExtended.gather`."""
        is_plain = not isinstance(value, DistributedValues) and self.num_replicas_in_sync == 1
        return super().gather(convert(value) if is_plain else value, axis)


_CollectiveExtended.__name__ = (
    "CollectiveAllReduceExtended"  # as type(x).__name__ says in TensorFlow
)


class _AlsoTheOther(type):
    """Makes every MultiWorkerMirroredStrategy an instance of its older name, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, MultiWorkerMirroredStrategy)


class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy, metaclass=_AlsoTheOther):
    """The older name, which takes the way to communicate instead of all options.

    Args:
        communication: A CommunicationImplementation, or its name.
        cluster_resolver: See `MultiWorkerMirroredStrategy`, whose errors this raises.
    """

    def __init__(
        self,
        communication: CommunicationImplementation | str = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))


def _check(value: object, kind: type, name: str) -> None:
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"`{name}` must be a {kind.__name__} or None, not {value!r}.")


def _local_devices() -> tuple[str, ...]:
    """Returns all GPUs of this process, else its first CPU, however often that is split."""
    gpus = current.list_logical_devices("GPU")
    return tuple(map(current.canonicalize, gpus)) or (current.canonicalize("/device:CPU:0"),)


def _place(resolver: ClusterResolver) -> Task | None:
    """Returns this process's place, strictly checked; None if it trains alone."""
    spec = _cluster_spec(resolver)
    if not spec:
        _log.warning(
            "This process trains alone: TF_CONFIG has no cluster, so"
            " MultiWorkerMirroredStrategy has 1 replica and nothing is distributed."
        )
        return None
    task_type, task_id = resolver.task_type, resolver.task_id
    if isinstance(resolver, TFConfigClusterResolver):
        TFConfig.from_environ(strategy="mwms")  # refuses what the resolver hands on: an index of -1
    if task_type is None or task_id is None:
        raise ValueError(
            f"When the cluster is given ({spec!r}), task_type and task_id must be, too; they are"
            f" {task_type!r} and {task_id!r}."
        )
    roles.validate(spec, task_type, task_id)
    if task_id < 0:
        raise ValueError(f"task_id is {task_id}. Indices begin at 0.")
    if task_type == EVALUATOR:
        roles.worker_count(spec, task_type)  # KeyError if it is not listed
    return Task(task_type, task_id)


def _cluster_spec(resolver: ClusterResolver) -> ClusterSpec:
    try:
        return resolver.cluster_spec()
    except (ValueError, TypeError):
        if isinstance(resolver, TFConfigClusterResolver):
            TFConfig.from_environ(strategy="mwms")  # the same fault, in clear words
        raise


def _runtime(spec: ClusterSpec, task: Task | None) -> TaskRuntime | None:
    """Returns this process's task, started; None for one that works alone.

    An evaluator works alone, too: nobody waits for it, and it waits for nobody.
    """
    if task is None or task.type == EVALUATOR:
        return None
    return runtime_task.ensure(spec, task, TaskSettings.from_environ())


def _cross_replica(
    runtime: TaskRuntime | None, options: CommunicationOptions, metrics: Metrics
) -> CrossReplica:
    """Returns what this process has of the others, once they are there."""
    if runtime is None:
        return SINGLE_PROCESS
    if runtime.task.type == PS:
        return _Bystander(runtime.task)
    runtime.wait_ready()
    transport = runtime.transport()
    communicator = Communicator(
        transport,
        names=[str(task) for task in transport.tasks],
        timeout_s=options.timeout_seconds,
        checksum=runtime.settings.listen is Listen.OWN,  # loopback does not damage
        recorder=metrics,
    )
    runtime.keep(transport, communicator)
    return _Group(communicator)


class _ReportedMetrics(Metrics):
    """Counters that the supervisor hears of, too."""

    def __init__(self, runtime: TaskRuntime) -> None:
        super().__init__()
        self._reporter = runtime.reporter
        runtime.count(lambda: cast("Mapping[str, float]", self.snapshot()))

    def record(self, event: Event) -> None:
        """See `Metrics.record`."""
        super().record(event)
        self._reporter.record(event)

    def step_finished(self, *, duration_s: float, blocked_s: float) -> None:
        """See `Metrics.step_finished`; the supervisor hears of it as of any event."""
        self.record(StepFinished(duration_s=duration_s, blocked_s=blocked_s))


class _Group:
    """A `CrossReplica` over a communicator: arrays of one dtype travel as one buffer."""

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator

    @property
    def rank(self) -> int:
        """See `CrossReplica`."""
        return self._communicator.rank

    @property
    def size(self) -> int:
        """See `CrossReplica`."""
        return self._communicator.size

    def all_reduce(
        self,
        arrays: Sequence[Array],
        op: ReduceOp,
        *,
        options: CommunicationOptions | None = None,
    ) -> list[Array]:
        """See `CrossReplica`."""
        packs: dict[np.dtype[Any], list[int]] = defaultdict(list)
        for position, array in enumerate(arrays):
            packs[array.dtype].append(position)
        results: dict[int, Array] = {}
        for positions in packs.values():
            reduced = self._communicator.all_reduce_packed(
                [arrays[position] for position in positions], op, timeout_s=_timeout_s(options)
            )
            results.update(zip(positions, reduced, strict=True))
        return [results[position] for position in range(len(arrays))]

    def all_gather(
        self, array: Array, *, axis: int, options: CommunicationOptions | None = None
    ) -> Array:
        """See `CrossReplica`."""
        return self._communicator.all_gather(array, axis=axis, timeout_s=_timeout_s(options))

    def broadcast(self, array: Array, *, root: int = 0) -> Array:
        """See `CrossReplica`."""
        return self._communicator.broadcast(array, root=root)


class _Bystander:
    """What a ps has of the group: nothing. It serves; it holds no replica."""

    rank = 0
    size = 2  # more than one, or the strategy would not ask

    def __init__(self, task: Task) -> None:
        self._task = task

    def all_reduce(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Refuses."""
        self._refuse("all_reduce")

    def all_gather(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Refuses."""
        self._refuse("all_gather")

    def broadcast(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Refuses."""
        self._refuse("broadcast")

    def _refuse(self, what: str) -> NoReturn:
        raise FailedPreconditionError(
            f"{self._task} holds no replica, so it takes no part in {what}. Branch on"
            " strategy.cluster_resolver.task_type, and serve with tf.distribute.Server(...).join().",
            code="CSE501",
            task=str(self._task),
        )


def _timeout_s(options: CommunicationOptions | None) -> float | None:
    return options.timeout_seconds if options is not None else None
