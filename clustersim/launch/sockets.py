"""Which ports of this machine somebody listens on, read from the kernel's own tables.

Without connecting: a foreign server would take that for a client.
"""

from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTEN = "0A"


def listening_ports() -> set[int]:
    """Returns the ports in state LISTEN, of IPv4 and IPv6; none where there is no /proc."""
    ports = set()
    for table in _TABLES:
        try:
            rows = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state = row.split(maxsplit=4)[:4]
            if state == _LISTEN:
                ports.add(int(local.rpartition(":")[2], 16))
    return ports
