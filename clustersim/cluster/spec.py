"""Pure: tasks, addresses and the cluster map.

`ClusterSpec` behaves as `tf.train.ClusterSpec` does; what it has beyond that (`tasks`, `address`,
`leader`, `digest`) is what a launcher and a runtime ask of a map.

Source: tensorflow/python/training/server_lib.py and distribute/multi_worker_util.py, 2.21.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard

from clustersim.cluster.cluster_def import ClusterDef, JobDef

CHIEF, WORKER, PS, EVALUATOR = "chief", "worker", "ps", "evaluator"
JOBS = (CHIEF, WORKER, PS, EVALUATOR)
"""The jobs that strategies know, in the order in which we list tasks."""

TRAINING_JOBS = (CHIEF, WORKER)
"""The jobs whose tasks hold replicas and form the collective group, in rank order."""

UNASSIGNED = "localhost:0"
"""The address of a task whose port is chosen when the cluster is launched."""

MAX_PORT = 65535

JobMap: TypeAlias = list[str] | dict[int, str]


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One place in a cluster: a job and an index in it. Printed as `worker:1`."""

    type: str
    index: int

    @classmethod
    def parse(cls, text: str) -> "Task":
        """Reads `worker:1`.

        Raises:
            ValueError: It is not a job name, a colon and a whole number.
        """
        job, colon, index = text.partition(":")
        if not (job and colon and index.isascii() and index.isdecimal()):
            raise ValueError(
                f"{text!r} does not name a task. Write job, colon, index, such as 'worker:0'."
            )
        return cls(job, int(index))

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port. Printed as `localhost:23456` or `[::1]:23456`."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Reads `host:port`; IPv6 hosts stand in brackets.

        Raises:
            ValueError: It is no such pair; the message says which part is wrong.
        """
        host, colon, port = text.rpartition(":")
        if not colon:
            raise ValueError(f"{text!r} has no port")
        if "://" in text:
            raise ValueError(f"{text!r} has a scheme, which addresses do not take")
        if "@" in host:
            raise ValueError(f"{text!r} has a user name, which addresses do not take")
        if not host or host != host.strip() or any(c in host for c in " ,/"):
            raise ValueError(f"{text!r} has no usable host name")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError(f"{text!r} is IPv6 without brackets ('[::1]:2222')")
        if not (port.isascii() and port.isdecimal()):
            raise ValueError(f"{text!r} has {port!r} where the port number belongs")
        if not 1 <= int(port) <= MAX_PORT:
            raise ValueError(f"{text!r} has port {int(port)}, outside 1..{MAX_PORT}")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class JobLike(Protocol):
    """One job of a ClusterDef, ours or TensorFlow's: a name, and addresses by index."""

    name: str
    tasks: Mapping[int, str]


class ClusterLike(Protocol):
    """A ClusterDef, ours or TensorFlow's."""

    job: Sequence[JobLike]


