"""The page's split as it is printed: 8 pieces on 2 logical devices, and a tuple for `images`."""

# ruff: noqa: PLR0402, RET504  # the lines of TensorFlow's page

import clustersim.tf as tf

inputs = [(tf.ones([2, 4, 8, 3]), tf.zeros([2]))]

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
    images, _labels = inputs
    images = strategy.experimental_split_to_logical_devices(inputs, [1, 2, 4, 1])
    return images


try:
    strategy.run(step_fn, args=(next(iterator),))
except ValueError as error:
    print(error)
