"""`tf.distribute`: TensorFlow's names, no logic."""

from clustersim.collectives.schedule import ReduceOp
from clustersim.data.distributed import (
    DistributedDataset,
    DistributedIterator,
    InputOptions,
    InputReplicationMode,
)
from clustersim.data.sharding import InputContext
from clustersim.strategies.base import Strategy, StrategyExtended
from clustersim.strategies.default import (
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from clustersim.strategies.mirrored import MirroredStrategy
from clustersim.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy
from clustersim.strategies.one_device import OneDeviceStrategy
from clustersim.strategies.options import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReductionToOneDevice,
    RunOptions,
)
from clustersim.strategies.replica_context import ReplicaContext
from clustersim.strategies.server import Server
from clustersim.strategies.tpu import TPUStrategy
from clustersim.tf import cluster_resolver
from clustersim.tf import distribute_experimental as experimental
from clustersim.values.per_replica import DistributedValues

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Server",
    "Strategy",
    "StrategyExtended",
    "TPUStrategy",
    "cluster_resolver",
    "experimental",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]
