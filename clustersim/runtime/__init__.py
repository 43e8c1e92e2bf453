"""What one task process is while it lives: server, membership, ambient task."""
