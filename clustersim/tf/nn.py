"""`tf.nn`: TensorFlow's names, no logic."""

from clustersim.values.math_ops import log_softmax, relu, sigmoid, softmax, tanh

__all__ = ["log_softmax", "relu", "sigmoid", "softmax", "tanh"]
