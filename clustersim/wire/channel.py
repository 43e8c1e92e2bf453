"""gRPC channels and servers: every option in one place, and what their failures mean.

The options are the measured ones: keepalive alone notices nothing in grpcio 1.85, since the wait
for the pong is `http2.ping_timeout_ms`; a default server drops clients that ping every 2 s; and
gRPC binds with SO_REUSEPORT, so that two clusters on one port would share connections.
"""

import os

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # else a taken port prints gRPC's line, not ours

import grpc  # after the line above: gRPC reads the variable at import

MAX_MESSAGE_BYTES = 4 * 2**20 + 64 * 2**10
"""A frame's largest payload, and room for its header and gRPC's own."""

_KEEPALIVE_MS = 2000
_PONG_TIMEOUT_MS = 3000
"""Below 500 ms healthy peers were declared dead under load; 3 s never was."""

_KEEPALIVE = (
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _PONG_TIMEOUT_MS),
    ("grpc.http2.ping_timeout_ms", _PONG_TIMEOUT_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


def open_channel(address: str) -> grpc.Channel:
    """Returns a channel to `host:port`; the caller closes it. Nothing is dialled yet."""
    return grpc.insecure_channel(
        address,
        options=(
            *_KEEPALIVE,
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 300),
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            # One connection a channel: a channel that is closed takes its connection along.
            ("grpc.use_local_subchannel_pool", 1),
        ),
    )


def server_options(num_streams: int) -> tuple[tuple[str, int], ...]:
    """Returns the options of a task's server that must hold `num_streams` open streams."""
    return (
        *_KEEPALIVE,
        ("grpc.so_reuseport", 0),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 500),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_metadata_size", 8 * 2**10),
        ("grpc.max_concurrent_streams", num_streams),
    )


def status_text(error: grpc.RpcError) -> str:
    """Returns what gRPC says of a failed call, on one line."""
    code = error.code() if isinstance(error, grpc.Call) else None
    details = error.details() if isinstance(error, grpc.Call) else str(error)
    name = code.name if code is not None else "UNKNOWN"
    return f"{name}: {' '.join((details or '').split())}"
