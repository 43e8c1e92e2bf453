"""Pure: makes findings, so that every check says only what it found."""

import json
from typing import Any, TypeAlias

from clustersim.errors import Finding, Severity

Json: TypeAlias = Any
"""A decoded JSON value of any shape: that is what the checks are there to find out."""


def short(value: Json) -> str:
    """Returns a value as JSON, cut to what fits into a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:37] + "..."


def error(
    rule: str,
    what: str,
    fix: str,
    pointer: str = "",
    *,
    is_type_error: bool = False,
    is_fixable: bool = False,
) -> Finding:
    """Returns a finding that refuses the value."""
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        what=what,
        fix=fix,
        pointer=pointer,
        is_type_error=is_type_error,
        is_fixable=is_fixable,
    )


def warning(
    rule: str, what: str, fix: str, pointer: str = "", *, is_fixable: bool = False
) -> Finding:
    """Returns a finding that does not refuse the value."""
    return Finding(
        rule=rule,
        severity=Severity.WARNING,
        what=what,
        fix=fix,
        pointer=pointer,
        is_fixable=is_fixable,
    )


def note(rule: str, what: str, fix: str, pointer: str = "") -> Finding:
    """Returns a finding that is good to know, and no fault."""
    return Finding(rule=rule, severity=Severity.NOTE, what=what, fix=fix, pointer=pointer)
