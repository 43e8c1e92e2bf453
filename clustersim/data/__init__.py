"""The input pipeline: datasets, sharding, prefetch."""
