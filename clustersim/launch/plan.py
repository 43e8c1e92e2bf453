"""What is to be started, as a value that travels as one line of JSON from launcher to supervisor."""

import dataclasses
import json
from dataclasses import dataclass, field

from clustersim.cluster.spec import EVALUATOR, ClusterSpec, Task
from clustersim.cluster.tf_config import TFConfig
from clustersim.launch.lifecycle import Success

START_TIMEOUT_S = 60.0
"""From when the first task listens; 14 TensorFlow imports at once took 47 s on 2 cores."""

GRACE_S = 5.0

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
"""Set in each task where they are unset: each library starts a thread for every core otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerPlan:
    """How the tasks of a run are started in containers."""

    docker: tuple[str, ...]
    """The command that speaks to the engine: `docker`."""

    compose: tuple[str, ...]
    """The command that reads the file: `docker compose`, or `docker-compose`."""

    file: str
    """The compose file: one service for each task, named as `service_name` says."""

    project: str
    """What the engine's names of this run begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """One run of one program in every task of a cluster."""

    folder: str
    """Where logs and the record of processes go; exists, and belongs to this run."""

    name: str
    """The run's number, as text: `0007`."""

    cluster: dict[str, list[str]]
    """The addresses of each job; `localhost:0` where the supervisor chooses the port."""

    command: tuple[str, ...]
    """What every task runs: interpreter, script, arguments."""

    success: str = Success.AUTO.value
    timeout_s: float | None = None
    """How long the whole run may take. None: as long as it likes."""

    start_timeout_s: float = START_TIMEOUT_S
    grace_s: float = GRACE_S
    """How long a task has to end once it is asked."""

    num_threads: int | None = None
    """For OMP_NUM_THREADS and the like in each task. None: cores divided by tasks."""

    listen: str = "loopback"
    insecure_network: bool = False
    environ: dict[str, str] = field(default_factory=dict)
    """Set in every task, over the supervisor's own environment."""

    containers: ContainerPlan | None = None
    """Where tasks run in containers; what they run and are told is then in the compose file."""

    def to_json(self) -> str:
        """Returns one line that `from_json` reads."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "RunPlan":
        """Reads what `to_json` wrote."""
        fields = json.loads(line)
        fields["command"] = tuple(fields["command"])
        if fields["containers"] is not None:
            lists = {k: tuple(v) for k, v in fields["containers"].items() if isinstance(v, list)}
            fields["containers"] = ContainerPlan(**{**fields["containers"], **lists})
        return cls(**fields)


def service_name(task: Task) -> str:
    """Returns a task's service, container host name and log name: `worker-1`."""
    return f"{task.type}-{task.index}"


def tf_config(spec: ClusterSpec, task: Task) -> TFConfig:
    """Returns what one task is told. Only the evaluator's own map lists it: nobody dials it."""
    seen = spec if task.type == EVALUATOR else spec.without(EVALUATOR)
    return TFConfig(cluster=seen, task=task)
