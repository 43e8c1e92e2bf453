"""What is said of who has a port, and of the networks that this machine is in."""

import ipaddress
import os
import socket

from clustersim.cluster import ports


def test_who_listens_on_a_port_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert ports.owner_text(port).startswith(f" by process {os.getpid()} (")
        assert ports.owner_environ(port)["PATH"] == os.environ["PATH"]
    assert ports.owner_text(port) == ""
    assert ports.owner_environ(port) == {}


def test_this_machine_is_in_its_own_loopback_network():
    loopback = ipaddress.IPv4Address("127.0.0.1")
    assert any(loopback in network for _, network in ports.networks())
