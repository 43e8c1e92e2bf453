"""Datasets spread over replicas: what `experimental_distribute_dataset` and its sibling return.

Each iteration makes rounds (see `sharding`) in a prefetching thread, already on the replicas'
devices, and hands out one element per step. Before each step of several workers they agree whether
anyone has data, by the function `anyone_has` that the strategy gives; those without get tensors of no
rows, until nobody has any.

Source: tensorflow/python/distribute/input_lib.py, 2.21; cases `input_11`..`19`, `mw_11`..`mw_14`.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clustersim.data import cardinality, sharding
from clustersim.data.dataset import Dataset
from clustersim.data.elements import Row, map_shapes
from clustersim.data.iterator import OwnedIterator
from clustersim.data.options import AutoShardPolicy
from clustersim.data.prefetch import Prefetch
from clustersim.data.sharding import Layout, Round
from clustersim.devices.current import MACHINE
from clustersim.devices.device import Device
from clustersim.devices.spec import DeviceSpec
from clustersim.events import Recorder
from clustersim.values import nest
from clustersim.values.per_replica import PerReplica
from clustersim.values.shapes import TensorShape
from clustersim.values.tensor import Tensor


class InputReplicationMode(enum.Enum):
    """How many datasets a dataset function is asked for."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """How input is brought to the replicas; the fields and defaults are TensorFlow's."""

    experimental_fetch_to_device: bool = True
    """Whether elements are prefetched to the replicas' devices; else they stay on the host."""
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1
    """How many elements are ready ahead of the step that runs."""

    @property
    def is_per_replica(self) -> bool:
        """Whether there is one dataset per replica."""
        return self.experimental_replication_mode is InputReplicationMode.PER_REPLICA


class PerReplicaSpec:
    """The spec of a per-replica leaf: one spec for each local replica."""

    def __init__(self, *specs: Any) -> None:
        self.specs = specs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerReplicaSpec) and self.specs == other.specs

    def __hash__(self) -> int:
        return hash(self.specs)

    def __repr__(self) -> str:
        return f"PerReplicaSpec{self.specs!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How a strategy wants its input."""

    layout: Layout
    devices: tuple[str, ...]
    """Full names of the local replicas' devices."""
    anyone_has: Callable[[bool], bool]
    """A collective: whether any worker said True."""
    recorder: Recorder
    options: InputOptions

    @property
    def is_single(self) -> bool:
        """Whether there is one replica in all: its elements stay as they are."""
        return self.layout.num_replicas == 1


class DistributedDataset:
    """A dataset spread over replicas; iterate as often as you like, in step with other workers.

    Args:
        rounds: Starts the stream of this worker's rounds.
        element_spec: The spec of what one replica gets.
        distribution: How the strategy wants its input.
        num_elements: How many there are, or a constant of `cardinality`.
    """

    def __init__(
        self,
        rounds: Callable[[], Iterator[Round]],
        element_spec: Any,
        distribution: Distribution,
        *,
        num_elements: int,
    ) -> None:
        self._rounds = rounds
        self._replica_spec = element_spec
        self._distribution = distribution
        self._num_elements = num_elements

    @property
    def element_spec(self) -> Any:
        """The spec of an element: per-replica, unless there is one replica in all."""
        return _per_replica_spec(self._replica_spec, self._distribution)

    @property
    def cardinality(self) -> int:
        """How many elements there are, -1 infinite, -2 unknown."""
        return self._num_elements

    def __iter__(self) -> "DistributedIterator":
        return DistributedIterator(
            self._rounds,
            self._replica_spec,
            self._distribution,
            is_endless=self._num_elements == cardinality.INFINITE,
        )


class DistributedIterator(OwnedIterator):
    """Iterates over a distributed dataset, once."""

    def __init__(
        self,
        rounds: Callable[[], Iterator[Round]],
        spec: Any,
        distribution: Distribution,
        *,
        is_endless: bool,
    ) -> None:
        self._spec = spec
        self._distribution = distribution
        layout, options = distribution.layout, distribution.options
        is_static = all(leaf.shape.is_fully_defined() for leaf in nest.flatten(spec))
        self._fills_up = layout.num_workers > 1 or not is_static
        self._must_agree = layout.num_workers > 1 and not is_endless
        self._steps = _steps(rounds, options, distribution)

    @property
    def element_spec(self) -> Any:
        """The spec of an element: see `DistributedDataset`."""
        return _per_replica_spec(self._spec, self._distribution)

    def __next__(self) -> Any:
        step = next(self._steps, None)
        has_step = step is not None
        if self._must_agree:
            has_step = self._distribution.anyone_has(has_step)
        if not has_step:
            raise StopIteration
        replicas = step or (None,) * self._distribution.layout.num_local
        if None in replicas and not self._fills_up:
            raise StopIteration  # an incomplete round of static shapes is dropped
        return self._element([row if row is not None else self._empty() for row in replicas])

    def _empty(self) -> Row:
        """Returns a row of no data: the batch dimension and unknown ones are 0."""
        device = MACHINE.host()
        return tuple(
            Tensor(np.zeros(_without_rows(leaf.shape), leaf.dtype.as_numpy_dtype), device)
            for leaf in nest.flatten(self._spec)
        )

    def _element(self, replicas: Sequence[Row]) -> Any:
        if self._distribution.is_single:
            return nest.pack_sequence_as(self._spec, replicas[0])
        leaves = [PerReplica(leaf) for leaf in zip(*replicas, strict=True)]
        return nest.pack_sequence_as(self._spec, leaves)


