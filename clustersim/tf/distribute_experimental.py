"""`tf.distribute.experimental`: TensorFlow's names, no logic."""

from clustersim.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from clustersim.strategies.options import CommunicationImplementation, CommunicationOptions
from clustersim.strategies.replica_context import ValueContext

CollectiveCommunication = CommunicationImplementation
"""The older name."""

__all__ = [
    "CollectiveCommunication",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ValueContext",
]
