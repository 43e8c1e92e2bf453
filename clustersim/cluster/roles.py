"""Pure: what a place in a cluster means: chief or not, which replica, who leads.

The checks and their order are those that TensorFlow's strategies make before they start.

Source: tensorflow/python/distribute/multi_worker_util.py, 2.21.
"""

from clustersim.cluster.spec import (
    CHIEF,
    EVALUATOR,
    JOBS,
    PS,
    TRAINING_JOBS,
    WORKER,
    ClusterSpec,
)


def validate(spec: ClusterSpec, task_type: str | None, task_id: int | None) -> None:
    """Checks that strategies can work with this cluster and this place in it.

    Raises:
        ValueError: A job that strategies do not know, two chiefs or evaluators, or a place that is
            not in the cluster. An evaluator need not be in it.
    """
    for job in spec.jobs:
        if job not in JOBS:
            raise ValueError(
                f"Disallowed task type found in cluster spec: {job!r}. Allowed types are {JOBS}."
            )
    if task_type is not None and task_type not in JOBS:
        raise ValueError(
            f"Unrecognized task_type: {task_type!r}. Valid task types are {JOBS}; they are written"
            " in lower case."
        )
    if task_type is not None and task_type not in spec.jobs and task_type != EVALUATOR:
        raise ValueError(
            f"`task_type` {task_type!r} not found in cluster_spec, which has {spec.jobs}."
        )
    for job in (CHIEF, EVALUATOR):
        if job in spec.jobs and spec.num_tasks(job) > 1:
            raise ValueError(
                f"There must be at most one {job!r} job; this one has {spec.num_tasks(job)} tasks."
            )
    if task_type in spec.jobs and task_id is not None and task_id >= spec.num_tasks(task_type):
        raise ValueError(
            f"The `task_id` {task_id} exceeds the maximum id of {task_type}, which has"
            f" {spec.num_tasks(task_type)} task(s)."
        )


def is_chief(spec: ClusterSpec, task_type: str | None, task_id: int | None) -> bool:
    """Returns whether this place saves checkpoints: the chief, else worker 0; an evaluator too."""
    if not task_type or task_type in {CHIEF, EVALUATOR}:
        return True
    return CHIEF not in spec.jobs and task_type in TRAINING_JOBS and task_id == 0


def worker_count(spec: ClusterSpec, task_type: str | None) -> int:
    """Returns how many tasks train together with this one; an evaluator counts evaluators.

    Raises:
        KeyError: This is an evaluator and the cluster lists none, as in TensorFlow.
    """
    if task_type == EVALUATOR:
        if EVALUATOR not in spec.jobs:
            raise KeyError(EVALUATOR)
        return spec.num_tasks(EVALUATOR)
    return sum(spec.num_tasks(job) for job in TRAINING_JOBS if job in spec.jobs)


def id_in_cluster(spec: ClusterSpec, task_type: str, task_id: int) -> int:
    """Returns the rank of this place among those that train: chief 0, then the workers.

    Raises:
        ValueError: A ps holds no replica and has no such id.
    """
    if task_type == PS:
        raise ValueError("There is no id for task_type 'ps': a ps holds no replica.")
    if task_type in {CHIEF, EVALUATOR}:
        return 0 if task_type == CHIEF else task_id
    return task_id + (spec.num_tasks(CHIEF) if CHIEF in spec.jobs else 0)


def should_checkpoint(spec: ClusterSpec, task_type: str | None, task_id: int | None) -> bool:
    """Returns whether this place saves checkpoints, as `strategy.extended.should_checkpoint`."""
    return is_chief(spec, task_type, task_id)


def collective_leader(spec: ClusterSpec, task_type: str | None) -> str:
    """Returns the device name of the task that leads collectives; '' for an evaluator."""
    if not spec or task_type == EVALUATOR:
        return ""
    return f"/job:{CHIEF if CHIEF in spec.jobs else WORKER}/replica:0/task:0"