def distribute(dataset: Dataset, distribution: Distribution) -> DistributedDataset:
    """Returns a dataset of global batches, divided between all replicas.

    Raises:
        AttributeError: It is no dataset.
        NotImplementedError: One dataset per replica was asked for.
        IndexError: There are several replicas and the elements are not batched.
    """
    if distribution.options.is_per_replica:
        raise NotImplementedError(
            "InputReplicationMode.PER_REPLICA is only supported by"
            " distribute_datasets_from_function."
        )
    spec, options, layout = dataset.element_spec, dataset.options(), distribution.layout
    policy = options.experimental_distribute.auto_shard_policy
    if distribution.is_single:
        return DistributedDataset(
            lambda: sharding.grouped(dataset.rows(), 1),
            spec,
            distribution,
            num_elements=dataset.num_elements,
        )
    if any(leaf.shape.rank == 0 for leaf in nest.flatten(spec)):
        raise IndexError(
            "The dataset is not batched, so its elements cannot be divided between replicas. Batch"
            " it by the global batch size."
        )
    return DistributedDataset(
        _divided(dataset, layout, policy),
        map_shapes(spec, lambda shape: _rebatched(shape, layout)),
        distribution,
        num_elements=dataset.num_elements,
    )


def _divided(
    dataset: Dataset, layout: Layout, policy: AutoShardPolicy
) -> Callable[[], Iterator[Round]]:
    """Returns what starts the stream of this worker's rounds, by the policy."""
    shard = dataset.shard_of_files

    def started() -> Iterator[Round]:
        if (
            sharding.is_by_files(policy, layout, reads_files=shard is not None)
            and shard is not None
        ):
            rows = shard(layout.num_workers, layout.worker)()
            return sharding.rounds(rows, layout, by_rows=False)
        by_rows = policy in {AutoShardPolicy.AUTO, AutoShardPolicy.DATA}
        return sharding.rounds(dataset.rows(), layout, by_rows=by_rows)

    return started


def distribute_from_function(
    dataset_fn: Callable[[sharding.InputContext], Dataset], distribution: Distribution
) -> DistributedDataset:
    """Returns what a function makes for this worker (or for each of its replicas).

    Raises:
        AttributeError: It returned no dataset.
        ValueError: Options that exclude each other.
    """
    layout, options = distribution.layout, distribution.options
    if (
        options.is_per_replica
        and options.experimental_place_dataset_on_device
        and options.experimental_fetch_to_device
    ):
        raise ValueError(
            "A dataset that is placed on the device cannot be fetched to it: set"
            " experimental_fetch_to_device to False."
        )
    if options.is_per_replica:
        first = layout.worker * layout.num_local
        ids = range(first, first + layout.num_local)
        contexts = [sharding.InputContext(layout.num_replicas, i, layout.num_replicas) for i in ids]
    else:
        contexts = [sharding.InputContext(layout.num_workers, layout.worker, layout.num_replicas)]
    datasets = [dataset_fn(context) for context in contexts]
    spec, count = datasets[0].element_spec, datasets[0].num_elements
    if options.is_per_replica:
        return DistributedDataset(
            lambda: sharding.paired([dataset.rows() for dataset in datasets]),
            spec,
            distribution,
            num_elements=count,
        )
    return DistributedDataset(
        lambda: sharding.grouped(datasets[0].rows(), layout.num_local),
        spec,
        distribution,
        num_elements=cardinality.batched(count, layout.num_local, drop_remainder=False),
    )


def _steps(
    rounds: Callable[[], Iterator[Round]], options: InputOptions, distribution: Distribution
) -> Iterator[Round]:
    """Yields rounds of tensors, made ahead by a thread if they are fetched to the devices."""
    is_fetched = options.experimental_fetch_to_device
    names = distribution.devices if is_fetched else ()
    devices = [MACHINE.place(DeviceSpec.from_string(name)) for name in names]
    devices = devices or [MACHINE.host()] * distribution.layout.num_local

    def start() -> Iterator[Round]:
        return (_placed(each, devices) for each in rounds())

    if not is_fetched:
        return start()
    return Prefetch(
        start,
        bound=max(1, options.experimental_per_replica_buffer_size),
        recorder=distribution.recorder,
    )


def _placed(each: Round, devices: Sequence[Device]) -> Round:
    return tuple(
        None if row is None else tuple(_on(leaf, device) for leaf in row)
        for row, device in zip(each, devices, strict=True)
    )


def _on(leaf: Any, device: Device) -> Any:
    return Tensor(device.receive(leaf), device) if isinstance(leaf, np.ndarray) else leaf


def _per_replica_spec(spec: Any, distribution: Distribution) -> Any:
    if distribution.is_single:
        return spec
    count = distribution.layout.num_local
    return nest.map_structure(lambda leaf: PerReplicaSpec(*[leaf] * count), spec)


def _rebatched(shape: TensorShape, layout: Layout) -> TensorShape:
    size = shape[0]
    is_even = size is not None and size % layout.num_replicas == 0
    return TensorShape([size // layout.num_replicas if is_even and size else None]) + shape[1:]


def _without_rows(shape: TensorShape) -> list[int]:
    return [0 if i == 0 or dim is None else dim for i, dim in enumerate(shape)]
