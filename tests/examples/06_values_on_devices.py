"""Values that are made on the device of their replica."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import clustersim.tf as tf

strategy = tf.distribute.TPUStrategy()
worker_devices = strategy.extended.worker_devices
multiple_values = []
for i in range(strategy.num_replicas_in_sync):
    with tf.device(worker_devices[i]):
        multiple_values.append(tf.constant(1.0))


def value_fn(ctx):
    return multiple_values[ctx.replica_id_in_sync_group]


distributed_values = strategy.experimental_distribute_values_from_function(value_fn)
for value in strategy.experimental_local_results(distributed_values)[:2]:
    print(value.device)
