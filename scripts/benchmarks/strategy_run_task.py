"""What one `strategy.run` costs beyond its step, in one library: prints JSON, in seconds.

The same program for clustersim and for TensorFlow: the module's name is the argument.
"""

import importlib
import json
import sys
from time import perf_counter  # runs where clustersim is not installed, too
from typing import Any

CALLS = 2000


def per_call(strategy: Any, step: Any) -> float:
    """Returns seconds per call, the best of five rounds."""
    for _ in range(50):
        strategy.run(step)
    best = float("inf")
    for _ in range(5):
        started = perf_counter()
        for _ in range(CALLS // 5):
            strategy.run(step)
        best = min(best, (perf_counter() - started) / (CALLS // 5))
    return best


def main() -> None:
    """Measures the three cases."""
    tf = importlib.import_module(sys.argv[1])
    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    mirrored = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def merge() -> Any:
        return tf.distribute.get_replica_context().merge_call(lambda _strategy: 0)

    def nothing() -> int:
        return 0

    print(
        json.dumps(
            {
                "OneDevice": per_call(one, nothing),
                "Mirrored, 2 devices": per_call(mirrored, nothing),
                "Mirrored, 2 devices, one merge_call": per_call(mirrored, merge),
            }
        )
    )


if __name__ == "__main__":
    main()
