"""`tf.data.experimental`: TensorFlow's names, no logic."""

from clustersim.data.arguments import AUTOTUNE
from clustersim.data.cardinality import INFINITE as INFINITE_CARDINALITY
from clustersim.data.cardinality import UNKNOWN as UNKNOWN_CARDINALITY
from clustersim.data.iterator import Optional
from clustersim.data.options import AutoShardPolicy, DistributeOptions

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "DistributeOptions",
    "Optional",
]
