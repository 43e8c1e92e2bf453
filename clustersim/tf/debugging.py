"""`tf.debugging`: TensorFlow's names, no logic."""

from clustersim.values.check_ops import assert_equal

__all__ = ["assert_equal"]
