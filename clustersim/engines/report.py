"""A result in words: the verdict that ends a run, first failure first."""

from collections.abc import Sequence
from statistics import median

from clustersim.engines.base import RunResult, TaskResult
from clustersim.errors import Cause
from clustersim.launch.lifecycle import Fate, signal_name
from clustersim.units import format_duration

_INDENT = " " * 9


def verdict_lines(result: RunResult) -> list[str]:
    """Returns the last words on a run."""
    if result.ok:
        return [*_done(result), *_seen(result), *_warnings(result)]
    how = {
        Fate.FAILED: _failed,
        Fate.EARLY_EXIT: _early_exit,
        Fate.START_LIMIT: _not_ready,
        Fate.TIME_LIMIT: _time_limit,
        Fate.INTERRUPTED: _interrupted,
        Fate.TERMINATED: _interrupted,
    }[result.fate]
    return how(result)


def _done(result: RunResult) -> list[str]:
    ended = "  ".join(f"{one.task} {_ending(one)}" for one in result.tasks.values())
    duration = format_duration(result.duration_s)
    return [f"done     {_tasks(len(result.tasks))}, {duration}   {ended}"]


def _ending(one: TaskResult) -> str:
    if one.state == "stopped":
        return "stopped by us"
    return signal_name(one.exit_code) or str(one.exit_code)


def _seen(result: RunResult) -> list[str]:
    """How many replicas each task saw, and where the time went."""
    counted = [one for one in result.tasks.values() if one.counters.get("replicas")]
    training = [one for one in counted if one.counters.get("wall_s")]
    if not counted:
        return []
    replicas = int(max(one.counters["replicas"] for one in counted))
    if replicas == 1 and result.wanted_tasks > 1:
        return [f"{_INDENT}each task saw 1 replica: this was not a cluster"]
    text = f"{_INDENT}{replicas} replicas seen by {_tasks(len(training))}"
    wall_s = sum(one.counters["wall_s"] for one in training)
    if wall_s > 0 and any(one.counters.get("steps") for one in training):
        for name in ("compute", "waiting", "network"):
            share = sum(one.counters.get(f"{name}_s", 0.0) for one in training) / wall_s
            text += f"   {name} {100 * share:.0f} %"
        text += _slowest(training)
    return [text]


def _slowest(training: Sequence[TaskResult]) -> str:
    times = {one.task: one.counters.get("compute_s", 0.0) for one in training}
    middle = median(times.values())
    if len(times) < 2 or middle <= 0:
        return ""
    task = max(times, key=lambda name: times[name])
    return f"   slowest {task} (+{100 * (times[task] / middle - 1):.0f} %)"


def _warnings(result: RunResult) -> list[str]:
    early = [
        f"warning  {task} ended with 0 before the others were done; it serves, so it should stay"
        for task in result.ended_early
    ]
    said = [
        f"warning  {one.task} ended with 0, but its last words were: {one.last_words}"
        for one in result.tasks.values()
        if one.last_words
    ]
    return [*early, *said]


def _failed(result: RunResult) -> list[str]:
    first = result.first_failure
    if first is None:
        return [f"failed   {_tasks(len(result.tasks))}"]
    step = f" at step {first.step}" if first.step is not None else ""
    name = signal_name(first.exit_code)
    how = f"died of {name}" if name else f"left with code {first.exit_code}"
    lines = [f"failed   {first.task} {how}{step} (first failure)"]
    lines += _why(first)
    lines += _others(result)
    return [*lines, f"  logs: {first.log}"]


def _why(first: TaskResult) -> list[str]:
    if first.error is not None:
        where = f"    {first.where}      {first.source}" if first.where else ""
        return [f"  {first.error}", *filter(None, [where])]
    return [f"  | {line}" for line in first.tail[-5:]]


def _others(result: RunResult) -> list[str]:
    lines = []
    for task in result.consequences:
        one = result.tasks[task]
        says = f": {one.error}" if one.error else ""
        lines.append(f"  because of it {task} left with {_ending(one)}{says}")
    for task, one in result.tasks.items():
        if one.state == "stopped" and task != result.root:
            waiting = f" (was waiting: {one.waiting})" if one.waiting else ""
            lines.append(f"  then we stopped {task}{waiting}")
    return lines


def _early_exit(result: RunResult) -> list[str]:
    first = result.first_failure
    name = first.task if first else "a task"
    log = first.log if first else result.folder
    mixed = any(one.cause == Cause.MIXED_CALLS.name for one in result.tasks.values())
    why = "calls of different lines had met before" if mixed else "uneven input?"
    return [
        f"failed   {name} finished normally, but others still needed it ({why})",
        *_others(result),
        f"  logs: {log}  [CSE403]",
    ]


def _not_ready(result: RunResult) -> list[str]:
    missing = ", ".join(result.missing) or "some"
    lines = [f"error CSE301  Not all tasks were ready in time: {missing}."]
    for task in result.missing:
        one = result.tasks.get(task)
        if one is not None and one.waiting:
            lines.append(f"  {task} was waiting: {one.waiting}")
        elif one is not None and one.where:
            lines.append(f"  stack of {task}: {one.where}  {one.source}")
    lines += [
        "  likely: the script builds its strategy late, or only for some task types",
        f"  logs: {result.folder}",
    ]
    return lines


def _time_limit(result: RunResult) -> list[str]:
    lines = [
        f"error CSE402  The run passed its time limit after {format_duration(result.duration_s)}."
    ]
    for task, one in result.tasks.items():
        where = f" in {one.where}" if one.where else ""
        waiting = f", waiting: {one.waiting}" if one.waiting else ""
        lines.append(f"  {task} was at step {one.step or 0}{where}{waiting}")
    return [*lines, f"  logs: {result.folder}"]


def _interrupted(result: RunResult) -> list[str]:
    lines = []
    for task, one in result.tasks.items():
        where = f" in {one.where.partition(' ')[0]}" if one.where else ""
        step = f" after step {one.step}" if one.step is not None else ""
        if one.state == "stopped":
            lines.append(f"{task} interrupted{where}{step}")
    return [*lines, f"stopped  {_tasks(len(result.tasks))}   logs: {result.folder}"]


def _tasks(count: int) -> str:
    return f"{count} task" if count == 1 else f"{count} tasks"
