"""Pipelines over five text files of three lines, and what two workers read of them in TensorFlow 2.21.

Runs as a program under TensorFlow (`python file_pipelines.py`), where it prints its answers: so the
ones below cannot rot. Lines are named 0a 0b 0c 1a ... 4c, after file and line.
"""

import json
import sys
import tempfile
from pathlib import Path

NUM_FILES = 5


def write_files(folder):
    """Writes the files; returns their paths."""
    paths = [Path(folder) / f"f{number}.txt" for number in range(NUM_FILES)]
    for number, path in enumerate(paths):
        path.write_text("".join(f"{number}{letter}\n" for letter in "abc"))
    return [str(path) for path in paths]


def pipelines(tf, files):
    """Returns a function for each pipeline that makes it."""
    lines, data, four = tf.data.TextLineDataset, tf.data.Dataset, files[:4]
    pattern = str(Path(files[0]).with_name("f*.txt"))
    return {
        "lines": lambda: lines(four).batch(2),
        "an odd number of files": lambda: lines(files).batch(2),
        "files from a dataset": lambda: lines(data.from_tensor_slices(four)).batch(2),
        "lines of two files in turn": lambda: lines(four, num_parallel_reads=2).batch(2),
        "interleave": lambda: data.from_tensor_slices(four).interleave(lines, 2).batch(2),
        "flat_map": lambda: data.from_tensor_slices(four).flat_map(lines).batch(3),
        "flat_map of more": lambda: data.from_tensor_slices(four).flat_map(
            lambda path: lines(path).skip(1).batch(2)
        ),
        "numbers that stand for files": lambda: data.range(4).flat_map(lambda _: lines(files[0])),
        "files taken": lambda: data.from_tensor_slices(files).take(3).flat_map(lines),
        "files skipped": lambda: data.from_tensor_slices(files).skip(1).flat_map(lines),
        "files sharded": lambda: data.from_tensor_slices(four).shard(2, 0).flat_map(lines),
        "files in groups": lambda: data.from_tensor_slices(four).batch(2).flat_map(lines),
        "files with numbers": lambda: (
            data.from_tensor_slices(four).enumerate().flat_map(lambda _i, path: lines(path))
        ),
        "files from a generator": lambda: data.from_generator(
            lambda: iter(four), output_signature=tf.TensorSpec((), tf.string)
        ).flat_map(lines),
        "lines filtered": lambda: lines(four).filter(lambda _: True).batch(2),
        "batches undone": lambda: lines(four).batch(2).unbatch(),
        "list_files": lambda: data.list_files(pattern, shuffle=False).flat_map(lines).batch(3),
        "files shuffled": lambda: (
            data.from_tensor_slices(files[:2]).shuffle(2, seed=1).flat_map(lines)
        ),
        "files repeated": lambda: data.from_tensor_slices(files[:3]).repeat(2).flat_map(lines),
        "files shuffled, then repeated": lambda: (
            data.from_tensor_slices(files[:2]).shuffle(2, seed=1).repeat(2).flat_map(lines).batch(3)
        ),
        "lines repeated": lambda: lines(four).repeat(2).batch(4),
        "lines sharded": lambda: lines(four).shard(2, 0).batch(4),
        "lines taken": lambda: lines(four).take(3).batch(2),
        "cached, prefetched": lambda: lines(four).cache().prefetch(2).batch(2),
        "zip": lambda: data.zip((lines(four), lines(four))).map(lambda a, _b: a).batch(2),
        "concatenate": lambda: lines(files[:2]).concatenate(lines(files[2:4])).batch(2),
        "zip with numbers": lambda: data.zip((lines(four), data.range(99))).map(lambda a, _b: a),
        "enumerate": lambda: lines(four).enumerate().map(lambda _i, a: a),
        "numbers": lambda: data.range(4).map(lambda _: "x"),
        "paths alone": lambda: data.from_tensor_slices(four),
        "too few files": lambda: lines(files[0]).batch(2),
    }


UNSHARDABLE = "NotFoundError"

