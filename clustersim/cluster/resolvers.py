"""Who turns an environment into (cluster spec, task): TensorFlow's resolvers.

They answer exactly as TensorFlow 2.21 does, nonsense included (an index of -1 is handed on); the
strategies read TF_CONFIG strictly, through `TFConfig.parse`.

Source: tensorflow/python/distribute/cluster_resolver/, 2.21; recorded cases `resolver_*`.
"""

import json
import os
from collections import defaultdict
from typing import Any

from clustersim.cluster.spec import ClusterSpec, JobMap
from clustersim.cluster.tf_config import VARIABLE, TFConfig
from clustersim.devices.current import list_logical_devices


class ClusterResolver:
    """The base: a cluster spec, this process's place in it, and how to reach a master."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str | None = ""

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster map."""
        raise NotImplementedError

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of a task, with `rpc_layer://` in front where one is set."""
        raise NotImplementedError

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,  # noqa: ARG002  # TensorFlow's signature
    ) -> dict[str, int]:
        """Returns how many devices of each type but CPU this process has, simulated ones included.

        With both a type and an id, only devices whose full name holds them count. The names are full
        once a strategy has joined the cluster; before that, as in TensorFlow, none of them does.
        """
        self.master(task_type, task_id)  # raises for a place that is not in the cluster
        is_placed = task_type is not None and task_id is not None
        counts: dict[str, int] = defaultdict(int)
        for device in list_logical_devices():
            is_there = f"/job:{task_type}" in device.name and f"/task:{task_id}" in device.name
            if device.device_type != "CPU" and (is_there or not is_placed):
                counts[device.device_type] += 1
        return counts


class SimpleClusterResolver(ClusterResolver):
    """A resolver of explicit values.

    Raises:
        TypeError: `cluster_spec` is no ClusterSpec, or `master` no string.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: dict[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec must be a `ClusterSpec`, not {cluster_spec!r}.")
        if not isinstance(master, str):
            raise TypeError(f"master must be a string, not {master!r}.")
        self._cluster_spec = cluster_spec
        self._master = master
        self._num_accelerators = num_accelerators or {}
        self.task_type = task_type
        self.task_id = task_id
        self.environment = environment
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the very object that was given."""
        return self._cluster_spec

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of the named task, else the master that was given."""
        address = self._master
        if task_type is not None and task_id is not None:
            address = self._cluster_spec.task_address(task_type, task_id)
        return with_layer(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,  # noqa: ARG002  # TensorFlow's signature
        task_id: int | None = None,  # noqa: ARG002
        config_proto: object = None,  # noqa: ARG002
    ) -> dict[str, int]:
        """Returns what was given."""
        return self._num_accelerators


class EnvironmentResolver(ClusterResolver):
    """Reads a TF_CONFIG, or what stands for one, again at every access, and checks nothing.

    Arguments that are not None win over the environment; each can also be set later.
    """

    def __init__(
        self,
        task_type: str | None,
        task_id: int | None,
        rpc_layer: str | None,
        environment: str | None,
    ) -> None:
        self._task_type = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer
        self.environment = environment

    def _load(self) -> Any:
        """Returns the config: something with `in`, `[]` and `get`."""
        raise NotImplementedError

    @property
    def task_type(self) -> str | None:
        """The job of this process, None when it is not said."""
        if self._task_type is not None:
            return str(self._task_type)
        task = self._load().get("task", {})
        return str(task["type"]) if "type" in task else None

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        """The index of this process, None when it is not said; not checked."""
        if self._task_id is not None:
            return int(self._task_id)
        task = self._load().get("task", {})
        return int(task["index"]) if "index" in task else None

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        """The scheme for `master`, None when it is not said."""
        if self._rpc_layer is not None:
            return self._rpc_layer
        layer: str | None = self._load().get("rpc_layer")
        return layer

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._rpc_layer = value

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster map; an empty one when TF_CONFIG has none."""
        config = self._load()
        return ClusterSpec(config["cluster"]) if "cluster" in config else ClusterSpec({})

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of a task, '' for a cluster of one and for none."""
        config = self._load()
        if "session_master" in config:
            return str(config["session_master"])
        spec = self.cluster_spec()
        if not spec.jobs or (len(spec.jobs) == 1 and len(spec.job_tasks(spec.jobs[0])) == 1):
            return ""
        job = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        layer = rpc_layer if rpc_layer is not None else self.rpc_layer
        return with_layer(spec.task_address(job or "", -1 if index is None else index), layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns how many devices of each type but CPU this task has. See `ClusterResolver`."""
        job = self.task_type if task_type is None else task_type
        index = self.task_id if task_id is None else task_id
        return super().num_accelerators(job, index, config_proto)


class TFConfigClusterResolver(EnvironmentResolver):
    """Reads TF_CONFIG again at every access, and checks nothing.

    Args:
        task_type: This process's job; like all that is not None, it wins over the environment.
        task_id: Its index.
        rpc_layer: The scheme of `master`.
        environment: Handed back as given.
        strict: Ours: whether a wrong TF_CONFIG raises a SpecError at access, instead of giving the
            nonsense that TensorFlow gives (an index of -1, the type "None").
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
        *,
        strict: bool = False,
    ) -> None:
        super().__init__(task_type, task_id, rpc_layer, environment)
        self._strict = strict

    def _load(self) -> Any:
        if self._strict:
            TFConfig.from_environ()
        config = json.loads(os.environ.get(VARIABLE, "{}"))
        # TensorFlow asks only `"cluster" in config`: a list or a string is as good as an empty one.
        return {} if isinstance(config, list | str) else _Checked(config)


class UnionResolver(ClusterResolver):
    """Several resolvers as one: their jobs are joined, all else comes from the first.

    Args:
        *resolvers: In the order in which a job's lists are concatenated.
        **overrides: `task_type`, `task_id`, `rpc_layer`; one that counts as false (a `task_id` of
            0, too) gives way to the first resolver's, as in TensorFlow.

    Raises:
        TypeError: An argument is no resolver.
        ValueError: There is none, or an unknown keyword.
    """

    def __init__(self, *resolvers: ClusterResolver, **overrides: Any) -> None:
        unknown = set(overrides) - {"task_type", "task_id", "rpc_layer"}
        if unknown:
            raise ValueError(
                f"Unexpected keyword {min(unknown)!r}. Use task_type, task_id or rpc_layer."
            )
        if not resolvers:
            raise ValueError("A union needs at least one ClusterResolver.")
        for resolver in resolvers:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"A union takes ClusterResolvers, not {resolver!r}.")
        first = resolvers[0]
        self._resolvers = resolvers
        self.task_type = overrides.get("task_type") or first.task_type
        self.task_id = overrides.get("task_id") or first.task_id
        self.rpc_layer = overrides.get("rpc_layer") or first.rpc_layer
        self.environment = first.environment

    def cluster_spec(self) -> ClusterSpec:
        """Returns the joined map.

        Raises:
            KeyError: Two resolvers give one place, at least one of them by index.
        """
        jobs: dict[str, JobMap] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                jobs[job] = _joined(job, jobs[job], tasks) if job in jobs else tasks
        return ClusterSpec(jobs)

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of the named task, else what the first resolver says."""
        if task_type is not None and task_id is not None:
            address = self.cluster_spec().task_address(task_type, task_id)
            return with_layer(address, rpc_layer or self.rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns what the first resolver says."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _joined(job: str, one: JobMap, other: JobMap) -> JobMap:
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *other]
    result = dict(enumerate(one)) if isinstance(one, list) else dict(one)
    for index, address in enumerate(other) if isinstance(other, list) else other.items():
        if index in result:
            raise KeyError(f"{job}:{index} is given twice, as {result[index]} and {address}.")
        result[index] = address
    return result


class _Checked:
    """A decoded object; anything else raises TypeError at first use, as `in` does in TensorFlow."""

    def __init__(self, config: Any) -> None:
        if not isinstance(config, dict):
            raise TypeError(
                f"{VARIABLE} holds {config!r}, not an object. Write"
                ' {"cluster": {...}, "task": {...}}.'
            )
        self._config = config

    def __contains__(self, key: str) -> bool:
        return key in self._config

    def __getitem__(self, key: str) -> Any:
        return self._config[key]

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of `key`; `default` only where the key is missing."""
        return self._config.get(key, default)


def with_layer(address: str, layer: str | None) -> str:
    """Returns an address with its scheme in front, where there is one."""
    return f"{layer}://{address}" if layer and address else address
