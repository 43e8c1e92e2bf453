"""Pure: faults of a text, as findings: one for each kind, in words."""

from collections.abc import Sequence

from clustersim.cluster.scan import Fault, Kind, Scanned, line_and_column
from clustersim.errors import Finding, Severity

_WORDS: dict[Kind, tuple[str, str]] = {
    Kind.EMPTY: ("The value is empty.", "Unset it, or set it to JSON."),
    Kind.BOM: ("The value begins with a byte order mark.", "Remove it."),
    Kind.OUTER_QUOTES: (
        "The value begins and ends with {text}: quotes that an env file or a shell kept.",
        "Remove them.",
    ),
    Kind.ESCAPED_QUOTES: (
        "A backslash stands before every quote: the value was escaped once too often.",
        "Remove the backslashes.",
    ),
    Kind.DOUBLE_ENCODED: (
        "The value is a JSON string that holds JSON: it was encoded twice.",
        "Call json.dumps once.",
    ),
    Kind.SINGLE_QUOTES: (
        "Not JSON: single quotes around {text!r}.",
        "JSON takes double quotes; in Python write json.dumps(config), not str(config).",
    ),
    Kind.CURLY_QUOTES: (
        "Not JSON: the typographic quote {text!r}, as from a web page.",
        "Write plain double quotes.",
    ),
    Kind.TRAILING_COMMA: ("Not JSON: a comma before the end.", "Remove the trailing comma."),
    Kind.MISSING_COMMA: ("Not JSON: a comma is missing before {text!r}.", "Add it."),
    Kind.MISSING_COLON: ("Not JSON: a colon is missing before {text!r}.", "Add it."),
    Kind.MISSING_VALUE: (
        "Not JSON: a value is missing before {text!r} (an unset variable?).",
        "Add the value.",
    ),
    Kind.MISSING_END: ("Not JSON: {text!r} is missing at the end.", "Add it."),
    Kind.BARE_WORD: ("Not JSON: {text!r} stands without double quotes.", "Quote it."),
    Kind.PYTHON_WORD: ("Not JSON: {text} is Python's word.", "Write true, false or null."),
    Kind.COMMENT: ("Not JSON: the comment {text!r}; JSON has none.", "Remove it."),
    Kind.ELISION: (
        "Not JSON: '...' stands for something that was left out, as in documentation.",
        "Write the missing part.",
    ),
    Kind.TEMPLATE: (
        "{text!r} was not filled in: a shell variable or template marker.",
        "Put the value there.",
    ),
    Kind.BAD_STRING: ("Not JSON: the string {text!r} is broken or never ends.", "Close it."),
    Kind.MISSING_QUOTE: ("Not JSON: a double quote is missing at {text!r}.", "Add it."),
    Kind.BAD_NUMBER: ("Not JSON: {text!r} is no JSON number.", "Write a plain whole number."),
    Kind.EXTRA: ("Not JSON: {text!r} stands after the end of the value.", "Remove it."),
    Kind.STRAY: ("Not JSON: {text!r} fits nowhere.", "Remove it."),
    Kind.DUPLICATE_KEY: (
        "The key {text!r} appears twice in one object, and only the last one would count.",
        "Keep one of them.",
    ),
    Kind.TOO_DEEP: ("The value is nested more than 100 deep.", "Use cluster and task."),
}

_MEANS_THE_TEXT = ("/cluster", "/task")

SHIFTING = frozenset(
    {Kind.MISSING_END, Kind.MISSING_QUOTE, Kind.BAD_STRING, Kind.EXTRA, Kind.STRAY}
)
"""After one of these, a part may be missing only because the text put it elsewhere."""


def syntax_findings(text: str, scanned: Scanned) -> list[Finding]:
    """Returns one finding for each kind of fault, at its first place."""
    by_kind: dict[Kind, list[Fault]] = {}
    for fault in scanned.faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    return [_finding(text, faults) for faults in by_kind.values()]


def _finding(text: str, faults: Sequence[Fault]) -> Finding:
    first = faults[0]
    what, fix = _WORDS[first.kind]
    times = f" ({len(faults)} times)" if len(faults) > 1 else ""
    line, column = line_and_column(text, first.offset)
    where = f" Line {line}, column {column}{times}."
    is_aside = first.kind is Kind.TEMPLATE and not any(
        fault.pointer.startswith(_MEANS_THE_TEXT) or not fault.pointer for fault in faults
    )
    rule = {Kind.DUPLICATE_KEY: "TFC003"}.get(first.kind, "TFC133" if is_aside else "TFC001")
    return Finding(
        rule=rule,
        severity=Severity.WARNING if is_aside else Severity.ERROR,
        what=what.format(text=first.text[:40]) + where,
        fix=fix,
        pointer=first.pointer if first.pointer.startswith("/") else "",
        line=line,
        column=column,
        is_fixable=all(fault.is_fixable for fault in faults),
    )
