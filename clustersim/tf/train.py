"""`tf.train`: TensorFlow's names, no logic."""

from clustersim.cluster.cluster_def import ClusterDef, JobDef
from clustersim.cluster.spec import ClusterSpec

__all__ = ["ClusterDef", "ClusterSpec", "JobDef"]
