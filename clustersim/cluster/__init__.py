"""The nouns of a cluster: tasks, addresses, the cluster map, TF_CONFIG and who reads it."""
