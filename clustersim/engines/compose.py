"""`ComposeCluster`: a run in containers, through docker-compose.

It writes a compose file into the run folder; the supervisor has Compose make its containers, starts,
watches and ends them, and takes them away again.
"""

import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clustersim.cluster import ports
from clustersim.cluster.spec import ClusterSpec
from clustersim.engines import leftovers
from clustersim.engines.base import RunSpec
from clustersim.engines.compose_file import Containers, compose_file, in_containers
from clustersim.engines.supervised import Event, SupervisedCluster
from clustersim.errors import StartError
from clustersim.launch.containers import DOWN_LIMIT_S, last_words
from clustersim.launch.plan import ContainerPlan, RunPlan

_ASK_LIMIT_S = 20.0

_REPORTS_ON_STDERR = "2"
_READ_BY_ALL = 0o004
_ENTERED_BY_ALL = 0o005


class ComposeCluster(SupervisedCluster):
    """One container for each task, made by docker-compose and taken away at the end.

    The folder where this process is appears read-only at /work in every container, and the script
    runs there; so it must lie below that folder.

    Args:
        script: What every task runs; or give a whole RunSpec.
        spec: The cluster, as counts. Default: 2 workers.
        args: For the script.
        containers: Image and limits. Default: those of `Containers`.
        on_event: Hears every event of the run, from a thread of ours.
        **settings: Further fields of `RunSpec`.

    Use it in a with-statement: leaving it ends whatever still runs.

    Raises:
        StartError: No engine answers or it refuses (CSE208), the image is not there (CSE209), the
            script cannot be run, the run folder cannot be written.
        UsageError: The cluster has no task that could decide the run, or has addresses.
    """

    def __init__(
        self,
        script: str | os.PathLike[str] | RunSpec,
        spec: ClusterSpec | None = None,
        *,
        args: Sequence[str] = (),
        containers: Containers | None = None,
        on_event: Callable[[Event], None] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(script, spec, args=args, on_event=on_event, **settings)
        self.containers = containers or Containers()
        self._docker: tuple[str, ...] = ("docker",)
        self._compose: tuple[str, ...] = ()
        self._project = f"clustersim-{uuid.uuid4().hex[:12]}"

    def _check(self) -> None:
        in_containers(self.spec.cluster)
        _ask((*self._docker, "version", "--format", "{{.Server.Version}}"))
        self._compose = compose_command()
        self._end_left()
        if self.containers.publish is not None:
            _check_free(self.containers.publish)
        self.containers.check_apart(ports.networks())
        if not _succeeds((*self._docker, "image", "inspect", self.containers.image)):
            raise StartError(
                f"The image {self.containers.image} is not on this engine. Build it in a clone of"
                " clustersim (`docker compose build`), pull it, or name another with --image.",
                code="CSE209",
            )

    def _end_left(self) -> None:
        """Ends what a run left whose launcher and supervisor were both killed."""
        count = leftovers.end_left(self._docker)
        if count:
            text = f"{count} containers of runs that were killed are taken away"
            self._hand_on({"v": 1, "t": 0.0, "ev": "note", "text": text})

    def _plan(self, program: tuple[str, ...]) -> RunPlan:
        file = self.folder / "docker-compose.yml"
        containers = replace(
            self.containers, folder=str(Path.cwd()), user=_user() or self.containers.user
        )
        text = compose_file(
            self.spec,
            containers,
            program=within(Path.cwd(), program),
            title=[f"Run {self.name}, and gone with it."],
            own_environ={
                "CLUSTERSIM_CLUSTER_ID": uuid.uuid4().hex,
                "CLUSTERSIM_START_TIMEOUT": str(self.spec.start_timeout_s),
                "CLUSTERSIM_REPORT_FD": _REPORTS_ON_STDERR,
            },
            labels={leftovers.LABEL: leftovers.own_mark()},
        )
        file.write_text(text)
        cluster = in_containers(self.spec.cluster)
        return replace(
            super()._plan(program),
            cluster={job: [str(one) for one in cluster.job_tasks(job)] for job in cluster.jobs},
            containers=ContainerPlan(
                docker=self._docker, compose=self._compose, file=str(file), project=self._project
            ),
        )

    def _end_leftovers(self) -> None:
        super()._end_leftovers()
        _succeeds(
            (*self._compose, "-p", self._project, "-f", str(self.folder / "docker-compose.yml"),
             "down", "--volumes", "--timeout", "1"),
            DOWN_LIMIT_S,
        )  # fmt: skip


def compose_command() -> tuple[str, ...]:
    """Returns the command of Compose: v2, else v1.

    Raises:
        StartError: There is none (CSE208).
    """
    if _succeeds(("docker", "compose", "version")):
        return ("docker", "compose")
    if shutil.which("docker-compose"):
        return ("docker-compose",)
    raise StartError(
        "Docker Compose is not installed: neither `docker compose version` nor `docker-compose` works."
        " Install it, or leave --engine out.",
        code="CSE208",
    )


def within(folder: Path, program: Sequence[str]) -> tuple[str, ...]:
    """Returns the interpreter's arguments with the script's path as it is below `folder`.

    Raises:
        StartError: The script does not lie below it, or others may not read it (CSE201).
    """
    first, *rest = program
    folder = folder.resolve()
    is_module = first == "-m"
    script = folder if is_module else Path(first).resolve()
    if not script.is_relative_to(folder):
        raise StartError(
            f"{first} is not below {folder}, the folder that containers see. Change to a folder above"
            " it.",
            code="CSE201",
        )
    if os.name == "posix" and os.getuid() == 0 and not _is_readable(script, folder):
        raise StartError(
            f"{script} can be read by root only; in the container the program is another user. Give"
            f" others the right to read it (chmod -R o+rX {folder}).",
            code="CSE201",
        )
    return tuple(program) if is_module else (script.relative_to(folder).as_posix(), *rest)


def _is_readable(script: Path, folder: Path) -> bool:
    """Returns whether a user who is neither owner nor group can read the script below the folder."""
    below = [one for one in (script, *script.parents) if one.is_relative_to(folder)]
    needed = {one: _ENTERED_BY_ALL if one.is_dir() else _READ_BY_ALL for one in below}
    return all(one.stat().st_mode & bits == bits for one, bits in needed.items())


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise StartError(
                f"127.0.0.1:{port} cannot be published: {error.strerror}{ports.owner_text(port)}. End it, or"
                " give another port with --publish.",
                code="CSE203",
            ) from None


def _user() -> str | None:
    """Returns this user as uid:gid, who can read the folder; None for root, whom nobody should be."""
    if sys.platform == "win32" or os.getuid() == 0:
        return None
    return f"{os.getuid()}:{os.getgid()}"


def _ask(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_ASK_LIMIT_S,
            check=False,
            start_new_session=True,  # Ctrl-C is for us: we end what we asked
        )
    except FileNotFoundError:
        raise StartError(
            f"`{command[0]}` is not installed. Install Docker, or leave --engine out.",
            code="CSE208",
        ) from None
    except subprocess.TimeoutExpired:
        raise StartError(
            f"The container engine does not answer within {_ASK_LIMIT_S:.0f} s. See whether `docker"
            " info` does.",
            code="CSE208",
        ) from None
    if done.returncode != 0:
        raise StartError(
            f"No container engine answers: {last_words(done.stderr)} Start it, or leave --engine out.",
            code="CSE208",
        )


def _succeeds(command: Sequence[str], limit_s: float = _ASK_LIMIT_S) -> bool:
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=limit_s, check=False, start_new_session=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
