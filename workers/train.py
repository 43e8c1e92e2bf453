"""Trains two models on handwritten digits: each worker alone, then all workers together.

One program for every role, as on TensorFlow's pages: start it in each task of a cluster with that
task's TF_CONFIG (`clustersim run --worker 2 --ps 1 workers/train.py`, or by hand in terminals), or
without any. It uses TensorFlow's names only: with the import line below changed to
`import tensorflow as tf` it runs on TensorFlow 2.21 (without a ps), to the same losses.

    alone     OneDeviceStrategy, on this worker's shard of the data
    together  MultiWorkerMirroredStrategy, each global batch divided between the workers

There is no automatic differentiation here: `Network.gradients` writes the gradients out.
"""

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter  # noqa: TID251  # a user's program, which has no clock of ours
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

import clustersim.tf as tf  # noqa: PLR0402  # the one line to change for TensorFlow

Array = npt.NDArray[Any]

DATA = Path(__file__).parent / "data" / "digits.npz"
DATA_SHA256 = "78a85852f7f6b2b5d209ab9b246a3f6783ba99bf264099704d8725980b7e0b97"

NUM_CLASSES = 10
NUM_TRAIN = 1500
"""Of 1,797 images; the other 297 test."""

SPLIT_SEED = 20261201
"""The order of the split, drawn once: the file's own order is by writer, and tests worse."""

WEIGHT_SEED = 7
"""Of the first weights; the same in every process."""

MODELS = {"softmax": (64, NUM_CLASSES), "MLP": (64, 32, NUM_CLASSES)}
"""Layer sizes by model."""

LEARNING_RATE = 0.5

# -- data ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Digits:
    """Images as `[n, 64]` floats from 0 to 1, and what they show as `[n] int64`."""

    train_images: Array
    train_labels: Array
    test_images: Array
    test_labels: Array


