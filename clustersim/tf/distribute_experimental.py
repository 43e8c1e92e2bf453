"""`tf.distribute.experimental`: TensorFlow's names, no logic."""

from clustersim.strategies.multi_worker_mirrored import MultiWorkerMirroredStrategy
from clustersim.strategies.options import CommunicationImplementation, CommunicationOptions
from clustersim.strategies.replica_context import ValueContext

__all__ = [
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ValueContext",
]
