"""Settings of a task, from CLUSTERSIM_*."""

import os

import pytest

from clustersim.config import START_TIMEOUT_S, Listen, TaskSettings
from clustersim.errors import UsageError


def test_without_variables_every_default_suits_a_task_started_by_hand():
    settings = TaskSettings.from_environ({})
    assert settings == TaskSettings()
    assert settings.listen is Listen.LOOPBACK
    assert settings.start_timeout_s == START_TIMEOUT_S


def test_every_variable_is_read():
    environ = {
        "CLUSTERSIM_LISTEN": "own",
        "CLUSTERSIM_INSECURE_NETWORK": "1",
        "CLUSTERSIM_START_TIMEOUT": "2min",
        "CLUSTERSIM_CLUSTER_ID": "abc",
        "CLUSTERSIM_REPORT_FD": "2",
        "CLUSTERSIM_LINGER": "1",
        "CLUSTERSIM_TRACEBACK": "1",
    }
    assert TaskSettings.from_environ(environ) == TaskSettings(
        listen=Listen.OWN,
        insecure_network=True,
        start_timeout_s=120,
        cluster_id="abc",
        report_fd=2,
        linger=True,
        has_full_traceback=True,
    )


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("LISTEN", "everywhere", "loopback or own"),
        ("INSECURE_NETWORK", "yes", "0 or 1"),
        ("START_TIMEOUT", "soon", "a duration"),
        ("REPORT_FD", "-1", "a file descriptor"),
        ("REPORT_FD", "7:x", "a file descriptor"),
    ],
)
def test_a_value_that_cannot_be_understood_is_named(name, value, says):
    with pytest.raises(UsageError, match=f"CLUSTERSIM_{name} is '{value}'.*{says}"):
        TaskSettings.from_environ({f"CLUSTERSIM_{name}": value})


def test_a_report_goes_only_to_the_pipe_that_was_inherited():
    reading, writing = os.pipe()
    inode = os.fstat(writing).st_ino

    def fd(text):
        return TaskSettings.from_environ({"CLUSTERSIM_REPORT_FD": text}).report_fd

    assert fd(f"{writing}:{inode}") == writing
    assert fd(f"{writing}:{inode + 1}") is None, "another file has this number by now"
    os.close(writing)
    assert fd(f"{writing}:{inode}") is None, "the number is no open file"
    assert fd(str(1 << 70)) is None
    os.close(reading)
