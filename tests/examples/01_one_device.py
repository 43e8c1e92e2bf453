"""One device: variables and steps are placed on it."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import clustersim.tf as tf

strategy = tf.distribute.OneDeviceStrategy(device="/gpu:0")

with strategy.scope():
    v = tf.Variable(1.0)
    print(v.device)  # /job:localhost/replica:0/task:0/device:GPU:0


def step_fn(x):
    return x * 2


result = 0
for i in range(10):
    result += strategy.run(step_fn, args=(i,))
print(result)  # 90
