"""`tf.config.experimental`: TensorFlow's names, no logic."""

from clustersim.devices.current import (
    get_memory_info,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_visible_devices,
)

__all__ = [
    "get_memory_info",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_visible_devices",
]
