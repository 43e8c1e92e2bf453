"""What is to be started, as a value that travels as one line of JSON from launcher to supervisor."""

import dataclasses
import json
from dataclasses import dataclass, field

from clustersim.launch.lifecycle import Success

START_TIMEOUT_S = 60.0
"""From when the first task listens; 14 TensorFlow imports at once took 47 s on 2 cores."""

GRACE_S = 5.0


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

    def to_json(self) -> str:
        """Returns one line that `from_json` reads."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, line: str) -> "RunPlan":
        """Reads what `to_json` wrote."""
        fields = json.loads(line)
        return cls(**{**fields, "command": tuple(fields["command"])})
