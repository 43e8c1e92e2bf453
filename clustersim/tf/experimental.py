"""`tf.experimental`: names only."""

from clustersim.data.iterator import Optional

__all__ = ["Optional"]