def load_digits(path: Path, dtype: str) -> Digits:
    """Reads the data, checks that it is what it was, and splits it in the recorded order.

    Raises:
        SystemExit: The file is missing or was changed; the message says what to do.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        sys.exit(f"Cannot read {path}: {error.strerror}. Restore it, or run scripts/make_digits.")
    found = hashlib.sha256(content).hexdigest()
    if found != DATA_SHA256:
        sys.exit(f"{path} has SHA-256 {found}, expected {DATA_SHA256}. Run scripts/make_digits.")
    with np.load(path, allow_pickle=False) as archive:
        images, labels = archive["images"], archive["labels"].astype(np.int64)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    images = (images.reshape(len(labels), -1) / 16.0).astype(dtype)[order]
    labels = labels[order]
    return Digits(images[:NUM_TRAIN], labels[:NUM_TRAIN], images[NUM_TRAIN:], labels[NUM_TRAIN:])


# -- models ----------------------------------------------------------------------------------------


class Network:
    """Dense layers with ReLU between them and softmax behind; without hidden ones, a regression.

    Args:
        sizes: Widths from input to output.
        dtype: Of the weights.
    """

    def __init__(self, sizes: Sequence[int], dtype: str) -> None:
        generator = np.random.default_rng(WEIGHT_SEED)
        self.weights: list[Any] = []
        self.biases: list[Any] = []
        for number, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            first = generator.normal(0.0, (2.0 / fan_in) ** 0.5, (fan_in, fan_out)).astype(dtype)
            self.weights.append(tf.Variable(first, name=f"weights_{number}"))
            self.biases.append(tf.Variable(np.zeros(fan_out, dtype), name=f"biases_{number}"))

    @property
    def variables(self) -> list[Any]:
        """All weights and biases."""
        return self.weights + self.biases

    def layers(self, images: Any) -> list[Any]:
        """Returns the input of each layer, and the logits last."""
        inputs = [images]
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            inputs.append(tf.nn.relu(tf.matmul(inputs[-1], weights) + biases))
        return [*inputs, tf.matmul(inputs[-1], self.weights[-1]) + self.biases[-1]]

    def gradients(self, images: Any, labels: Any, batch_size: int) -> tuple[Any, list[Any]]:
        """Returns these examples' share of a batch's mean loss, and of its gradients.

        Args:
            images: `[n, 64]`, part or whole of the batch; n may be 0.
            labels: `[n] int64`.
            batch_size: Of the whole batch.
        """
        *inputs, logits = self.layers(images)
        wanted = tf.one_hot(labels, NUM_CLASSES, dtype=logits.dtype)
        loss = -tf.reduce_sum(wanted * tf.nn.log_softmax(logits)) / batch_size
        error = (tf.nn.softmax(logits) - wanted) / batch_size
        of_weights: list[Any] = []
        of_biases: list[Any] = []
        for number in reversed(range(len(inputs))):
            of_weights.insert(0, tf.matmul(inputs[number], error, transpose_a=True))
            of_biases.insert(0, tf.reduce_sum(error, axis=0))
            if number:  # back through the layer and through the ReLU before it
                is_active = tf.cast(inputs[number] > 0, error.dtype)
                error = tf.matmul(error, self.weights[number], transpose_b=True) * is_active
        return loss, of_weights + of_biases

    def accuracy(self, images: Array, labels: Array) -> float:
        """Returns the share of images that are recognised."""
        guesses = tf.argmax(self.layers(tf.constant(images))[-1], axis=1)
        return float(np.mean(guesses.numpy() == labels))

    def digest(self) -> bytes:
        """Returns the SHA-256 of all weights, bit by bit."""
        content = hashlib.sha256()
        for variable in self.variables:
            content.update(np.ascontiguousarray(variable.numpy()).tobytes())
        return content.digest()

    def norm(self) -> float:
        """Returns the length of all weights as one vector."""
        values = [variable.numpy().astype(np.float64) for variable in self.variables]
        return float(np.sqrt(sum(np.sum(value * value) for value in values)))


def make_step(network: Network, batch_size: int) -> Callable[[Any, Any], Any]:
    """Returns what each replica runs: gradients of its part, summed over all, one descent."""

    def step(images: Any, labels: Any) -> Any:
        loss, gradients = network.gradients(images, labels, batch_size)
        context = tf.distribute.get_replica_context()
        total, *sums = context.all_reduce(tf.distribute.ReduceOp.SUM, [loss, *gradients])
        for variable, gradient in zip(network.variables, sums, strict=True):
            variable.assign_sub(LEARNING_RATE * gradient)
        return total

    return step


# -- training, and what it cost --------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What was asked for on the command line, and what every training needs."""

    num_steps: int
    batch_size: int
    """Global: of all workers together."""
    dtype: str
    perturbed_task: str | None
    digits: Digits


@dataclass(frozen=True)
class Result:
    """One model trained under one strategy, as this process saw it."""

    model: str
    num_replicas: int
    batch_size: int
    accuracy: float
    samples_per_s: float
    shares: tuple[float, ...]
    """Of the wall time: compute, waiting, network, other. NaN where it cannot be measured."""
    bytes_per_step: float
    digest: bytes
    """Of the weights at the end."""


def train(
    strategy: Any, model: str, dataset: Any, batch_size: int, settings: Settings, log: TextIO | None
) -> tuple[Network, Result]:
    """Trains one model from its first weights, and tests it; each step's loss goes to `log`."""
    with strategy.scope():
        network = Network(MODELS[model], settings.dtype)
    step = make_step(network, batch_size)
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    before, started = counters(strategy), perf_counter()
    for number in range(settings.num_steps):
        loss = strategy.run(step, args=next(batches))
        if log is not None:
            write_step(log, model, number, float(loss), network)
    wall_s = perf_counter() - started
    spent = counters(strategy) - before
    digits = settings.digits
    return network, Result(
        model=model,
        num_replicas=strategy.num_replicas_in_sync,
        batch_size=batch_size,
        accuracy=network.accuracy(digits.test_images, digits.test_labels),
        samples_per_s=batch_size * settings.num_steps / wall_s,
        shares=(*spent[:3] / wall_s, 1.0 - spent[:3].sum() / wall_s),
        bytes_per_step=spent[3] / settings.num_steps,
        digest=network.digest(),
    )


def counters(strategy: Any) -> Array:
    """Returns seconds of compute, waiting, network, and bytes so far; NaN on real TensorFlow."""
    measurements = getattr(strategy.extended, "measurements", None)
    if measurements is None:
        return np.full(4, np.nan)
    keys = ("compute_s", "waiting_s", "network_s", "size_bytes")
    return np.array([measurements()[key] for key in keys])


