"""tf.distribute strategies: how one program is spread over replicas."""
