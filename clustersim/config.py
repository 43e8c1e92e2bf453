"""All settings of a task, as one frozen value; the only reader of `CLUSTERSIM_*`.

`clustersim run` sets these variables for the tasks it starts; without it every default is right for
a task that was started by hand.
"""

import enum
import os
from collections.abc import Mapping
from dataclasses import dataclass

from clustersim import errors, units

START_TIMEOUT_S = 300.0
"""Long enough to open some terminals by hand, short enough to be told before lunch."""

PREFIX = "CLUSTERSIM_"


class Listen(enum.Enum):
    """Which addresses a task may bind."""

    LOOPBACK = "loopback"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """Settings of one task process."""

    listen: Listen = Listen.LOOPBACK
    """CLUSTERSIM_LISTEN: `loopback` (default), or `own`: the address TF_CONFIG gives the task."""

    insecure_network: bool = False
    """CLUSTERSIM_INSECURE_NETWORK=1: agrees that other machines can read and write the traffic.
    Default no: there is no encryption yet."""

    start_timeout_s: float = START_TIMEOUT_S
    """CLUSTERSIM_START_TIMEOUT, in seconds or as "2min": how long to wait for the other tasks to
    join before giving up."""

    cluster_id: str = ""
    """CLUSTERSIM_CLUSTER_ID: tells runs apart that use the same addresses. Default: the leader
    makes one and the others learn it when they join."""

    report_fd: int | None = None
    """CLUSTERSIM_REPORT_FD: an inherited pipe for reports to the supervisor, as `7:81234` (descriptor
    and inode), or 2: stderr, marked. Default: none."""

    started_as: str = ""
    """CLUSTERSIM_TASK: which task the launcher started, as `worker:1`. Default: there is none."""

    linger: bool = False
    """CLUSTERSIM_LINGER=1: a worker or ps that is done stays until the chief said goodbye, and 10 s
    more unless it is ended. Default no; the compose file sets it, since there the first exit ends
    everything, and it must be the chief's."""

    has_full_traceback: bool = False
    """CLUSTERSIM_TRACEBACK=1: an exception that ends the program is shown with our own frames.
    Default no: they say nothing about the program."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> "TaskSettings":
        """Reads the settings of this process.

        Raises:
            UsageError: A variable has a value that cannot be understood.
        """
        env = os.environ if environ is None else environ
        timeout_text = env.get(PREFIX + "START_TIMEOUT", "")
        report_text = env.get(PREFIX + "REPORT_FD", "")
        listen_text = env.get(PREFIX + "LISTEN", Listen.LOOPBACK.value)
        try:
            listen = Listen(listen_text)
        except ValueError:
            raise _bad("LISTEN", listen_text, "loopback or own") from None
        try:
            timeout_s = units.parse_duration(timeout_text) if timeout_text else START_TIMEOUT_S
        except ValueError:
            raise _bad("START_TIMEOUT", timeout_text, "a duration such as 60 or 2min") from None
        return cls(
            listen=listen,
            insecure_network=_flag(env, "INSECURE_NETWORK"),
            start_timeout_s=timeout_s,
            cluster_id=env.get(PREFIX + "CLUSTER_ID", ""),
            report_fd=_report_fd(report_text) if report_text else None,
            started_as=env.get(PREFIX + "TASK", ""),
            linger=_flag(env, "LINGER"),
            has_full_traceback=_flag(env, "TRACEBACK"),
        )

    def sibling(self, environ: Mapping[str, str]) -> str:
        """Returns which task of this run a process with `environ` was started as; '' if none."""
        if not self.started_as or environ.get(PREFIX + "CLUSTER_ID", "") != self.cluster_id:
            return ""
        return environ.get(PREFIX + "TASK", "")


def simulated_devices(environ: Mapping[str, str] | None = None) -> str:
    """Returns CLUSTERSIM_DEVICES: which devices to simulate, as `gpu:2,memory=2GiB;tpu:8`.

    Default: none, which leaves the CPU and what the machine really has. The grammar is that of
    `devices.request`.
    """
    return (os.environ if environ is None else environ).get(PREFIX + "DEVICES", "")


def _report_fd(text: str) -> int | None:
    """Returns the descriptor of the launcher's pipe, None in a process that did not inherit it.

    A process that a task's program starts has the variable, too; there the number is no open file,
    or by now another one, which is why the pipe's inode is told with it.
    """
    number, has_inode, inode = text.partition(":")
    if not number.isdecimal() or (has_inode and not inode.isdecimal()) or len(text) > 40:
        raise _bad("REPORT_FD", text, "a file descriptor number, and its inode after a colon")
    try:
        found = os.fstat(int(number)).st_ino
    except (OSError, OverflowError):
        return None
    return None if has_inode and found != int(inode) else int(number)


def _flag(env: Mapping[str, str], name: str) -> bool:
    text = env.get(PREFIX + name, "")
    if text not in {"", "0", "1"}:
        raise _bad(name, text, "0 or 1")
    return text == "1"


def _bad(name: str, text: str, expected: str) -> errors.UsageError:
    return errors.UsageError(f"{PREFIX}{name} is {text!r}. Set it to {expected}, or unset it.")
