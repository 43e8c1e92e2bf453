"""The transport between threads."""

import pytest

from clustersim.transport.inproc import inproc_group
from tests.transport.conformance import TransportSuite


@pytest.fixture
def group():
    return inproc_group


@pytest.fixture
def kill():
    return lambda end: end.crash()


class TestInproc(TransportSuite):
    def test_a_goodbye_is_no_error_by_itself(self, group):
        zero, one = group(2)
        one.leave(num_calls=7)
        assert zero.receive(1, 0.01) is None
        (ended,) = zero.ended()
        assert (ended.rank, ended.num_calls) == (1, 7)

    def test_a_member_that_said_goodbye_cannot_die_afterwards(self, group):
        zero, one = group(2)
        one.leave(num_calls=7)
        one.crash()
        assert zero.receive(1, 0.01) is None
