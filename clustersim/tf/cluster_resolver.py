"""`tf.distribute.cluster_resolver`: TensorFlow's names, no logic."""

from clustersim.cluster.resolvers import (
    ClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionResolver,
)
from clustersim.strategies.tpu import TPUClusterResolver

__all__ = [
    "ClusterResolver",
    "SimpleClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "UnionResolver",
]
