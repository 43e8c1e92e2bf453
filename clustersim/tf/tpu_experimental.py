"""`tf.tpu.experimental`: TensorFlow's names, no logic."""

from clustersim.devices.topology import DeviceAssignment, DeviceOrderMode, Topology
from clustersim.strategies.tpu import initialize_tpu_system, shutdown_tpu_system

__all__ = [
    "DeviceAssignment",
    "DeviceOrderMode",
    "Topology",
    "initialize_tpu_system",
    "shutdown_tpu_system",
]
