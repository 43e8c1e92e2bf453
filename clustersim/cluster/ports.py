"""Who listens on a port of this machine, and which networks it is in: for what says they are taken."""

import ipaddress
import socket
from collections.abc import Iterator, Mapping


def owner_text(port: int) -> str:
    """Returns ` by process 4711 (python train.py)`, or '' if nobody visible listens there."""
    import psutil  # 15 ms that only a failure may cost

    if (pid := _owner(port)) is None:
        return ""
    try:
        words = " ".join(psutil.Process(pid).cmdline()).split()
    except psutil.Error:
        return ""  # gone by now
    command = " ".join(words)[:80]
    return f" by process {pid} ({command})"


def owner_environ(port: int) -> Mapping[str, str]:
    """Returns what the environment of the process that listens on `port` was at its start.

    Empty if nobody visible listens there.
    """
    import psutil  # as above

    if (pid := _owner(port)) is None:
        return {}
    try:
        return psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}  # another user's, or gone by now


def _owner(port: int) -> int | None:
    import psutil  # as above

    try:
        for found in psutil.net_connections(kind="tcp"):
            is_it = isinstance(found.laddr, tuple) and found.laddr[1:2] == (port,)
            if is_it and found.status == psutil.CONN_LISTEN and found.pid:
                return found.pid
    except psutil.Error:
        pass  # macOS shows connections to root alone
    return None


def networks() -> Iterator[tuple[str, ipaddress.IPv4Network]]:
    """Yields this machine's networks, each with the name of its interface."""
    import psutil  # as above

    for name, addresses in psutil.net_if_addrs().items():
        for one in addresses:
            if one.family is socket.AF_INET and one.netmask is not None:
                network = f"{one.address}/{one.netmask}"
                yield name, ipaddress.IPv4Network(network, strict=False)
