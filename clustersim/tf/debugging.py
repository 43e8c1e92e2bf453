"""`tf.debugging`: names only."""

from clustersim.values.math_ops import assert_equal

__all__ = ["assert_equal"]
