"""Pure: faults of a text, as findings: one for each cause, in words.

What only follows from an earlier fault of the text is not said.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from clustersim.cluster.scan import Fault, Kind, Scanned, line_and_column
from clustersim.errors import Finding, Severity

_DUMPS = "JSON takes double quotes; in Python write json.dumps(config), not str(config)."

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
    Kind.ASSIGNMENT: (
        "The value begins with {text!r}: the assignment itself became part of it.",
        "Give only what comes after the equals sign.",
    ),
    Kind.SINGLE_QUOTES: ("Not JSON: single quotes around {text!r}.", _DUMPS),
    Kind.PYTHON_PREFIX: ("Not JSON: {text}, a string as Python 2 prints it.", _DUMPS),
    Kind.PYTHON_TUPLE: ("Not JSON: {text}, a tuple as Python prints it.", _DUMPS),
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
    Kind.FILLED_IN: (
        "{text!r} is filled in when this runs; what it will be cannot be read here.",
        "Lint the value itself, where it is set.",
    ),
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

_SHOWN = 60
"""How much of the text a message shows."""

_MEANS_THE_TEXT = ("/cluster", "/task")

_REPR = (Kind.PYTHON_PREFIX, Kind.SINGLE_QUOTES, Kind.PYTHON_TUPLE, Kind.PYTHON_WORD)
"""One cause, Python's repr, shows in these; the first of them names it."""

_STRUCTURE = frozenset(
    {
        Kind.MISSING_COLON,
        Kind.MISSING_COMMA,
        Kind.MISSING_VALUE,
        Kind.MISSING_END,
        Kind.MISSING_QUOTE,
        Kind.BAD_STRING,
        Kind.EXTRA,
        Kind.STRAY,
    }
)
"""Kinds of which several show one slip: what follows is read with other brackets or quotes."""

_FOLLOWS = _STRUCTURE | {Kind.BARE_WORD, Kind.DUPLICATE_KEY, Kind.TRAILING_COMMA}
"""Kinds that are not said where they come after such a slip."""

SHIFTING = frozenset(
    {Kind.MISSING_END, Kind.MISSING_QUOTE, Kind.BAD_STRING, Kind.EXTRA, Kind.STRAY}
)
"""After one of these, a part may be missing only because the text put it elsewhere."""


def derailed_at(text: str, faults: Sequence[Fault]) -> int | None:
    """Returns from where on the text is not read as it was meant; None if it is, or nearly."""
    found = [fault for fault in faults if fault.kind in _STRUCTURE]
    kinds = {fault.kind for fault in found}
    end = len(text.rstrip())
    is_lost = len(kinds) > 1 or bool(kinds & {Kind.STRAY, Kind.BAD_STRING})
    is_lost |= any(one.kind is Kind.MISSING_END and one.offset < end for one in found)
    return min(one.offset for one in found) if is_lost else None


def syntax_findings(text: str, scanned: Scanned, filled_in: Collection[int]) -> list[Finding]:
    """Returns one finding for each cause, at its first place."""
    by_kind: dict[Kind, list[Fault]] = {}
    for fault in _causes(text, scanned.faults):
        is_filled = fault.kind is Kind.TEMPLATE and fault.offset in filled_in
        kind = Kind.FILLED_IN if is_filled else fault.kind
        by_kind.setdefault(kind, []).append(replace(fault, kind=kind))
    shown = [kind for kind in _REPR if kind in by_kind]
    for kind in shown[1:] if shown[:1] != [Kind.PYTHON_WORD] else []:
        by_kind[shown[0]] += by_kind.pop(kind)
    if len(by_kind.get(Kind.BARE_WORD, ())) > 1 and not set(text) & set("\"'"):
        return [*_findings(text, by_kind, Kind.BARE_WORD), _eaten(text, by_kind[Kind.BARE_WORD])]
    return _findings(text, by_kind)


def _findings(
    text: str, by_kind: Mapping[Kind, Sequence[Fault]], without: Kind | None = None
) -> list[Finding]:
    return [_finding(text, faults) for kind, faults in by_kind.items() if kind is not without]


def _causes(text: str, faults: Sequence[Fault]) -> Iterator[Fault]:
    """Yields the faults that are no mere consequence of an earlier one."""
    start = derailed_at(text, faults)
    kinds = {fault.kind for fault in faults}
    if start is None:
        is_around = Kind.ASSIGNMENT in kinds  # then the quotes belong to the assignment
        yield from (one for one in faults if one.kind is not Kind.OUTER_QUOTES or not is_around)
        return
    is_fixable = all(one.is_fixable for one in faults if one.kind in _FOLLOWS)
    first = min((one for one in faults if one.kind in _STRUCTURE), key=lambda one: one.offset)
    for one in faults:
        if one is first:
            # What is left unsaid must not make the rest look as if it could be corrected.
            yield replace(one, is_fixable=is_fixable)
        elif one.kind not in _FOLLOWS or one.offset < start:
            yield one


def _eaten(text: str, faults: Sequence[Fault]) -> Finding:
    line, column = line_and_column(text, faults[0].offset)
    return Finding(
        rule="TFC001",
        severity=Severity.ERROR,
        what=f"Not JSON: there are no quotes at all, as when a shell took them."
        f" Line {line}, column {column}.",
        fix="Put the whole value into single quotes, where a shell reads it.",
        line=line,
        column=column,
        is_fixable=all(fault.is_fixable for fault in faults),
    )


def without_bare_words(findings: Sequence[Finding], scanned: Scanned) -> list[Finding]:
    """Returns the findings, with one for a word that lacks its quotes and is wrong even with them."""
    words = {fault.pointer: fault for fault in scanned.faults if fault.kind is Kind.BARE_WORD}
    wrong = {one.pointer: one for one in findings if one.pointer in words and not one.line}
    result = []
    for one in findings:
        if one in wrong.values() and one.severity is Severity.ERROR:
            word = words[one.pointer].text[:_SHOWN]
            what = f"Not JSON: {word!r} is not quoted, and {one.what[0].lower()}{one.what[1:]}"
            result.append(replace(one, rule="TFC001", what=what))
        elif not (one.line and one.rule == "TFC001" and one.pointer in wrong):
            result.append(one)
    return result


def _finding(text: str, faults: Sequence[Fault]) -> Finding:
    kind = faults[0].kind
    first = min(faults, key=lambda one: (one.kind is not kind, one.offset))
    what, fix = _WORDS[first.kind]
    times = f" ({len(faults)} times)" if len(faults) > 1 else ""
    line, column = line_and_column(text, first.offset)
    where = f" Line {line}, column {column}{times}."
    is_filled = first.kind is Kind.FILLED_IN
    is_aside = first.kind is Kind.TEMPLATE and not any(
        fault.pointer.startswith(_MEANS_THE_TEXT) or not fault.pointer for fault in faults
    )
    rules = {Kind.DUPLICATE_KEY: "TFC003", Kind.FILLED_IN: "TFC134"}
    severity = Severity.WARNING if is_aside else Severity.ERROR
    return Finding(
        rule=rules.get(first.kind, "TFC133" if is_aside else "TFC001"),
        severity=Severity.NOTE if is_filled else severity,
        what=what.format(text=first.text[:_SHOWN]) + where,
        fix=fix,
        pointer=first.pointer if first.pointer.startswith("/") else "",
        line=line,
        column=column,
        is_fixable=all(fault.is_fixable for fault in faults),
    )
