"""The transport over gRPC streams: each end has a real server on loopback, in this process."""

import socket
from contextlib import ExitStack

import grpc
import pytest

from clustersim.cluster.spec import Address, Task
from clustersim.errors import Cause
from clustersim.runtime.server import TaskServer
from clustersim.transport.base import PeerBroke
from clustersim.transport.rpc import Exchange, Identity, RpcTransport
from clustersim.wire.channel import open_channel
from tests.transport.conformance import TransportSuite, receive


class End:
    """One task: its server and its transport."""

    def __init__(self, rank, addresses, *, generation=1, cluster_id="run"):
        self.exchange = Exchange()
        task = list(addresses)[rank]
        self.server = TaskServer(
            Address.parse(addresses[task]), [self.exchange], num_tasks=len(addresses)
        )
        identity = Identity(
            cluster_id=cluster_id, generation=generation, task=task, incarnation=rank
        )
        self.exchange.form(identity, {t: r for r, t in enumerate(addresses)})
        self.transport = RpcTransport(
            "group-1", addresses, identity=identity, exchange=self.exchange
        )

    def close(self):
        self.transport.close()
        self.server.close()


def addresses(size):
    """Returns addresses that were free a moment ago."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(size)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return {
            Task("worker", rank): f"127.0.0.1:{one.getsockname()[1]}"
            for rank, one in enumerate(sockets)
        }


@pytest.fixture
def ends():
    made = []
    yield made
    for end in made:
        end.close()


@pytest.fixture
def group(ends):
    def make(size, **kwargs):
        where = addresses(size)
        ends.extend(End(rank, where, **kwargs) for rank in range(size))
        return [end.transport for end in ends]

    return make


@pytest.fixture
def kill(ends):
    def cut(transport):
        """What a death looks like from outside: every connection is reset."""
        for stream in transport._streams.values():
            stream._channel.close()
        ends[transport.rank].server._server.stop(0)

    return cut


class TestRpc(TransportSuite):
    def test_closing_waits_until_the_peer_has_everything(self, group):
        zero, one = group(2)
        for _ in range(8):
            zero.send(1, bytes(2**20))
        zero.close()
        for _ in range(8):
            assert len(receive(one, 0)) == 2**20

    def test_a_stream_of_another_run_is_refused_by_name(self, group):
        zero, one = group(2)
        where = dict(zip(zero.tasks, zero._addresses, strict=True))
        identity = Identity(cluster_id="old", generation=1, task=zero.tasks[0], incarnation=0)
        exchange = Exchange()
        exchange.form(identity, dict.fromkeys(where, 0))
        stranger = RpcTransport("group-1", where, identity=identity, exchange=exchange)
        stranger.send(1, b"hello")
        with pytest.raises(PeerBroke, match="expected cid=run") as caught:
            receive(stranger, 1)
        assert caught.value.cause is Cause.STALE
        assert one.receive(0, 0.05) is None
        stranger.close()


@pytest.mark.parametrize(
    ("key", "value"), [("gen", "2"), ("inc", "99"), ("src", "worker:7"), ("group", "")]
)
def test_a_stale_or_strange_stream_is_refused(group, key, value):
    zero, one = group(2)
    metadata = dict(zero._identity.metadata("group-1")) | {key: value}
    with open_channel(zero._addresses[1]) as channel:
        call = channel.stream_unary("/clustersim.wire.v1.CollectiveService/Exchange")
        with pytest.raises(grpc.RpcError) as caught:
            call(iter([b"frame"]), metadata=tuple(metadata.items()), timeout=5)
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert one.receive(0, 0.05) is None
