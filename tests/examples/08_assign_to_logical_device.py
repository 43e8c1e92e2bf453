"""A tensor assigned to one of the two logical devices of its replica."""

# ruff: noqa: PLR0402, RET504  # the lines of TensorFlow's page

import clustersim.tf as tf

inputs = [tf.constant([1.0, 2.0])]

# Initializing TPU system with 2 logical devices and 4 replicas.
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
topology = tf.tpu.experimental.initialize_tpu_system(resolver)
device_assignment = tf.tpu.experimental.DeviceAssignment.build(
    topology, computation_shape=[1, 1, 1, 2], num_replicas=4
)
strategy = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=device_assignment)
iterator = iter(inputs)


@tf.function()
def step_fn(inputs):
    output = tf.add(inputs, inputs)

    # Add operation will be executed on logical device 0.
    output = strategy.experimental_assign_to_logical_device(output, 0)
    return output


output = strategy.run(step_fn, args=(next(iterator),))
print(strategy.extended.placement(output))  # TensorFlow cannot show this
