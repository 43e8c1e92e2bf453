"""Fixtures of our own tests: nothing a test starts may outlive it."""

import signal
import threading
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "clustersim"

LEAVE_S = 5.0
"""How long threads and processes that were told to end may take."""


@pytest.fixture(scope="session")
def package_sources():
    """The text of every module of the package that is not generated, by its path."""
    return {
        path.relative_to(PACKAGE): path.read_text()
        for path in PACKAGE.rglob("*.py")
        if "_pb2" not in path.name
    }


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """A shell's background jobs ignore SIGINT, and so would all that tests start."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _our_threads():
    return {t for t in threading.enumerate() if t.name.startswith("cs-") or not t.daemon}


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    """Fails a test that leaves a thread of ours or a child process."""
    me = psutil.Process()
    threads, children = _our_threads(), set(me.children(recursive=True))
    yield
    left = _our_threads() - threads
    for thread in left:
        thread.join(LEAVE_S)
    started = [child for child in me.children(recursive=True) if child not in children]
    _, alive = psutil.wait_procs(started, timeout=LEAVE_S) if started else ([], [])
    for child in alive:
        child.kill()
    assert not [t.name for t in left if t.is_alive()], "threads are left"
    assert not alive, "processes are left"


@pytest.fixture
def by_hand(tmp_path):
    """A cluster of real processes without a launcher."""
    from tests.by_hand import ByHand

    cluster = ByHand(tmp_path)
    yield cluster
    cluster.close()
