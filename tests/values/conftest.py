"""Each test of this room runs on NumPy and on a library that only knows the array API standard."""

from tests.array_libraries import array_library, two_devices

__all__ = ["array_library", "two_devices"]
