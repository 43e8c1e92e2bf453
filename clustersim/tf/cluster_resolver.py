"""`tf.distribute.cluster_resolver`: TensorFlow's names, no logic."""

from clustersim.cluster.platform_resolvers import (
    KubernetesClusterResolver,
    KubernetesExecutableLocation,
    SageMakerClusterResolver,
    SlurmClusterResolver,
)
from clustersim.cluster.resolvers import (
    ClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionResolver,
)
from clustersim.strategies.tpu import TPUClusterResolver

__all__ = [
    "ClusterResolver",
    "KubernetesClusterResolver",
    "KubernetesExecutableLocation",
    "SageMakerClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "UnionResolver",
]
