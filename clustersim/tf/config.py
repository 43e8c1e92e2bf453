"""`tf.config`: TensorFlow's names, no logic."""

from clustersim.devices.simulated import (
    LogicalDevice,
    LogicalDeviceConfiguration,
    PhysicalDevice,
    get_logical_device_configuration,
    get_soft_device_placement,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
    set_soft_device_placement,
)

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "list_logical_devices",
    "list_physical_devices",
    "set_logical_device_configuration",
    "set_soft_device_placement",
]
