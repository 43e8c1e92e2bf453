"""Values that a function makes for each replica."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import numpy as np

import clustersim.tf as tf

strategy = tf.distribute.MirroredStrategy()
array_value = np.array([3.0, 2.0, 1.0])


def constant_fn(ctx):
    return tf.constant(1.0)


def array_fn(ctx):
    return array_value[ctx.replica_id_in_sync_group]


def count_fn(ctx):
    return ctx.num_replicas_in_sync


for value_fn in (constant_fn, array_fn, count_fn):
    distributed_values = strategy.experimental_distribute_values_from_function(value_fn)
    local_result = strategy.experimental_local_results(distributed_values)
    print(local_result)
