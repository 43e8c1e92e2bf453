"""A dataset of the rows of a NumPy array."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import numpy as np

import clustersim.tf as tf

strategy = tf.distribute.MirroredStrategy()
numpy_input = np.ones([10], dtype=np.float32)
dataset = strategy.experimental_make_numpy_dataset(numpy_input)
print(dataset)
dataset = dataset.batch(2)
dist_dataset = strategy.experimental_distribute_dataset(dataset)
print(len(list(dist_dataset)))  # 5
