"""TF_CONFIG says where this process stands: one program for workers and parameter servers."""

# ruff: noqa: PLR0402  # the lines of TensorFlow's page

import json
import os

import clustersim.tf as tf

if "TF_CONFIG" not in os.environ:
    os.environ["TF_CONFIG"] = json.dumps(
        {
            "cluster": {
                "worker": ["localhost:12345", "localhost:23456"],
                "ps": ["localhost:34567"],
            },
            "task": {"type": "worker", "index": 0},
        }
    )

# This implicitly uses TF_CONFIG for the cluster and current task info.
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()

if strategy.cluster_resolver.task_type == "worker":
    total = strategy.reduce("SUM", tf.constant(1.0), axis=None)
    print("worker", strategy.cluster_resolver.task_id, "of", float(total))
elif strategy.cluster_resolver.task_type == "ps":
    print("ps", strategy.cluster_resolver.task_id)
