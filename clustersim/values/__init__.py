"""What a program computes with: tensors, variables, per-replica values, scopes."""
