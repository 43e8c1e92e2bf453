"""Resolvers of platforms that do not set TF_CONFIG: Slurm, SageMaker, Kubernetes.

They answer as TensorFlow 2.21 does. One thing is easier: Slurm without GPUs works, where TensorFlow
asks nvidia-smi, and fails.

Source: tensorflow/python/distribute/cluster_resolver/, 2.21.
"""

import enum
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from clustersim.cluster.dialects import expand_counts, expand_hosts
from clustersim.cluster.resolvers import ClusterResolver, EnvironmentResolver, with_layer
from clustersim.cluster.spec import WORKER, ClusterSpec

_GPUS = "CUDA_VISIBLE_DEVICES"


class _NamedTaskResolver(ClusterResolver):
    """Answers `master` for a place that is named or known, and '' otherwise."""

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of a task, with `rpc_layer://` in front."""
        job = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        if job is None or index is None:
            return ""
        address = self.cluster_spec().task_address(job, index)
        return with_layer(address, rpc_layer or self.rpc_layer)


class SlurmClusterResolver(_NamedTaskResolver):
    """Reads SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE.

    Args:
        jobs: How many tasks each job has. Default: all are workers.
        port_base: The first port on each node.
        gpus_per_node: Default: as many as CUDA_VISIBLE_DEVICES names, else none.
        gpus_per_task: Default: those of a node, divided among its tasks.
        tasks_per_node: For every node, or by node. Default: what Slurm says.
        auto_set_gpu: Whether `cluster_spec` sets CUDA_VISIBLE_DEVICES for this task.
        rpc_layer: The scheme of `master`.

    `task_type` and `task_id` are known once `cluster_spec` was called, as in TensorFlow.

    Raises:
        RuntimeError: A variable is missing, or jobs and GPUs do not fit what Slurm gave.
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | Mapping[str, int] | None = None,
        auto_set_gpu: bool = True,  # noqa: FBT001, FBT002  # TensorFlow's signature
        rpc_layer: str = "grpc",
    ) -> None:
        self._rank = int(_slurm("PROCID"))
        self._jobs = dict(jobs or {WORKER: int(_slurm("STEP_NUM_TASKS"))})
        self._port_base = port_base
        self._tasks_on = _tasks_on(tasks_per_node)
        most = max(self._tasks_on.values())
        gpus = _num_gpus() if gpus_per_node is None else gpus_per_node
        self._gpus_per_task = gpus // most if gpus_per_task is None else gpus_per_task
        self._auto_set_gpu = auto_set_gpu
        self._gpus_per_node = gpus
        self.task_type = None
        self.task_id = None
        self.rpc_layer = rpc_layer
        if most * self._gpus_per_task > gpus:
            raise RuntimeError(
                f"{most} tasks of one node want {self._gpus_per_task} GPUs each, and it has {gpus}."
                " Ask for fewer GPUs or tasks per node."
            )
        wanted, given = sum(self._jobs.values()), sum(self._tasks_on.values())
        if wanted != given:
            raise RuntimeError(
                f"`jobs` has {wanted} tasks, but Slurm assigned {given}. Make them equal."
            )

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster; sets this task's place, and its GPUs."""
        addresses, gpus = [], []
        for host, count in sorted(self._tasks_on.items()):
            for number in range(count):
                addresses.append(f"{host}:{self._port_base + number}")
                first = number * self._gpus_per_task
                gpus.append(",".join(map(str, range(first, first + self._gpus_per_task))))
        cluster, start = {}, 0
        for job, count in sorted(self._jobs.items()):
            cluster[job] = addresses[start : start + count]
            if start <= self._rank < start + count:
                self.task_type, self.task_id = job, self._rank - start
            start += count
        if self._auto_set_gpu and self._gpus_per_task:
            os.environ[_GPUS] = gpus[self._rank]
        return ClusterSpec(cluster)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Returns job and index, both None before `cluster_spec` was called."""
        return self.task_type, self.task_id

    def num_accelerators(
        self,
        task_type: str | None = None,  # noqa: ARG002  # TensorFlow's signature
        task_id: int | None = None,  # noqa: ARG002
        config_proto: object = None,  # noqa: ARG002
    ) -> dict[str, int]:
        """Returns the GPUs of a task."""
        return {"GPU": self._gpus_per_task}


def _slurm(name: str) -> str:
    variable = f"SLURM_{name}"
    if variable not in os.environ:
        raise RuntimeError(f"{variable} not found in environment. Not running inside a SLURM step?")
    return os.environ[variable]


def _tasks_on(tasks_per_node: int | Mapping[str, int] | None) -> dict[str, int]:
    if isinstance(tasks_per_node, Mapping):
        return dict(tasks_per_node)
    hosts = expand_hosts(_slurm("STEP_NODELIST"))
    if tasks_per_node is not None:
        return dict.fromkeys(hosts, int(tasks_per_node))
    counts = expand_counts(_slurm("STEP_TASKS_PER_NODE"))
    return dict(zip(hosts, counts, strict=False))  # as TensorFlow does


def _num_gpus() -> int:
    named = os.environ.get(_GPUS, "")
    return len(named.split(",")) if named else 0


class SageMakerClusterResolver(EnvironmentResolver):
    """Reads SM_HOSTS and SM_CURRENT_HOST, again at every access: each host is one worker.

    Args:
        port: Of every worker.
        task_type: Wins over the environment; so do the others.
        task_id: Likewise.
        rpc_layer: The scheme of `master`.
        environment: Handed back as given.

    Raises:
        AssertionError: At access: the variables are not set, as in TensorFlow.
    """

    def __init__(
        self,
        port: int = 2223,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        super().__init__(task_type, task_id, rpc_layer, environment)
        self._port = port

    def _load(self) -> Any:
        for name in ("SM_CURRENT_HOST", "SM_HOSTS"):
            if name not in os.environ:
                raise AssertionError(f"Not a SageMaker environment: {name} is not set.")
        hosts = sorted(json.loads(os.environ["SM_HOSTS"] or "[]"))
        current = os.environ["SM_CURRENT_HOST"]
        if current not in hosts:
            return {}
        workers = [f"{host}:{self._port}" for host in hosts]
        task = {"type": WORKER, "index": hosts.index(current)}
        return {"cluster": {WORKER: workers}, "task": task}


class KubernetesExecutableLocation(enum.Enum):
    """Where the program runs: it tells a Kubernetes client which credentials to load."""

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1


class PodLister(Protocol):
    """What is asked of a Kubernetes client: `kubernetes.client.CoreV1Api` is one."""

    def list_pod_for_all_namespaces(self, *, label_selector: str) -> Any:
        """Returns an object whose `items` are pods."""
        ...


class KubernetesClusterResolver(_NamedTaskResolver):
    """Asks a Kubernetes API for the pods of each job.

    Args:
        job_to_label_mapping: Label selectors by job. Default: one for the workers.
        tf_server_port: Where every pod listens.
        rpc_layer: The scheme of `master`.
        override_client: The client that is asked. This version brings none of its own.
        executable_location: Accepted; a client of one's own has its credentials already.

    `task_type` and `task_id` are to be set by the program.

    Raises:
        ImportError: No client was given.
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: PodLister | None = None,
        executable_location: KubernetesExecutableLocation = KubernetesExecutableLocation.WITHIN_CLUSTER,  # noqa: ARG002
    ) -> None:
        if override_client is None:
            raise ImportError(
                "A Kubernetes client must be given: install one, load its credentials, and pass it"
                " as override_client."
            )
        self._labels = dict(job_to_label_mapping or {WORKER: ["job-name=tensorflow"]})
        self._port = tf_server_port
        self._client = override_client
        self.task_type = None
        self.task_id = None
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the pods that the API lists now, by name within each selector.

        Raises:
            RuntimeError: A pod is not running.
        """
        return ClusterSpec(
            {
                job: [address for label in labels for address in self._addresses(label)]
                for job, labels in self._labels.items()
            }
        )

    def _addresses(self, label: str) -> list[str]:
        pods = self._client.list_pod_for_all_namespaces(label_selector=label).items
        found = []
        for pod in sorted(pods, key=lambda one: str(one.metadata.name)):
            if pod.status.phase != "Running":
                raise RuntimeError(
                    f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"'
                )
            found.append(f"{pod.status.host_ip}:{self._port}")
        return found
