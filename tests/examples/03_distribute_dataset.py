"""A dataset, brought to the device of the strategy."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import clustersim.tf as tf

strategy = tf.distribute.OneDeviceStrategy()
dataset = tf.data.Dataset.range(10).batch(2)
dist_dataset = strategy.experimental_distribute_dataset(dataset)
for x in dist_dataset:
    print(x)  # [0, 1], [2, 3],...
