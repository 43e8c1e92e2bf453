"""Other platforms' ways of telling a process its place, turned into a TF_CONFIG.

Each reads environment variables only; nothing is asked of a service.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from clustersim.cluster.spec import WORKER, ClusterSpec, Task
from clustersim.cluster.tf_config import TFConfig
from clustersim.errors import UsageError

PORT = 8888
"""Where ports begin, as in TensorFlow's SlurmClusterResolver."""


def from_slurm(environ: Mapping[str, str]) -> TFConfig:
    """Reads SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE and SLURM_PROCID: all are workers.

    Tasks of one node get consecutive ports.
    """
    hosts = expand_hosts(_need(environ, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"))
    counts = expand_counts(_need(environ, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"))
    if len(counts) != len(hosts):
        raise UsageError(f"Slurm names {len(hosts)} nodes and {len(counts)} task counts.")
    addresses = [
        f"{host}:{PORT + i}"
        for host, count in zip(hosts, counts, strict=True)
        for i in range(count)
    ]
    return _workers(addresses, _number(environ, "SLURM_PROCID"))


def from_sagemaker(environ: Mapping[str, str]) -> TFConfig:
    """Reads SM_HOSTS (a JSON list) and SM_CURRENT_HOST: one worker on each host."""
    hosts = sorted(json.loads(_need(environ, "SM_HOSTS")))  # as TensorFlow's resolver does
    current = _need(environ, "SM_CURRENT_HOST")
    if current not in hosts:
        raise UsageError(f"SM_CURRENT_HOST is {current!r}, which is not in SM_HOSTS {hosts}.")
    return _workers([f"{host}:2223" for host in hosts], hosts.index(current))


def from_torch(environ: Mapping[str, str]) -> TFConfig:
    """Reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: all on the master's host."""
    size = _number(environ, "WORLD_SIZE")
    host = _need(environ, "MASTER_ADDR")
    port = _number(environ, "MASTER_PORT")
    # torch's own store has the master's port, so ours begin above it.
    return _workers([f"{host}:{port + 1 + i}" for i in range(size)], _number(environ, "RANK"))


def from_k8s(environ: Mapping[str, str]) -> TFConfig:
    """Reads an indexed Job: JOB_COMPLETION_INDEX, JOB_COMPLETIONS, JOB_NAME and SERVICE."""
    size = _number(environ, "JOB_COMPLETIONS")
    job, service = _need(environ, "JOB_NAME"), _need(environ, "SERVICE")
    addresses = [f"{job}-{i}.{service}:2222" for i in range(size)]
    return _workers(addresses, _number(environ, "JOB_COMPLETION_INDEX"))


DIALECTS: Mapping[str, Callable[[Mapping[str, str]], TFConfig]] = MappingProxyType(
    {
        "slurm": from_slurm,
        "sagemaker": from_sagemaker,
        "torch": from_torch,
        "k8s": from_k8s,
    }
)


def expand_hosts(text: str) -> list[str]:
    """Returns the hosts of a Slurm list: `n[1-3,5],login` is n1, n2, n3, n5, login."""
    hosts = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", part)
        if match is None:
            hosts.append(part)
            continue
        hosts += [f"{match[1]}{number}{match[3]}" for number in _range(match[2])]
    return hosts


def _range(text: str) -> Iterator[str]:
    for piece in text.split(","):
        low, dash, high = piece.partition("-")
        if not dash:
            yield low
            continue
        for number in range(int(low), int(high) + 1):
            yield f"{number:0{len(low)}d}"


def expand_counts(text: str) -> list[int]:
    """Returns the counts of a Slurm list: `2(x3),1` is 2, 2, 2, 1."""
    counts = []
    for piece in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", piece.strip())
        if match is None:
            raise UsageError(f"{text!r} is no list of task counts, such as '2(x3),1'.")
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _workers(addresses: list[str], index: int) -> TFConfig:
    if not 0 <= index < len(addresses):
        raise UsageError(f"This is process {index} of {len(addresses)}. Expected 0 or more, below.")
    return TFConfig(cluster=ClusterSpec({WORKER: addresses}), task=Task(WORKER, index))


def _need(environ: Mapping[str, str], *names: str) -> str:
    for name in names:
        if environ.get(name):
            return environ[name]
    raise UsageError(f"{' or '.join(names)} is not set. Run this where the platform sets it.")


def _number(environ: Mapping[str, str], name: str) -> int:
    text = _need(environ, name)
    if not text.isdecimal():
        raise UsageError(f"{name} is {text!r}, not a number.")
    return int(text)