def write_step(log: TextIO, model: str, number: int, loss: float, network: Network) -> None:
    """Writes one line about one step."""
    weights = network.digest().hex()
    line = {"model": model, "step": number, "loss": loss, "norm": network.norm()}
    print(json.dumps(line | {"weights": weights}), file=log, flush=True)


def train_alone(model: str, rank: int, count: int, settings: Settings) -> Result:
    """Trains in this process only, on its shard, with its share of the global batch."""
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    batch_size = settings.batch_size // count
    dataset = training_data(settings).shard(count, rank)
    dataset = dataset.batch(batch_size, drop_remainder=True).repeat()
    return train(strategy, model, dataset, batch_size, settings, log=None)[1]


def train_together(
    strategy: Any, model: str, task: str, settings: Settings, log: TextIO | None
) -> Result:
    """Trains with all workers; each gets its part of every global batch."""
    dataset = training_data(settings).batch(settings.batch_size, drop_remainder=True).repeat()
    network, result = train(strategy, model, dataset, settings.batch_size, settings, log)
    if settings.perturbed_task != task:
        return result
    perturb(network.variables[0])
    return Result(**vars(result) | {"digest": network.digest()})


def training_data(settings: Settings) -> Any:
    """Returns the training images and labels, one pair an element."""
    digits = settings.digits
    return tf.data.Dataset.from_tensor_slices((digits.train_images, digits.train_labels))


def perturb(variable: Any) -> None:
    """Changes one weight of this process's component by the least that there is."""
    changed = variable.numpy()
    changed.flat[0] = np.nextafter(changed.flat[0], np.inf, dtype=changed.dtype)
    variable.assign(changed)


# -- the table -------------------------------------------------------------------------------------

HEADER = (
    "strategy", "model", "replicas", "global batch", "steps", "test accuracy", "samples/s",
    "compute", "waiting", "network", "other", "bytes/step", "bit-identical",
)  # fmt: skip


def gathered(strategy: Any, values: Sequence[float]) -> Array:
    """Returns the values of all workers, `[workers, values] float64`. All must call it."""
    return np.asarray(strategy.gather(tf.constant([list(values)], tf.float64), axis=0).numpy())


def alone_rows(
    strategy: Any, result: Result, tasks: Sequence[str], num_steps: int
) -> list[list[str]]:
    """Returns a row of the table for each worker's own training. All workers must call it."""
    own = [result.accuracy, result.samples_per_s, *result.shares, result.bytes_per_step]
    rows = []
    for task, (accuracy, rate, *rest) in zip(tasks, gathered(strategy, own), strict=True):
        name = f"OneDevice ({task} alone)"
        rows.append(
            [name, result.model, "1", str(result.batch_size), str(num_steps)]
            + [f"{accuracy:.3f}", f"{rate:.0f}"]
            + [percent(share) for share in rest[:4]]
            + [count_text(rest[4]), "-"]
        )
    return rows


def together_row(strategy: Any, result: Result, tasks: Sequence[str], num_steps: int) -> list[str]:
    """Returns the row of the table for the joint training. All workers must call it."""
    return [
        "MultiWorkerMirrored",
        result.model,
        str(result.num_replicas),
        str(result.batch_size),
        str(num_steps),
        f"{result.accuracy:.3f}",
        f"{result.samples_per_s:.0f}",
        *(percent(share) for share in result.shares),
        count_text(result.bytes_per_step),
        identity_text(strategy, result.digest, tasks),
    ]


def identity_text(strategy: Any, digest: bytes, tasks: Sequence[str]) -> str:
    """Returns "yes" if all replicas' weights have one hash, else "no" and whose differ.

    The hash that most have counts as right; of equally many, the first task's.
    """
    digests = [
        bytes(row.astype(np.uint8)) for row in gathered(strategy, [float(b) for b in digest])
    ]
    usual = Counter(digests).most_common(1)[0][0]
    others = [task for task, one in zip(tasks, digests, strict=True) if one != usual]
    return f"no ({', '.join(others)})" if others else "yes"


def percent(share: float) -> str:
    """Returns a share as text, "-" if it was not measured."""
    return "-" if np.isnan(share) else f"{100 * share:.0f} %"


