"""`tf.random`: TensorFlow's names, no logic."""

from clustersim.values.random import normal, set_seed, uniform

__all__ = ["normal", "set_seed", "uniform"]
