"""`tf.data`: TensorFlow's names, no logic."""

from clustersim.data.arguments import AUTOTUNE
from clustersim.data.cardinality import INFINITE as INFINITE_CARDINALITY
from clustersim.data.cardinality import UNKNOWN as UNKNOWN_CARDINALITY
from clustersim.data.dataset import Dataset
from clustersim.data.files import TextLineDataset
from clustersim.data.iterator import DatasetIterator as Iterator
from clustersim.data.options import Options
from clustersim.tf import data_experimental as experimental

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "Iterator",
    "Options",
    "TextLineDataset",
    "experimental",
]
