"""`tf.train`: TensorFlow's names, no logic."""

from clustersim.cluster.spec import ClusterSpec

__all__ = ["ClusterSpec"]
