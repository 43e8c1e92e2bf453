"""`tf.experimental`: TensorFlow's names, no logic."""

from clustersim.data.iterator import Optional

__all__ = ["Optional"]