class ClusterSpec:
    """Which tasks a cluster has, and where.

    Valid calls:
        ClusterSpec({"worker": ["localhost:2222", "localhost:2223"]})   addresses, dense
        ClusterSpec({"worker": {1: "localhost:2223"}})                  addresses, sparse
        ClusterSpec(other_spec)                                         a copy
        ClusterSpec(cluster_def)                                        a ClusterDef, or TensorFlow's
        ClusterSpec(chief=1, worker=2, ps=1)                            counts; ports come at launch

    Raises:
        TypeError: The map, a job or an address has the wrong type.
        ValueError: A key of a sparse job is not a number, or a count is negative.
    """

    __hash__ = None  # type: ignore[assignment]  # equality follows the map, as in TensorFlow

    def __init__(
        self,
        cluster: "Mapping[str, object] | ClusterSpec | ClusterLike | None" = None,
        *,
        chief: int = 0,
        worker: int = 0,
        ps: int = 0,
        evaluator: int = 0,
    ) -> None:
        counts = {CHIEF: chief, WORKER: worker, PS: ps, EVALUATOR: evaluator}
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: _job(job, tasks) for job, tasks in cluster.as_dict().items()}
        elif _is_cluster_def(cluster):
            self._jobs = {job.name: _job(job.name, dict(job.tasks)) for job in cluster.job}
        elif isinstance(cluster, Mapping):
            self._jobs = {_text(job, "Job name"): _job(job, v) for job, v in cluster.items()}
        elif cluster is not None or not any(counts.values()):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network"
                f" addresses, or another ClusterSpec, not {cluster!r}."
            )
        else:
            self._jobs = {job: _unassigned(job, n) for job, n in counts.items() if n}

    @classmethod
    def from_dict(cls, cluster: Mapping[str, object]) -> "ClusterSpec":
        """Returns the spec for a map of job names to addresses."""
        return cls(cluster)

    # -- TensorFlow's words ---------------------------------------------------------------------

    @property
    def jobs(self) -> list[str]:
        """The job names, in the order in which they were given."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns how many tasks a job has; ValueError if there is no such job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the indices of a job's tasks, sorted; ValueError if there is no such job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of one task; ValueError if there is no such task."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(
                f"No task with index {task_index!r} in job {job_name!r}, which has {sorted(tasks)}."
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns a job's addresses by index, None in gaps; ValueError for an empty job."""
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks) + 1)]

    def as_dict(self) -> dict[str, JobMap]:
        """Returns a list per dense job, a map of indices per sparse or empty one."""
        return {
            job: [tasks[i] for i in range(len(tasks))] if _is_dense(tasks) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """Returns the map as a `ClusterDef`: the jobs by name, as in TensorFlow."""
        jobs = (JobDef(name=name, tasks=self._jobs[name]) for name in sorted(self._jobs))
        return ClusterDef(job=jobs)

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __repr__(self) -> str:
        jobs = self.as_dict()
        inside = ", ".join(f"{job!r}: {jobs[job]!r}" for job in sorted(jobs))
        return f"ClusterSpec({{{inside}}})"

    # -- ours -----------------------------------------------------------------------------------

    def tasks(self) -> tuple[Task, ...]:
        """Returns all tasks: chief, workers, ps, evaluator, then other jobs by name."""
        known = [job for job in JOBS if job in self._jobs]
        others = sorted(set(self._jobs) - set(JOBS))
        return tuple(Task(job, i) for job in known + others for i in sorted(self._jobs[job]))

    def training_tasks(self) -> tuple[Task, ...]:
        """Returns the tasks that hold replicas, in rank order: the chief, then the workers."""
        return tuple(task for task in self.tasks() if task.type in TRAINING_JOBS)

    def address(self, task: Task) -> Address:
        """Returns where a task listens; ValueError if it is unknown or the address is bad."""
        return Address.parse(self.task_address(task.type, task.index))

    def leader(self) -> Task:
        """Returns the task that keeps the membership: chief:0, else the first worker.

        Unlike TensorFlow's coordination service we never pick a ps: it may run no program of the
        cluster's own at all, and then every worker would wait for ever.

        Raises:
            ValueError: The cluster has neither chief nor worker.
        """
        training = self.training_tasks()
        if not training:
            raise ValueError(f"{self!r} has neither a chief nor a worker, so nobody can lead it.")
        return training[0]

    def with_addresses(self, addresses: Mapping[Task, str]) -> "ClusterSpec":
        """Returns the same tasks at other addresses; tasks that are not named keep theirs."""
        return ClusterSpec(
            {
                job: {i: addresses.get(Task(job, i), address) for i, address in tasks.items()}
                for job, tasks in self._jobs.items()
            }
        )

    def without(self, job_name: str) -> "ClusterSpec":
        """Returns the map without one job."""
        return ClusterSpec({job: tasks for job, tasks in self._jobs.items() if job != job_name})

    def digest(self) -> str:
        """Returns a short hash; equal maps have equal digests in every process.

        An evaluator is left out: only its own TF_CONFIG need list it.
        """
        seen = {job: tasks for job, tasks in self._jobs.items() if job != EVALUATOR}
        return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:16]

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks())

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}. It has {self.jobs}.")
        return self._jobs[job_name]


def _is_cluster_def(cluster: object) -> TypeGuard[ClusterLike]:
    jobs = getattr(cluster, "job", None)
    return jobs is not None and all(hasattr(one, "name") and hasattr(one, "tasks") for one in jobs)


def _text(value: object, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value


def _job(job: object, value: object) -> dict[int, str]:
    if isinstance(value, Mapping):
        pairs = [(_index(job, key), address) for key, address in value.items()]
    elif isinstance(value, list | tuple):
        pairs = list(enumerate(value))
    else:
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings,"
            f" not {value!r}."
        )
    return {index: _text(address, "Task address") for index, address in pairs}


def _index(job: object, key: Any) -> int:
    try:
        return int(key)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{job}: {key!r} is no index. Indices are whole numbers from 0") from None


def _unassigned(job: str, count: int) -> dict[int, str]:
    if count < 0:
        raise ValueError(f"{job} is {count}. A cluster has 0 or more tasks of each job.")
    return dict.fromkeys(range(count), UNASSIGNED)


def _is_dense(tasks: Mapping[int, str]) -> bool:
    return bool(tasks) and sorted(tasks) == list(range(len(tasks)))
