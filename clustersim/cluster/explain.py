"""Pure: what a TF_CONFIG means for the process that has it, in sentences; and what a code means."""

from collections.abc import Iterator

from clustersim.cluster import roles
from clustersim.cluster.rules import RULES
from clustersim.cluster.spec import CHIEF, EVALUATOR, PS, WORKER, ClusterSpec, Task
from clustersim.errors import CODES


def explain(spec: ClusterSpec, task: Task | None, trial: str = "") -> list[str]:
    """Returns what this process is, whom it waits for, who saves, and what each strategy does.

    Args:
        spec: The cluster map of its TF_CONFIG.
        task: Its place in it; None if it has none.
        trial: Which trial of a search for parameters it is; "" if it is none.
    """
    return [*_in_cluster(spec, task), *_in_search(trial)]


def _in_search(trial: str) -> Iterator[str]:
    if trial:
        yield (
            f"Trial {trial} of a search for parameters: each trial is a cluster of its own, and"
            " writes to a folder of its own."
        )


def _in_cluster(spec: ClusterSpec, task: Task | None) -> list[str]:
    if not spec or task is None:
        return [
            "There is no cluster: this process works alone.",
            "MultiWorkerMirroredStrategy: 1 replica, in local mode; nothing is distributed.",
            "ParameterServerStrategy: ValueError, since it needs a ps and a worker.",
        ]
    try:
        roles.validate(spec, task.type, task.index)
    except ValueError as error:
        return [f"You are {task}. Strategies refuse this cluster: {error}"]
    return [*_place(spec, task), *_mirrored(spec, task), *_parameter_server(spec, task), *_alone()]


def explain_code(code: str) -> list[str]:
    """Returns what a rule or an error code means, and what to do.

    Raises:
        KeyError: There is no such code.
    """
    code = code.upper()
    if code in RULES:
        rule = RULES[code]
        lines = [f"{code}: {rule.title}", rule.why]
        if rule.bad:
            lines += ["", "Bad:", f"  {_cut(rule.bad)}"]
        if rule.good:
            lines += ["Good:", f"  {rule.good}"]
        if rule.case:
            lines += ["", f"Seen in: {rule.case}"]
        return lines
    row = CODES[code]
    return [
        f"{code}: {row.meaning}",
        row.advice,
        f"A command that ends with it exits {row.exit_code}.",
    ]


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "..."


def _place(spec: ClusterSpec, task: Task) -> Iterator[str]:
    tasks = spec.tasks()
    names = ", ".join(map(str, tasks))
    yield f"You are {task} of {len(tasks)} task{'s' * (len(tasks) != 1)} ({names})."
    if task.type == EVALUATOR:
        yield "You evaluate: nobody waits for you, and you wait for nobody."
    elif task.type == PS:
        yield "You serve: you hold no replica, and save nothing."
    elif roles.is_chief(spec, task.type, task.index):
        yield "You are the chief: you save checkpoints and summaries."
    else:
        chief = Task(CHIEF, 0) if CHIEF in spec.jobs else Task(WORKER, 0)
        yield f"You are not the chief: {chief} is; it saves checkpoints and summaries."


def _mirrored(spec: ClusterSpec, task: Task) -> Iterator[str]:
    name = "MultiWorkerMirroredStrategy"
    if task.type == EVALUATOR:
        how = (
            "a group of one, at once" if EVALUATOR in spec.jobs else "KeyError: list the evaluator"
        )
        yield f"{name}: {how}."
        return
    if task.type == PS:
        yield f"{name}: TensorFlow raises ValueError for a ps; clustersim lets it serve."
        return
    group = spec.training_tasks()
    rank = roles.id_in_cluster(spec, task.type, task.index)
    yield f"{name}: {len(group)} replica{'s' * (len(group) != 1)}, you are replica {rank}."
    others = [one for one in group if one != task]
    if others:
        where = ", ".join(f"{one} at {spec.task_address(one.type, one.index)}" for one in others)
        yield f"  It starts once all {len(group)} are up; it waits for {where}."
    if PS in spec.jobs:
        yield "  TensorFlow 2.21 also waits for ps:0, without end; clustersim does not."


def _parameter_server(spec: ClusterSpec, task: Task) -> Iterator[str]:
    name = "ParameterServerStrategy"
    if PS not in spec.jobs or WORKER not in spec.jobs:
        yield f"{name}: ValueError, since it needs a ps and a worker."
    elif CHIEF not in spec.jobs:
        yield f"{name}: nobody coordinates, since there is no chief; everybody serves."
    elif task.type == CHIEF:
        yield f"{name}: you coordinate; workers and ps run tf.distribute.Server(...).join()."
    elif task.type in {WORKER, PS}:
        yield f"{name}: you serve, with tf.distribute.Server(...).join()."
    else:
        yield f"{name}: you read checkpoints, beside it."


def _alone() -> Iterator[str]:
    yield "OneDeviceStrategy, MirroredStrategy: they do not read TF_CONFIG; this process alone."
