"""Members and their leader over real gRPC, in one process: joining, news, barriers, goodbyes."""

import threading

import pytest

from clustersim.clock import SYSTEM_CLOCK
from clustersim.cluster.spec import Address, ClusterSpec, Task
from clustersim.errors import AbortedError, Cause, FailedPreconditionError, UnavailableError
from clustersim.runtime.leader import MembershipService
from clustersim.runtime.member import Member
from clustersim.runtime.membership import Membership
from clustersim.runtime.server import TaskServer
from tests.runtime.test_server import free_port

W0, W1, PS = Task("worker", 0), Task("worker", 1), Task("ps", 0)
WAIT_S = 5.0


class Cluster:
    """A leader's server, and members that think they are different processes."""

    def __init__(self):
        port = free_port()
        self.spec = ClusterSpec(
            {
                "worker": [f"127.0.0.1:{port}", "127.0.0.1:2"],
                "ps": ["127.0.0.1:3"],
            }
        )
        self.service = MembershipService(Membership(spec=self.spec, cluster_id="run"))
        self.server = TaskServer(Address("127.0.0.1", port), [self.service], num_tasks=3)
        self.members = []
        self.departed = []

    def member(self, task, incarnation=None, spec=None, cluster_id=""):
        member = Member(
            task,
            incarnation or len(self.members) + 1,
            spec=spec or self.spec,
            cluster_id=cluster_id,
            on_departed=self.departed.append,
            on_admitted=lambda: None,
        )
        self.members.append(member)
        member.join()
        return member

    def formed(self):
        members = [self.member(W0), self.member(W1)]
        for one in members:
            assert wait_formed(one)
        return members

    def close(self):
        for one in reversed(self.members):
            one.leave({})
        self.service.end()
        self.server.close()


def wait_formed(member, timeout_s=WAIT_S):
    return member.wait_formed(SYSTEM_CLOCK.now() + timeout_s, lambda _: None)


def eventually(check):
    deadline = SYSTEM_CLOCK.now() + WAIT_S
    while not check():
        assert SYSTEM_CLOCK.now() < deadline, "it never came"
        SYSTEM_CLOCK.sleep(0.01)


@pytest.fixture
def cluster():
    made = Cluster()
    yield made
    made.close()


def test_the_group_forms_and_all_learn_the_run_and_the_members(cluster):
    zero, one = cluster.formed()
    assert zero.cluster_id == one.cluster_id == "run"
    assert zero.members == one.members == {W0: 1, W1: 2}
    assert (zero.generation, one.missing) == (1, ())


def test_a_member_alone_knows_who_is_missing(cluster):
    one = cluster.member(W1)
    assert not wait_formed(one, timeout_s=0.2)
    assert one.is_admitted
    assert one.missing == (W0,)


def test_a_leader_that_comes_later_is_asked_again_until_it_listens():
    cluster = Cluster()
    cluster.server.close()
    early = cluster.member(W1)
    assert not wait_formed(early, timeout_s=0.2)
    assert not early.is_admitted
    address = cluster.spec.address(W0)
    cluster.server = TaskServer(address, [cluster.service], num_tasks=3)
    cluster.member(W0)
    assert wait_formed(early)
    cluster.close()


def test_a_ps_hears_the_goodbye_of_the_leader(cluster):
    zero, one = cluster.formed()
    ps = cluster.member(PS)
    eventually(lambda: ps.is_admitted)
    assert not ps.wait_ended(0.05)
    one.leave({"group-1": 3})
    zero.leave({"group-1": 3})
    assert ps.wait_ended(WAIT_S)


def test_a_goodbye_reaches_the_others_with_its_calls(cluster):
    zero, one = cluster.formed()
    one.leave({"group-1": 2}, failure="")
    eventually(lambda: W1 in [gone.task for gone in zero.departed()])
    (gone,) = zero.departed()
    assert not gone.is_dead
    assert gone.num_calls == {"group-1": 2}


def test_a_stream_that_breaks_is_a_death(cluster):
    zero, one = cluster.formed()
    one._is_leaving = True  # as far as it knows: the process is gone
    one._stream.cancel()
    eventually(zero.departed)
    (gone,) = zero.departed()
    assert (gone.task, gone.is_dead) == (W1, True)
    one._is_leaving = False


def test_the_death_of_the_leader_ends_the_group(cluster):
    _, one = cluster.formed()
    cluster.server._server.stop(0)
    assert one.wait_ended(WAIT_S)
    with pytest.raises(UnavailableError, match=r"worker:0, the leader, died") as caught:
        one.barrier("b", SYSTEM_CLOCK.now() + WAIT_S)
    assert caught.value.cause in {Cause.PEER_FAILED, None}


def test_a_barrier_holds_until_all_are_there(cluster):
    zero, one = cluster.formed()
    passed = []
    thread = threading.Thread(
        target=lambda: passed.append(zero.barrier("b", SYSTEM_CLOCK.now() + WAIT_S))
    )
    thread.start()
    thread.join(0.1)
    assert not passed
    assert one.barrier("b", SYSTEM_CLOCK.now() + WAIT_S)
    thread.join(WAIT_S)
    assert passed == [True]


def test_a_barrier_ends_with_its_deadline(cluster):
    zero, _ = cluster.formed()
    assert not zero.barrier("b", SYSTEM_CLOCK.now() + 0.1)


def test_a_barrier_ends_when_a_member_is_gone_that_had_not_arrived(cluster):
    zero, one = cluster.formed()
    one.leave({})
    with pytest.raises(UnavailableError, match="waits at barrier 'b', but worker:1 is gone"):
        zero.barrier("b", SYSTEM_CLOCK.now() + WAIT_S)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda c: c.member(W1, incarnation=77), FailedPreconditionError, "already there"),
        (lambda c: c.member(W1, cluster_id="other"), FailedPreconditionError, "belongs to run"),
        (
            lambda c: c.member(W1, spec=ClusterSpec({**c.spec.as_dict(), "ps": ["x:9"]})),
            FailedPreconditionError,
            "another cluster map: ps:0 is x:9 there",
        ),
    ],
)
def test_who_does_not_belong_is_refused_with_the_reason(cluster, make, error, says):
    first = cluster.member(W1)
    eventually(lambda: first.is_admitted)
    with pytest.raises(error, match=says):
        wait_formed(make(cluster))


def test_a_restarted_member_is_told_to_start_all_anew(cluster):
    _, one = cluster.formed()
    one.leave({})
    with pytest.raises(AbortedError, match="cannot rejoin a running group"):
        wait_formed(cluster.member(W1, incarnation=77))
