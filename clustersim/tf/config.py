"""`tf.config`: TensorFlow's names, no logic."""

from clustersim.devices.current import (
    get_logical_device_configuration,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_logical_device_configuration,
    set_soft_device_placement,
    set_visible_devices,
)
from clustersim.devices.machine import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice
from clustersim.strategies.tpu import connect_to_cluster as experimental_connect_to_cluster
from clustersim.tf import config_experimental as experimental

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental",
    "experimental_connect_to_cluster",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
]
