"""A cluster as the text of a docker-compose file, one service for each task.

The services differ in TF_CONFIG alone. The text reads the same in Compose v2 and in docker-compose
1.29, which refuses the newer words (`name`, `include`, `develop`, `configs`).
"""

import ipaddress
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from clustersim.cluster.spec import UNASSIGNED, ClusterSpec, Task
from clustersim.engines.base import RunSpec
from clustersim.errors import StartError, UsageError
from clustersim.launch.plan import THREAD_VARIABLES, service_name, tf_config

IMAGE = "clustersim:local"
"""What the project's own docker-compose.yml builds."""

PORT = 2222
"""Every task's: each container has an address of its own."""

WORK_DIR = "/work"
"""Where the folder with the program appears in a container."""

_MEMORY = re.compile(r"[1-9][0-9]*[bkmg]?", re.IGNORECASE)
_LEAST_MEMORY_BYTES, _MOST_MEMORY_BYTES = 64 * 2**20, 2**50
"""Below the first Python, NumPy and gRPC do not even start; no engine can count above the other."""

_UNIT_BYTES = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_USER = re.compile(r"\w[\w.-]*(:\w[\w.-]*)?", re.ASCII)
_IMAGE = re.compile(r"[a-zA-Z0-9][\w.:/@-]*", re.ASCII)

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What YAML wants escaped, and JSON does not."""

_NETWORKS = tuple(
    map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15"))
)
"""Addresses that no public host has."""

_NOT_FOR_TASKS = 3
"""Addresses of a network that are its own: the first, the last and the bridge's."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_HEALTH = "import socket; socket.create_connection((socket.gethostname(), %d), 2).close()"
"""A bare connect: importing gRPC for this would cost half a second of CPU every time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Containers:
    """What containers are given beyond a `RunSpec`.

    Raises:
        UsageError: A limit, port, user or subnet that no engine would take.
    """

    image: str = IMAGE
    """Has python3, clustersim or TensorFlow, and what the program imports."""

    memory: str = "512m"
    """For each task, in Docker's words: bytes, or with b, k, m or g."""

    cpus: float = 1.0
    """Cores for each task; they decide how many threads it starts."""

    pids: int = 128
    """Processes and threads for each task."""

    folder: str | None = "."
    """What is mounted, read-only, at /work, where the program starts. None: it is in the image."""

    publish: int | None = None
    """The port of 127.0.0.1 where the leader's own is published. Default: none is."""

    subnet: str | None = None
    """The network's addresses, as 198.18.64.0/24. Default: the engine chooses."""

    user: str = "10001:10001"
    """Who the program is in the container: uid and gid. Must be able to read the folder."""

    def __post_init__(self) -> None:
        if not _IMAGE.fullmatch(self.image):
            raise UsageError(f"--image is {self.image!r}. Name an image, such as {IMAGE}.")
        is_size = _MEMORY.fullmatch(self.memory) is not None
        if not is_size or not _LEAST_MEMORY_BYTES <= _bytes_of(self.memory) <= _MOST_MEMORY_BYTES:
            raise UsageError(
                f"--memory is {self.memory!r}. Give a number from 64m, with b, k, m or g: 512m, 2g."
            )
        if not 0.01 <= self.cpus <= 4096:
            raise UsageError(f"--cpus is {self.cpus:g}. Give a number of cores, such as 0.5 or 2.")
        if self.publish is not None and not 0 < self.publish < 65536:
            raise UsageError(f"--publish is {self.publish}. Give a port from 1 to 65535.")
        if not _USER.fullmatch(self.user):
            raise UsageError(
                f"--user is {self.user!r}. Give a uid, or uid:gid, such as 10001:10001."
            )
        if self.subnet is not None:
            _check_subnet(self.subnet)

    def check_room(self, num_tasks: int) -> None:
        """Raises UsageError unless the network that is asked for has addresses for all tasks."""
        if self.subnet is None:
            return
        room = ipaddress.IPv4Network(self.subnet).num_addresses - _NOT_FOR_TASKS
        if room < num_tasks:
            raise UsageError(
                f"--subnet {self.subnet} has addresses for {max(0, room)} tasks, but there are"
                f" {num_tasks}. Give a larger one, such as 198.18.64.0/24."
            )

    def check_apart(self, networks: Iterable[tuple[str, ipaddress.IPv4Network]]) -> None:
        """Raises StartError if the containers' network overlaps one of this machine's `networks`.

        The machine could not reach the other one any more.
        """
        if self.subnet is None:
            return
        wanted = ipaddress.IPv4Network(self.subnet)
        for name, have in networks:
            if have.overlaps(wanted):
                raise StartError(
                    f"--subnet {wanted} overlaps {have}, the network of {name} here. Choose another"
                    " one, or leave it to the engine.",
                    code="CSE203",
                )


def in_containers(cluster: ClusterSpec) -> ClusterSpec:
    """Returns the cluster with each task at its service's name: `worker-1:2222`.

    Raises:
        UsageError: It has addresses already, which would not be those of containers.
    """
    chosen = {task: cluster.task_address(task.type, task.index) for task in cluster.tasks()}
    for task, address in chosen.items():
        if address != UNASSIGNED:
            raise UsageError(
                f"{task} has the address {address}; containers get theirs from their service's"
                " name. Give counts instead of addresses."
            )
    return cluster.with_addresses({task: f"{service_name(task)}:{PORT}" for task in chosen})


