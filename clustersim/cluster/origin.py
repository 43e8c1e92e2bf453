"""Pure: where each character of a value stands in the file that it was read from.

A file writes a value with quotes, escapes, indentation or line breaks that the value has not. The
value's characters stand in the file in the same order, so they are found one after the other; a place
that is off by a quote is better than none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clustersim.cluster.scan import line_and_column
from clustersim.errors import Finding

_REACH = 200
"""How far the next character is looked for: an escape, or the indentation of the next line."""

_QUOTES = frozenset("\"'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A text and, for each character of a value and for its end, an offset in that text."""

    text: str
    offsets: Sequence[int]

    def moved(self, finding: Finding, value: str) -> Finding:
        """Returns a finding about `value`, with the line and column that it has in the text."""
        old = f"Line {finding.line}, column {finding.column}"
        line, column = self.line_and_column(value, finding.line, finding.column)
        what = finding.what.replace(old, f"Line {line}, column {column}")
        return replace(finding, what=what, line=line, column=column)

    def line_and_column(self, value: str, line: int = 1, column: int = 1) -> tuple[int, int]:
        """Returns where a place of `value` stands in the text."""
        before = value.split("\n")[: max(0, line - 1)]
        at = sum(len(one) + 1 for one in before) + max(0, column - 1)
        return line_and_column(self.text, self.offsets[min(at, len(self.offsets) - 1)])

    def within(self, outer: "Origin") -> "Origin":
        """Returns the origin in the outer text, for a text that is itself a value there."""
        last = len(outer.offsets) - 1
        offsets = tuple(outer.offsets[min(one, last)] for one in self.offsets)
        return Origin(text=outer.text, offsets=offsets)


def find(text: str, start: int, end: int, value: str) -> Origin:
    """Returns the origin of a value that stands somehow within `text[start:end]`."""
    offsets, at = [], start
    for char in value:
        found = _next(text, at, min(end, at + _REACH), char)
        offsets.append(at if found is None else found)
        at = at if found is None else found + 1
    return Origin(text=text, offsets=(*offsets, at))


def whole(text: str) -> Origin:
    """Returns the origin of a value that is all of its file."""
    return Origin(text=text, offsets=range(len(text) + 1))


def exact(text: str, offsets: Sequence[int]) -> Origin:
    """Returns the origin of a value whose characters' offsets are known."""
    return Origin(text=text, offsets=(*offsets, (offsets[-1] if offsets else 0) + 1))


def _next(text: str, at: int, end: int, char: str) -> int | None:
    if char.isspace():  # it may have been made of an indentation, or of nothing
        return at if at < end and text[at].isspace() else None
    for i in range(at, end):
        if text[i] == char or (char in _QUOTES and text[i] in _QUOTES and not _is_around(text, i)):
            return i
    return None


def _is_around(text: str, at: int) -> bool:
    """Returns whether a quote stands around a value rather than in it."""
    return text[at + 1 : at + 2] in {"{", "["} or text[at - 1 : at] in {"}", "]"}
