"""Outside a task: start, watch and end its processes. Never loads numpy or grpc."""
