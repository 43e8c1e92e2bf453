"""Pure: the mechanical corrections of a TF_CONFIG. What has no single correction is left, and said.

Fixing twice gives what fixing once gives; a value that needs no fix keeps its text, byte for byte.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from clustersim.cluster.cluster_map import bare_address, guess_job
from clustersim.cluster.lint import lint_tf_config
from clustersim.errors import Finding

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What fixing gave."""

    text: str
    """The corrected text; the one that came in if nothing was corrected."""

    done: tuple[Finding, ...]
    """What was corrected."""

    left: tuple[Finding, ...]
    """What is still to be said of `text`."""


def fix_tf_config(text: str, *, filled_in: Collection[int] = ()) -> Fixed:
    """Corrects what has one mechanical correction; nothing at all if the text itself has not.

    Args:
        text: The value.
        filled_in: Where markers begin that something fills in; then nothing is corrected.
    """
    linted = lint_tf_config(text, filled_in=filled_in)
    of_text = [one for one in linted.errors if one.rule in {"TFC001", "TFC003"}]
    fixable = [one for one in linted.findings if one.is_fixable]
    if filled_in or not fixable or not all(one.is_fixable for one in of_text):
        return Fixed(text=text, done=(), left=linted.findings)
    value = linted.value
    for one in fixable:
        value = _apply(value, one)
    after = json.dumps(value, ensure_ascii=False)
    again = lint_tf_config(after)
    if any(one.is_fixable for one in again.findings) and after != text:
        further = fix_tf_config(after)
        return Fixed(text=further.text, done=(*fixable, *further.done), left=further.left)
    return Fixed(text=after, done=tuple(fixable), left=again.findings)


def _apply(value: Json, finding: Finding) -> Json:  # noqa: PLR0911  # one a kind of correction
    parts = [_unescape(part) for part in finding.pointer.split("/")[1:]]
    match (finding.rule, parts):
        case ("TFC004", [key]):
            return _renamed(value, key, "cluster" if "cluster" not in value else "task")
        case ("TFC101" | "TFC113" | "TFC114", ["cluster", job]):
            guess = guess_job(job)
            if guess is None or guess in value["cluster"]:
                return value
            return {**value, "cluster": _renamed(value["cluster"], job, guess)}
        case ("TFC101" | "TFC113" | "TFC114", ["task", "type"]):
            return {**value, "task": {**value["task"], "type": guess_job(value["task"]["type"])}}
        case ("TFC103", ["task", "index"]):
            return {**value, "task": {**value["task"], "index": int(value["task"]["index"])}}
        case ("TFC111", ["cluster", job]):
            tasks = [part.strip() for part in value["cluster"][job].split(",")]
            return {**value, "cluster": {**value["cluster"], job: tasks}}
        case ("TFC105", ["cluster", job, _]):
            return {**value, "cluster": {**value["cluster"], job: _bare(value["cluster"][job])}}
        case _:
            return value  # the text's own fault: reading it corrected it


def _bare(tasks: Json) -> Json:
    if isinstance(tasks, dict):
        return {k: bare_address(v) if isinstance(v, str) else v for k, v in tasks.items()}
    return [bare_address(one) if isinstance(one, str) else one for one in tasks]


def _renamed(mapping: Mapping[str, Json], old: str, new: str) -> dict[str, Json]:
    return {new if key == old else key: part for key, part in mapping.items()}


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
