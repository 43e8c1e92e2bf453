"""Generated from protos/clustersim/wire/v1; see scripts/proto."""
