"""`tf.train`: names only."""

from clustersim.cluster.spec import ClusterSpec

__all__ = ["ClusterSpec"]
