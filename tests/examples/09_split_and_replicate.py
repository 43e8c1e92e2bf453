"""Images split over eight logical devices; labels and logits on all of them."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import clustersim.tf as tf

inputs = [(tf.ones([2, 4, 8, 3]), tf.zeros([2]))]

# Initializing TPU system with 8 logical devices and 1 replica.
resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
topology = tf.tpu.experimental.initialize_tpu_system(resolver)
device_assignment = tf.tpu.experimental.DeviceAssignment.build(
    topology, computation_shape=[1, 2, 2, 2], num_replicas=1
)
strategy = tf.distribute.TPUStrategy(resolver, experimental_device_assignment=device_assignment)
iterator = iter(inputs)


def model(images):
    print(strategy.extended.placement(images))
    return tf.reduce_sum(images, axis=[1, 2, 3])


def loss_fn(labels, logits):
    return tf.reduce_sum(tf.square(logits - labels))


@tf.function()
def step_fn(inputs):
    images, labels = inputs
    images = strategy.experimental_split_to_logical_devices(images, [1, 2, 4, 1])

    # model() function will be executed on 8 logical devices with `images`
    # split 2 * 4  ways.
    output = model(images)

    # For loss calculation, all logical devices share the same logits
    # and labels.
    labels = strategy.experimental_replicate_to_logical_devices(labels)
    output = strategy.experimental_replicate_to_logical_devices(output)
    return loss_fn(labels, output)


print(strategy.run(step_fn, args=(next(iterator),)))