def compose_file(
    spec: RunSpec,
    containers: Containers,
    *,
    program: Sequence[str],
    title: Sequence[str],
    own_environ: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> str:
    """Returns the file's text.

    Args:
        spec: The run. Of its cluster only the counts are used.
        containers: What its containers are given.
        program: The interpreter's arguments. Empty: the image knows what to do.
        title: The first comment's lines, without their marks.
        own_environ: What is set for our runtime in every task.
        labels: What containers and their network are labelled with.

    Raises:
        UsageError: The cluster has addresses, or too many tasks for the network; a variable's name is
            none, or a text is no UTF-8.
    """
    cluster = in_containers(spec.cluster)
    containers.check_room(len(cluster.tasks()))
    environ = {**_environ(spec, containers, cluster), **own_environ, **spec.task_environ()}
    for name in environ:
        if not _NAME.fullmatch(name):
            raise UsageError(f"--env names {name!r}. Write NAME=VALUE.")
    lines = [*(f"# {line}" for line in title), "x-task: &task"]
    lines += _indent(chain(_task(spec, containers, program), _labels(labels)))
    lines += ["", "x-environment: &environment"]
    lines += ["  # A task binds its own service's name; that network has no encryption yet."]
    lines += [f"  {name}: {_quoted(value)}" for name, value in environ.items()]
    lines += ["", "services:"]
    for task in cluster.tasks():
        lines += _indent(_service(task, cluster, containers))
    return "\n".join([*lines, *_network(containers, labels), ""])


def _task(spec: RunSpec, containers: Containers, program: Sequence[str]) -> Iterator[str]:
    """Yields what all services share."""
    health = ["CMD", "python3", "-S", "-E", "-I", "-c", _HEALTH % PORT]
    yield f"image: {_quoted(containers.image)}"
    if program:
        yield f"entrypoint: {_listed(['python3'])}"
        yield f"command: {_listed(program)}"
    if containers.folder is not None:
        yield f"working_dir: {WORK_DIR}"
        yield "volumes:"
        source = _quoted(containers.folder)
        yield f"  - {{type: bind, source: {source}, target: {WORK_DIR}, read_only: true}}"
    yield f"user: {_quoted(containers.user)}"
    yield "init: true"
    yield "read_only: true"
    yield 'tmpfs: ["/tmp"]'
    yield "cap_drop: [ALL]"
    yield 'security_opt: ["no-new-privileges:true"]'
    yield f"mem_limit: {containers.memory}"
    yield f"cpus: {containers.cpus:g}"
    yield f"pids_limit: {containers.pids}"
    yield f"stop_grace_period: {math.ceil(spec.grace_s)}s"
    yield 'restart: "no"'
    yield "networks: [cluster]"
    yield "healthcheck:"
    yield f"  test: {_listed(health)}"
    yield "  interval: 3s"
    yield "  timeout: 10s"
    yield "  retries: 20"


def _environ(spec: RunSpec, containers: Containers, cluster: ClusterSpec) -> dict[str, str]:
    threads = str(spec.num_threads or max(1, math.floor(containers.cpus)))
    hosts = ",".join([*(service_name(task) for task in cluster.tasks()), "localhost", "127.0.0.1"])
    return {
        "CLUSTERSIM_LISTEN": "own",
        "CLUSTERSIM_INSECURE_NETWORK": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict.fromkeys(THREAD_VARIABLES, threads),
        "no_proxy": hosts,
        "no_grpc_proxy": hosts,
    }


def _service(task: Task, cluster: ClusterSpec, containers: Containers) -> Iterator[str]:
    yield f"{service_name(task)}:"
    yield "  <<: *task"
    if containers.publish is not None and task == cluster.leader():
        yield f'  ports: ["127.0.0.1:{containers.publish}:{PORT}"]'
    yield "  environment:"
    yield "    <<: *environment"
    yield f"    TF_CONFIG: '{tf_config(cluster, task).to_json()}'"


def _labels(labels: Mapping[str, str] | None) -> Iterator[str]:
    if labels:
        yield "labels:"
        yield from (f"  {name}: {_quoted(value)}" for name, value in labels.items())


def _network(containers: Containers, labels: Mapping[str, str] | None) -> Iterator[str]:
    yield ""
    yield "networks:"
    yield "  cluster:"
    yield "    driver: bridge"
    yield from (f"    {line}" for line in _labels(labels))
    if containers.subnet is not None:
        yield "    ipam:"
        yield "      config:"
        yield f"        - subnet: {containers.subnet}"


def _quoted(text: str) -> str:
    """Returns a YAML string, safe from Compose's own `$NAME`.

    Raises:
        UsageError: It holds bytes that are no UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{text!r} is no UTF-8, so a compose file cannot hold it.") from None
    quoted = json.dumps(text.replace("$", "$$"), ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(_quoted(text) for text in texts)}]"


def _indent(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _bytes_of(memory: str) -> int:
    unit = memory[-1].lower()
    return int(memory[:-1]) * _UNIT_BYTES[unit] if unit in _UNIT_BYTES else int(memory)


def _check_subnet(text: str) -> None:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise UsageError(f"--subnet is {text!r}: {error}. Write it as 198.18.64.0/24.") from None
    if not any(network.subnet_of(one) for one in _NETWORKS):
        raise UsageError(
            f"--subnet {text} is of the public internet, or of this machine itself. Choose one within"
            f" {', '.join(map(str, _NETWORKS))}."
        )
