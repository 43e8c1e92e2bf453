"""With one replica a reduction without an axis changes nothing."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import clustersim.tf as tf

strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
t = tf.range(10)

result = strategy.reduce(tf.distribute.ReduceOp.SUM, t, axis=None).numpy()
print(result)  # [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

result = strategy.reduce(tf.distribute.ReduceOp.SUM, t, axis=0).numpy()
print(result)  # 45
