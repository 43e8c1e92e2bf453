"""Who listens on a port of this machine: for the message that says it is taken."""


def owner_text(port: int) -> str:
    """Returns ` by process 4711 (python train.py)`, or '' if nobody visible listens there."""
    import psutil  # 15 ms that only a failure may cost

    try:
        for found in psutil.net_connections(kind="tcp"):
            is_it = isinstance(found.laddr, tuple) and found.laddr[1:2] == (port,)
            if is_it and found.status == psutil.CONN_LISTEN and found.pid:
                words = " ".join(psutil.Process(found.pid).cmdline()).split()
                command = " ".join(words)[:80]
                return f" by process {found.pid} ({command})"
    except psutil.Error:
        pass  # another user's, or gone by now
    return ""
