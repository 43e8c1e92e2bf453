"""`tf.random`: names only."""

from clustersim.values.random import normal, set_seed, uniform

__all__ = ["normal", "set_seed", "uniform"]
