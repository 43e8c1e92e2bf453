"""A dataset that each worker makes for itself, told which of them it is."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import clustersim.tf as tf

strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
global_batch_size = 4


def replica_fn(batch):
    return tf.reduce_sum(batch)


def dataset_fn(input_context):
    batch_size = input_context.get_per_replica_batch_size(global_batch_size)
    d = tf.data.Dataset.from_tensors([[1.0]]).repeat().batch(batch_size)
    return d.shard(input_context.num_input_pipelines, input_context.input_pipeline_id).take(3)


inputs = strategy.experimental_distribute_datasets_from_function(dataset_fn)

for batch in inputs:
    replica_results = strategy.run(replica_fn, args=(batch,))
    print(replica_results)