def count_text(number: float) -> str:
    """Returns a number as text, "-" if it was not measured."""
    return "-" if np.isnan(number) else f"{number:.0f}"


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Prints rows under the header, in columns."""
    lines = [HEADER, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    for line in lines:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


# -- roles -----------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    """Takes the branch of this task's role."""
    options = parse(arguments)
    digits = load_digits(DATA, options.dtype)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    resolver = strategy.cluster_resolver
    if resolver.task_type in {"chief", "worker"}:
        task = f"{resolver.task_type}:{resolver.task_id}"
        print(f"{task} takes the branch of a worker: it trains.", flush=True)
        work(strategy, task, options, digits)
    elif resolver.task_type == "ps":
        print(f"ps:{resolver.task_id} takes the branch of a ps: it serves.", flush=True)
        serve(resolver)
    elif resolver.task_type == "evaluator":
        print("evaluator:0 takes the branch of an evaluator: there is no checkpoint to evaluate.")
    else:
        print("No TF_CONFIG: this process takes the branch of a single worker.", flush=True)
        work(strategy, "worker:0", options, digits)


def serve(resolver: Any) -> None:
    """Serves until the cluster is done."""
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name="ps", task_index=resolver.task_id, protocol="grpc"
    )
    server.join()


def work(strategy: Any, task: str, options: argparse.Namespace, digits: Digits) -> None:
    """Trains alone and together; the chief prints the table."""
    tasks = training_tasks(strategy)
    count = strategy.num_replicas_in_sync
    check(options, tasks)
    settings = Settings(options.steps, options.batch, options.dtype, options.perturb, digits)
    rank = tasks.index(task)
    alone, together = [], []
    for model in MODELS:
        result = train_alone(model, rank, count, settings)
        alone += alone_rows(strategy, result, tasks, options.steps)
    with losses_file(options.losses, task, is_chief=rank == 0) as log:
        for model in MODELS:
            result = train_together(strategy, model, task, settings, log)
            together.append(together_row(strategy, result, tasks, options.steps))
    if rank == 0:
        print_table(alone + together)
    else:
        print(f"{task} is done; {tasks[0]} prints the table.", flush=True)


def check(options: argparse.Namespace, tasks: Sequence[str]) -> None:
    """Ends the process with one message if the options do not fit this cluster."""
    if options.batch % len(tasks) or options.batch > NUM_TRAIN:
        sys.exit(
            f"--batch is {options.batch}, expected a multiple of the {len(tasks)} worker(s), and at"
            f" most the {NUM_TRAIN} training images. Choose another."
        )
    if options.perturb not in {None, *tasks}:
        sys.exit(f"--perturb is {options.perturb!r}. Name one of the tasks {', '.join(tasks)}.")


def training_tasks(strategy: Any) -> list[str]:
    """Returns the tasks that train, in the order of their replica ids: chief, then workers."""
    cluster = strategy.cluster_resolver.cluster_spec()
    jobs = [job for job in ("chief", "worker") if job in cluster.jobs]
    return [f"{job}:{i}" for job in jobs for i in cluster.task_indices(job)] or ["worker:0"]


@contextmanager
def losses_file(path: Path | None, task: str, *, is_chief: bool) -> Iterator[TextIO | None]:
    """Opens the file for the steps' losses: the chief's as named, others' with the task appended."""
    if path is None:
        yield None
        return
    own = path if is_chief else path.with_name(f"{path.name}.{task.replace(':', '-')}")
    with own.open("w", encoding="utf-8") as log:
        yield log


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line; a mistake ends the process with one message and code 2."""
    parser = argparse.ArgumentParser(
        description="Trains on handwritten digits, alone and together."
    )
    parser.add_argument("--steps", type=positive, default=300, help="steps per training (300)")
    parser.add_argument("--batch", type=positive, default=60, help="global batch size (60)")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument(
        "--losses", type=Path, metavar="FILE", help="write each joint step's loss as JSON lines"
    )
    parser.add_argument(
        "--perturb", metavar="TASK", help="change one weight on that task (worker:1) at the end"
    )
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    """Returns a positive whole number; ValueError for anything else."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


if __name__ == "__main__":
    main()
