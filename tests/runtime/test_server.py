"""The one server of a task: what it binds, and what it says when it cannot."""

import socket
import threading

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from clustersim.cluster.spec import Address
from clustersim.errors import StartError, UnknownError
from clustersim.runtime.server import TaskServer


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def serve():
    servers = []

    def make(host="localhost", port=None, **kwargs):
        servers.append(TaskServer(Address(host, port or free_port()), [], num_tasks=2, **kwargs))
        return servers[-1]

    yield make
    for server in servers:
        server.close()
        server.close()


def test_it_answers_the_standard_health_check(serve):
    port = free_port()
    serve(port=port)
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_name_is_bound_on_every_address_it_stands_for(serve):
    server = serve("localhost")
    found = socket.getaddrinfo("localhost", 1, type=socket.SOCK_STREAM)
    assert len(server.bound) == len({sockaddr[0] for *_, sockaddr in found})


def test_a_port_that_is_taken_is_an_error_that_names_its_owner(serve):
    with socket.socket() as owner:
        owner.bind(("127.0.0.1", 0))
        owner.listen()
        with pytest.raises(UnknownError, match=r"already in use by process \d+ .*CSE203"):
            serve("127.0.0.1", owner.getsockname()[1])


def test_two_servers_never_share_a_port(serve):
    port = free_port()
    serve(port=port)
    with pytest.raises(UnknownError, match="already in use"):
        serve(port=port)


def test_a_port_that_the_launcher_holds_for_us_can_be_bound(serve):
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        server = serve("127.0.0.1", held.getsockname()[1])
    assert server.bound


def test_an_address_that_others_can_reach_is_refused_until_it_is_allowed(serve):
    with pytest.raises(StartError, match=r"CLUSTERSIM_LISTEN=own.*CSE204"):
        serve("0.0.0.0")
    assert serve("0.0.0.0", may_leave_loopback=True).bound


@pytest.mark.parametrize("host", ["no-such-host.invalid", "198.18.0.77"])
def test_an_address_that_is_not_ours_is_refused(serve, host):
    with pytest.raises(UnknownError, match="CSE207"):
        serve(host, may_leave_loopback=True)


def test_closing_leaves_no_thread(serve):
    before = set(threading.enumerate())
    server = serve()
    with grpc.insecure_channel(server.bound[0]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        stub.Check(health_pb2.HealthCheckRequest(), timeout=5)
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        next(watch)
        server.close()
        watch.cancel()
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("cs-")]
