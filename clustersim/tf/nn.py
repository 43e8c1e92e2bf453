"""`tf.nn`: TensorFlow's names, no logic."""

from clustersim.values.math_ops import sigmoid, tanh
from clustersim.values.nn_ops import log_softmax, relu, softmax

__all__ = ["log_softmax", "relu", "sigmoid", "softmax", "tanh"]
