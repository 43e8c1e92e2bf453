"""`tf.config.experimental`: TensorFlow's names, no logic."""

from clustersim.devices.current import get_memory_info, list_logical_devices, list_physical_devices

__all__ = ["get_memory_info", "list_logical_devices", "list_physical_devices"]
