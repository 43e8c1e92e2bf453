"""What travels between tasks: frames, messages, channel options."""
