"""What prefetch hides: step time against max(t_in, t_step), for a producer that frees the GIL."""

from clustersim import tf
from clustersim.clock import SYSTEM_CLOCK

STEPS = 200


def main() -> None:
    """Prints one row for each pair of input and step time."""
    print("| t_in | t_step | ideal | no prefetch | prefetch(2) | ratio to ideal |")
    print("|---|---|---|---|---|---|")
    for input_s, step_s in ((0.005, 0.005), (0.005, 0.002), (0.002, 0.005)):
        plain_s = run(input_s, step_s, depth=0)
        ahead_s = run(input_s, step_s, depth=2)
        ideal_s = max(input_s, step_s)
        print(
            f"| {1e3 * input_s:.0f} ms | {1e3 * step_s:.0f} ms | {1e3 * ideal_s:.2f} ms"
            f" | {1e3 * plain_s:.2f} ms | {1e3 * ahead_s:.2f} ms | {ahead_s / ideal_s:.3f} |"
        )


def run(input_s: float, step_s: float, *, depth: int) -> float:
    """Returns seconds per step."""

    def produce(x: tf.Tensor) -> tf.Tensor:
        SYSTEM_CLOCK.sleep(input_s)
        return x

    dataset = tf.data.Dataset.range(STEPS).map(produce)
    if depth:
        dataset = dataset.prefetch(depth)
    iterator = iter(dataset)
    next(iterator)
    started = SYSTEM_CLOCK.now()
    for _ in range(STEPS - 1):
        next(iterator)
        SYSTEM_CLOCK.sleep(step_s)
    return (SYSTEM_CLOCK.now() - started) / (STEPS - 1)


if __name__ == "__main__":
    main()
