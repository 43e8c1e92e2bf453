"""`tf.linalg`: TensorFlow's names, no logic."""

from clustersim.values.math_ops import matmul

__all__ = ["matmul"]
