"""The one gRPC server of a task: its address, its threads, its services.

Binds exactly the address that TF_CONFIG gives the task, on every family that the name resolves to,
never shared (`so_reuseport=0`), and only on loopback unless told otherwise. Serves the standard
health service and whatever services it is handed.
"""

import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from clustersim.cluster.ports import owner_text
from clustersim.cluster.spec import Address
from clustersim.errors import StartError, UnknownError
from clustersim.wire.channel import server_options

CLOSE_GRACE_S = 1.0
"""How long open streams may go on once the server closes: they only drain by then."""

_SPARE_STREAMS = 16
"""Streams beyond two for each task: health checks, joins that are tried again, strangers."""


class Service(Protocol):
    """Something that a task's server serves."""

    def attach(self, server: grpc.Server) -> None:
        """Adds itself to a server that has not been started."""
        ...


class TaskServer:
    """A running server. Closing it twice does no harm.

    A synchronous server spends one thread on each open stream, so there is one for every stream
    that may be open, and no handler ever waits for a peer.

    Raises:
        UnknownError: The address is in use (CSE203, with its owner if visible) or is not this
            machine's (CSE207). TensorFlow raises UnknownError here too.
        StartError: The address is not loopback, and `may_leave_loopback` is not set (CSE204).
    """

    def __init__(
        self,
        address: Address,
        services: Sequence[Service],
        *,
        num_tasks: int,
        may_leave_loopback: bool = False,
    ) -> None:
        num_streams = 2 * num_tasks + _SPARE_STREAMS
        hosts = _resolve(address)
        if not may_leave_loopback:
            _check_loopback(address, hosts)
        self._health = health.HealthServicer()
        self._threads = _ThreadPerCall()
        self._server = grpc.server(
            self._threads,
            options=server_options(num_streams),
            maximum_concurrent_rpcs=num_streams,
        )
        for service in services:
            service.attach(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self.bound = tuple(_bind(self._server, host, address) for host in hosts)
        self._server.start()
        self._health.set("", health_pb2.HealthCheckResponse.SERVING)

    def close(self) -> None:
        """Refuses new calls, lets open streams drain for a moment, and joins all threads."""
        self._health.enter_graceful_shutdown()
        self._server.stop(CLOSE_GRACE_S).wait(2 * CLOSE_GRACE_S)
        self._threads.shutdown()


class _ThreadPerCall(futures.Executor):
    """Runs each call in a thread of its own; the server bounds how many there are.

    Not a ThreadPoolExecutor: Python joins the threads of those at exit *before* `atexit` runs, so
    the goodbye that would end their streams could never be said.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _threads
        self._threads: set[threading.Thread] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "futures.Future[Any]":
        future: futures.Future[Any] = futures.Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001  # a thread's outermost line
                future.set_exception(error)
            with self._lock:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=work, name="cs-runtime-rpc", daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  # the base's signature
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(CLOSE_GRACE_S)


def _resolve(address: Address) -> list[str]:
    """Returns the IP addresses that a host name stands for, without those of absent families."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UnknownError(
            f"{address} cannot be bound: its host name does not resolve ({error.strerror}). Correct"
            " it in TF_CONFIG.",
            code="CSE207",
        ) from None
    hosts = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    present = [host for host in hosts if _probe(host, 0) != errno.EADDRNOTAVAIL]
    if not present:
        raise UnknownError(
            f"{address} cannot be bound: {', '.join(hosts)} is not an address of this machine."
            " Correct it in TF_CONFIG, or start this task where it belongs.",
            code="CSE207",
        )
    return present


def _check_loopback(address: Address, hosts: Sequence[str]) -> None:
    for host in hosts:
        if not ipaddress.ip_address(host.partition("%")[0]).is_loopback:
            raise StartError(
                f"{address} is {host}, which other machines can reach, and there is no encryption"
                " yet. Use localhost, or set CLUSTERSIM_LISTEN=own together with"
                " CLUSTERSIM_INSECURE_NETWORK=1.",
                code="CSE204",
            )


def _bind(server: grpc.Server, host: str, address: Address) -> str:
    bound = str(Address(host, address.port))
    try:
        if server.add_insecure_port(bound) == address.port:
            return bound
    except RuntimeError:  # what newer gRPC raises where older returned 0
        pass
    raise UnknownError(
        f"Could not start gRPC server: {address} ({bound}) is already in use"
        f"{owner_text(address.port)}. End it, or give this task another port.",
        code="CSE203",
    )


def _probe(host: str, port: int) -> int:
    """Returns the errno of binding a plain socket, 0 if it can be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        return error.errno or errno.EADDRNOTAVAIL
    return 0
