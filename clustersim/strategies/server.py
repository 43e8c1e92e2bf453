"""`tf.distribute.Server`: this process as a server of its cluster.

There is one gRPC server a process: a `Server` is a handle on it, made by whoever needs it first.
Unlike TensorFlow's, `join` returns once the leader has said goodbye, so a ps ends with its run.

Source: tensorflow/python/training/server_lib.py, 2.21.
"""

from collections.abc import Mapping

from clustersim import errors
from clustersim.cluster.spec import ClusterSpec, Task
from clustersim.config import TaskSettings
from clustersim.runtime import task as runtime_task
from clustersim.runtime.task import TaskRuntime


class Server:
    """This process's server.

    Args:
        server_or_cluster_def: The cluster: a ClusterSpec, or a map of job names to addresses.
        job_name: This process's job. May be left out if the cluster has one task.
        task_index: This process's index in the job. Likewise.
        protocol: "grpc" or None: there is no other.
        config: Accepted and without effect.
        start: Whether to start at once.

    Raises:
        ValueError: Which task this is was not said, and there are several.
        InternalError: The place is not in the cluster (TensorFlow's error).
        NotFoundError: The protocol is another one.
        TypeError: The cluster is of the wrong type.
        UnknownError: The address cannot be bound.
    """

    def __init__(
        self,
        server_or_cluster_def: ClusterSpec | Mapping[str, object],
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: object = None,  # noqa: ARG002  # TensorFlow's signature
        start: bool = True,  # noqa: FBT001, FBT002
    ) -> None:
        spec = ClusterSpec(server_or_cluster_def)
        if protocol not in {None, "grpc"}:
            raise errors.NotFoundError(f"protocol is {protocol!r}. There is only 'grpc'.")
        tasks = spec.tasks()
        if len(tasks) == 1:
            job_name = tasks[0].type if job_name is None else job_name
            task_index = tasks[0].index if task_index is None else task_index
        if job_name is None or task_index is None:
            raise ValueError(
                f"job_name is {job_name!r} and task_index {task_index!r}, but the cluster has"
                f" {len(tasks)} tasks. Say which one this process is."
            )
        if Task(job_name, task_index) not in tasks:
            raise errors.InternalError(
                f"{job_name}:{task_index} is not in the cluster {spec!r}. Name one of its tasks."
            )
        self._spec = spec
        self._task = Task(job_name, task_index)
        self._runtime: TaskRuntime | None = None
        if start:
            self.start()

    @property
    def target(self) -> str:
        """Where this server listens, as `grpc://localhost:2222`."""
        return f"grpc://{self._spec.address(self._task)}"

    def start(self) -> None:
        """Starts the process's server, unless a strategy already did."""
        self._runtime = runtime_task.ensure(self._spec, self._task, TaskSettings.from_environ())

    def join(self) -> None:
        """Serves until the leader of the cluster says goodbye or is gone.

        Raises:
            NotReady: The leader never came within CLUSTERSIM_START_TIMEOUT.
        """
        if self._runtime is None:
            self.start()
        if self._runtime is not None:
            self._runtime.join()
