"""`tf.tpu`: TensorFlow's names, no logic."""

from clustersim.tf import tpu_experimental as experimental

__all__ = ["experimental"]