ANSWERS = {
    "lines": ["0a 0b|0c 2a|2b 2c", "1a 1b|1c 3a|3b 3c"],
    "an odd number of files": ["0a 0b|0c 2a|2b 2c|4a 4b|4c", "1a 1b|1c 3a|3b 3c"],
    "files from a dataset": ["0a 0b|0c 2a|2b 2c", "1a 1b|1c 3a|3b 3c"],
    "lines of two files in turn": ["0a 2a|0b 2b|0c 2c", "1a 3a|1b 3b|1c 3c"],
    "interleave": ["0a 2a|0b 2b|0c 2c", "1a 3a|1b 3b|1c 3c"],
    "flat_map": ["0a 0b 0c|2a 2b 2c", "1a 1b 1c|3a 3b 3c"],
    "flat_map of more": ["0b 0c|2b 2c", "1b 1c|3b 3c"],
    "numbers that stand for files": ["0a|0b|0c|0a|0b|0c", "0a|0b|0c|0a|0b|0c"],
    "files taken": ["0a|0b|0c|2a|2b|2c", "1a|1b|1c"],
    "files skipped": ["1a|1b|1c|3a|3b|3c", "2a|2b|2c|4a|4b|4c"],
    "files sharded": ["0a|0b|0c", "2a|2b|2c"],
    "files in groups": ["0a|0b|0c|1a|1b|1c", "2a|2b|2c|3a|3b|3c"],
    "files with numbers": ["0a|0b|0c|2a|2b|2c", "1a|1b|1c|3a|3b|3c"],
    "files from a generator": ["0a|0b|0c|2a|2b|2c", "1a|1b|1c|3a|3b|3c"],
    "lines filtered": ["0a 0b|0c 2a|2b 2c", "1a 1b|1c 3a|3b 3c"],
    "batches undone": ["0a|0b|0c|2a|2b|2c", "1a|1b|1c|3a|3b|3c"],
    "list_files": ["0a 0b 0c|2a 2b 2c|4a 4b 4c", "1a 1b 1c|3a 3b 3c"],
    "files shuffled": ["0a|0b|0c", "1a|1b|1c"],
    "files repeated": ["0a|0b|0c|2a|2b|2c|1a|1b|1c", "1a|1b|1c|0a|0b|0c|2a|2b|2c"],
    "files shuffled, then repeated": ["0a 0b 0c|0a 0b 0c", "1a 1b 1c|1a 1b 1c"],
    "lines repeated": [
        "0a 0b 0c 2a|2b 2c 0a 0b|0c 2a 2b 2c",
        "1a 1b 1c 3a|3b 3c 1a 1b|1c 3a 3b 3c",
    ],
    "lines sharded": ["0a 0c 2b", "1a 1c 3b"],
    "lines taken": ["0a 0b|0c", "1a 1b|1c"],
    "cached, prefetched": ["0a 0b|0c 2a|2b 2c", "1a 1b|1c 3a|3b 3c"],
    "zip": ["0a 0b|0c 2a|2b 2c", "1a 1b|1c 3a|3b 3c"],
    "concatenate": ["0a 0b|0c 2a|2b 2c", "1a 1b|1c 3a|3b 3c"],
    "zip with numbers": [UNSHARDABLE, UNSHARDABLE],
    "enumerate": [UNSHARDABLE, UNSHARDABLE],
    "numbers": [UNSHARDABLE, UNSHARDABLE],
    "paths alone": [UNSHARDABLE, UNSHARDABLE],
    "too few files": ["InvalidArgumentError", ""],
}
"""What worker 0 and worker 1 read: batches between bars; or the error, with auto_shard_policy FILE."""


def text_of(elements):
    """Returns elements in the form of the answers."""
    rows = [element.tolist() if hasattr(element, "tolist") else element for element in elements]
    rows = [row if isinstance(row, list) else [row] for row in rows]
    return "|".join(" ".join(line.decode() for line in row) for row in rows)


def main():
    """Prints TensorFlow's answers."""
    import tensorflow as tf
    from tensorflow.python.data.experimental.ops.distribute import _AutoShardDataset

    def read(make, worker):
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = (
            tf.data.experimental.AutoShardPolicy.FILE
        )
        try:
            shard = _AutoShardDataset(make().with_options(options), 2, worker)
            return text_of(shard.as_numpy_iterator())
        except tf.errors.OpError as error:
            return type(error).__name__

    with tempfile.TemporaryDirectory() as folder:
        made = pipelines(tf, write_files(folder))
        answers = {name: [read(make, 0), read(make, 1)] for name, make in made.items()}
    json.dump(answers, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
