"""Devices: their names, the arrays that live on them, and where an operation is placed."""
