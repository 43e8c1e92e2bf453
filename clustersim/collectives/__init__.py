"""Collective operations: schedules, and the communicator that executes them."""
