"""One input pipeline in one library, asked for time per step: the library is the argument.

Reads lines `input_s step_s depth steps` and answers each with seconds per step. The input and the step
are sleeps, so both leave the interpreter to others. `sleep` in place of a library has no input at all:
that is what a step takes on this machine. A Python generator is what feeds `tf.data`, here and in
TensorFlow, by the same lines; a DataLoader has its own, in a process beside it.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from itertools import repeat
from time import perf_counter, sleep  # runs where clustersim is not installed, too
from typing import Any

Pipeline = Callable[[float, int], Iterator[Any]]
"""Takes the seconds of an input and how many to keep ready; starts an endless stream."""

WARM_UP = 5
SIZE = 1024


def arrays(input_s: float) -> Iterator[Any]:
    """Yields an array of 4 KiB after each pause, without end."""
    import numpy as np

    while True:
        sleep(input_s)
        yield np.ones(SIZE, np.float32)


def of_tf_data(name: str) -> Pipeline:
    """Returns the pipeline of clustersim.tf or tensorflow."""
    tf = importlib.import_module(name)
    signature = tf.TensorSpec([SIZE], tf.float32)

    def start(input_s: float, depth: int) -> Iterator[Any]:
        dataset = tf.data.Dataset.from_generator(
            lambda: arrays(input_s), output_signature=signature
        )
        stream: Iterator[Any] = iter(dataset.prefetch(depth) if depth else dataset)
        return stream

    return start


def of_torch() -> Pipeline:
    """Returns the pipeline of torch's DataLoader, with one process that makes items."""
    data = importlib.import_module("torch.utils.data")

    class Arrays(data.IterableDataset):  # type: ignore[misc, name-defined]  # known at run time only
        def __init__(self, input_s: float) -> None:
            self.input_s = input_s

        def __iter__(self) -> Iterator[Any]:
            return arrays(self.input_s)

    def start(input_s: float, depth: int) -> Iterator[Any]:
        loader = data.DataLoader(
            Arrays(input_s), batch_size=None, num_workers=1, prefetch_factor=depth
        )
        return iter(loader)

    return start


def pipeline(library: str) -> Pipeline:
    """Returns the pipeline of a library."""
    if library == "sleep":
        return lambda _input_s, _depth: repeat(None)
    return of_torch() if library == "torch" else of_tf_data(library)


def per_step(items: Iterator[Any], step_s: float, steps: int) -> float:
    """Returns seconds per step, once the stream runs."""
    for _ in range(WARM_UP):
        next(items)
        sleep(step_s)
    started = perf_counter()
    for _ in range(steps):
        next(items)
        sleep(step_s)
    return (perf_counter() - started) / steps


def main() -> None:
    """Answers until standard input ends."""
    start = pipeline(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        input_s, step_s, depth, steps = line.split()
        items = start(float(input_s), int(depth))
        print(per_step(items, float(step_s), int(steps)), flush=True)
        del items


if __name__ == "__main__":
    main()
