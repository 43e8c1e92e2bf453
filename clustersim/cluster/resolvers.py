"""Who turns an environment into (cluster spec, task): TensorFlow's resolvers.

They answer exactly as TensorFlow 2.21 does, nonsense included (an index of -1 is handed on); the
strategies read TF_CONFIG strictly, through `TFConfig.parse`.

Source: tensorflow/python/distribute/cluster_resolver/, 2.21; recorded cases `resolver_*`.
"""

import json
import os
from collections import defaultdict
from typing import Any

from clustersim.cluster.spec import ClusterSpec
from clustersim.cluster.tf_config import VARIABLE


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
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns how many devices of each type but CPU this process has."""
        raise NotImplementedError


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
        return _with_layer(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,  # noqa: ARG002  # TensorFlow's signature
        task_id: int | None = None,  # noqa: ARG002
        config_proto: object = None,  # noqa: ARG002
    ) -> dict[str, int]:
        """Returns what was given."""
        return self._num_accelerators


class TFConfigClusterResolver(ClusterResolver):
    """Reads TF_CONFIG again at every access, and checks nothing.

    Arguments that are not None win over the environment; each can also be set later.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._task_type = task_type
        self._task_id = task_id
        self._rpc_layer = rpc_layer
        self.environment = environment

    @property
    def task_type(self) -> str | None:
        """The job of this process, None when it is not said."""
        if self._task_type is not None:
            return str(self._task_type)
        task = _load().get("task", {})
        return str(task["type"]) if "type" in task else None

    @task_type.setter
    def task_type(self, value: str | None) -> None:
        self._task_type = value

    @property
    def task_id(self) -> int | None:
        """The index of this process, None when it is not said; not checked."""
        if self._task_id is not None:
            return int(self._task_id)
        task = _load().get("task", {})
        return int(task["index"]) if "index" in task else None

    @task_id.setter
    def task_id(self, value: int | None) -> None:
        self._task_id = value

    @property
    def rpc_layer(self) -> str | None:
        """The scheme for `master`, None when it is not said."""
        if self._rpc_layer is not None:
            return self._rpc_layer
        layer: str | None = _load().get("rpc_layer")
        return layer

    @rpc_layer.setter
    def rpc_layer(self, value: str | None) -> None:
        self._rpc_layer = value

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster map; an empty one when TF_CONFIG has none."""
        config = _load()
        return ClusterSpec(config["cluster"]) if "cluster" in config else ClusterSpec({})

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of a task, '' for a cluster of one and for none."""
        config = _load()
        if "session_master" in config:
            return str(config["session_master"])
        spec = self.cluster_spec()
        if not spec.jobs or (len(spec.jobs) == 1 and len(spec.job_tasks(spec.jobs[0])) == 1):
            return ""
        job = task_type if task_type is not None else self.task_type
        index = task_id if task_id is not None else self.task_id
        layer = rpc_layer if rpc_layer is not None else self.rpc_layer
        return _with_layer(spec.task_address(job or "", -1 if index is None else index), layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,  # noqa: ARG002  # TensorFlow's signature
    ) -> dict[str, int]:
        """Returns an empty count: this version has no device but the CPU."""
        self.master(task_type, task_id)  # raises for a place that is not in the cluster
        return defaultdict(int)


def _load() -> Any:
    config = json.loads(os.environ.get(VARIABLE, "{}"))
    # TensorFlow asks only `"cluster" in config`: a list or a string is as good as an empty object.
    return {} if isinstance(config, list | str) else _Checked(config)


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


def _with_layer(address: str, layer: str | None) -> str:
    return f"{layer}://{address}" if layer and address else address
