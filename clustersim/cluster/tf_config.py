"""TF_CONFIG as a value: `TFConfig.parse` reads it strictly, `to_json` writes it.

What is right and wrong is decided by `lint`; this module turns its verdict into a value or an error.
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clustersim.cluster.lint import MAX_TEXT, Linted, lint_tf_config
from clustersim.cluster.spec import ClusterSpec, Task
from clustersim.errors import Finding, SpecError, SpecSyntaxError, SpecTypeError

VARIABLE = "TF_CONFIG"

_SYNTAX = {"TFC001", "TFC003"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TFConfig:
    """What one process is told: the cluster map, and its own place in it.

    Both are empty (`ClusterSpec({})`, None) for a process that works alone.
    """

    cluster: ClusterSpec
    task: Task | None = None
    trial: str = ""
    """Which trial of a search for parameters this is, where a platform says so in `task`."""

    warnings: tuple[Finding, ...] = ()
    """What lint found that does not refuse the value."""

    @classmethod
    def parse(cls, text: str, *, strategy: str | None = None) -> "TFConfig":
        """Reads the text of a TF_CONFIG.

        Args:
            text: The value of the variable.
            strategy: What will work with it, as in `lint_tf_config`: it refuses some more.

        Raises:
            SpecError: It has errors; `findings` holds them all, the message the first. The class is
                SpecSyntaxError (a json.JSONDecodeError) or SpecTypeError (a TypeError) where
                TensorFlow raises those, else a plain ValueError.
        """
        linted = lint_tf_config(text, strategy=strategy)
        if linted.errors:
            raise _refusal(text, linted)
        value = linted.value
        task = value.get("task") or {}
        has_place = "type" in task and "index" in task and value.get("cluster")
        return cls(
            cluster=ClusterSpec(value.get("cluster") or {}),
            task=Task(task["type"], int(task["index"])) if has_place else None,
            trial=str(task.get("trial") or ""),
            warnings=linted.findings,
        )

    @classmethod
    def from_environ(
        cls, environ: Mapping[str, str] | None = None, *, strategy: str | None = None
    ) -> "TFConfig":
        """Reads this process's TF_CONFIG, for a strategy; a missing variable is an empty one.

        Raises:
            SpecError: As `parse`.
        """
        text = (os.environ if environ is None else environ).get(VARIABLE, "{}")
        return cls.parse(text, strategy=strategy)

    def to_json(self) -> str:
        """Returns the text that `parse` reads, on one line."""
        value: dict[str, object] = {"cluster": self.cluster.as_dict()}
        if self.task is not None:
            trial = {"trial": self.trial} if self.trial else {}
            value["task"] = {"type": self.task.type, "index": self.task.index, **trial}
        return json.dumps(value)

    def as_env(self) -> str:
        """Returns a shell line that sets the variable: `export TF_CONFIG='...'`."""
        return f"export {VARIABLE}={shlex.quote(self.to_json())}"


def _refusal(text: str, linted: Linted) -> SpecError:
    # What TensorFlow's json.loads stumbles over comes first: its class is the exception's.
    is_json = len(text) > MAX_TEXT or _is_json(text)
    of_text = [] if is_json else [one for one in linted.errors if one.rule in _SYNTAX]
    errors = [*of_text, *(one for one in linted.errors if one not in of_text)]
    message = str(errors[0]) + _others(errors[1:])
    if of_text or errors[0].rule == "TFC003":
        return SpecSyntaxError(message, findings=errors, doc=text)
    if errors[0].is_type_error:
        return SpecTypeError(message, findings=errors)
    return SpecError(message, findings=errors)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _others(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    return "\n  also: " + "\n  also: ".join(str(finding) for finding in findings)
