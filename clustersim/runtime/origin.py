"""Whether this process still is the task that its launcher started: a program may set TF_CONFIG anew.

It may do so on purpose, and then nothing is wrong. But when two processes claim one place in the
cluster, the second must be told why, and not to end its sibling.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from clustersim.cluster.spec import Task

_VARIABLE = "TF_CONFIG"

_ADVICE = "Take that line out: the launcher sets TF_CONFIG for each task."

_SETTING_CALLS = frozenset({"putenv", "setdefault", "setenv", "update"})


def changed(task: Task, started_as: str) -> str:
    """Returns what to say of a process that is `task` and was started as another; '' if it was not.

    Args:
        task: What TF_CONFIG says now.
        started_as: What the launcher said, as `worker:1`; empty without a launcher.
    """
    if started_as in {"", str(task)}:
        return ""
    return (
        f"this process was started as {started_as}, but TF_CONFIG was changed after the start and now"
        f" says {task} ({_who()})"
    )


def conflict(task: Task, started_as: str, sibling: str) -> str:
    """Returns why another process already is at the address of `task`, and what to do; or ''.

    Args:
        task: What TF_CONFIG says now.
        started_as: As for `changed`.
        sibling: Which task of the same run the other process was started as; '' if none.
    """
    if changes := changed(task, started_as):
        return f"{changes}. {_ADVICE}"
    if not sibling:
        return ""
    if sibling == str(task):
        return (
            "this task's program started it with the same TF_CONFIG. Take TF_CONFIG out of the"
            " environment of the processes that the program starts."
        )
    return (
        f"it was started as {sibling}, but TF_CONFIG was changed there after the start and now says"
        f" {task} ({_who()}). {_ADVICE}"
    )


def _who() -> str:
    lines = ", ".join(setting_lines())
    return f"{lines} sets it" if lines else "the program sets it"


def setting_lines() -> list[str]:
    """Returns the lines of the program that set TF_CONFIG, as `train.py:12`; [] if none is found.

    Looks at the main file and at loaded modules from its folder, whose text is parsed, not run.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None:
        return []
    folder = Path(main).resolve().parent
    files = {Path(main).resolve()}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).resolve().parent == folder:
            files.add(Path(file).resolve())
    return [
        f"{file.name}:{line}" for file in sorted(files) for line in sorted(set(_lines_of(file)))
    ]


def _lines_of(file: Path) -> Iterator[int]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=name), ctx=ast.Store()):
                if name == _VARIABLE:
                    yield node.lineno
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in _SETTING_CALLS:
                if _names_it(node):
                    yield node.lineno


def _names_it(call: ast.Call) -> bool:
    if any(keyword.arg == _VARIABLE for keyword in call.keywords):
        return True
    return any(
        isinstance(part, ast.Constant) and part.value == _VARIABLE
        for argument in call.args[:1]
        for part in ast.walk(argument)
    )
