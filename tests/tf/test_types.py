"""A user's program written against clustersim.tf type-checks."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PROGRAM = """
from clustersim import tf


def step(batch: tf.Tensor, scale: float) -> tf.Tensor:
    return tf.reduce_sum(batch * scale)


strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
with strategy.scope():
    total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
dataset = tf.data.Dataset.range(8).map(lambda x: tf.cast(x, tf.float32)).batch(4)


@tf.function
def train(batch: tf.Tensor) -> tf.Tensor:
    loss = step(batch, 0.5)
    total.assign_add(loss)
    return loss


for each in strategy.experimental_distribute_dataset(dataset):
    losses = strategy.run(train, args=(each,))
    mean = strategy.reduce(tf.distribute.ReduceOp.MEAN, losses, axis=None)
    print(float(mean), strategy.num_replicas_in_sync + 1)
if strategy.cluster_resolver is not None:
    print(strategy.cluster_resolver.task_type)
with tf.device("/gpu:0"):
    print((tf.constant([1.0]) + 1).device.upper())
"""


@pytest.mark.process
@pytest.mark.timeout(120)
@pytest.mark.skipif(shutil.which("mypy", path=str(ROOT / ".venv/bin")) is None, reason="no mypy")
def test_a_users_program_type_checks(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
         "--config-file", "", "train.py"],
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert "Success" in done.stdout, done.stdout
