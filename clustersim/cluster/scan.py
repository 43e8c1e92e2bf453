"""Pure: JSON read with positions, going on after a fault.

`scan` returns the value that the text most likely means, where every part of it stands, and what is
wrong with the text. A fault that has one mechanical correction is `fixable`: the value is then what
the corrected text would give. Of one that has not (a template left in, a value missing) the part is
`unknown`, and whoever judges the value leaves that part alone.

Knows JSON and how people break it; nothing of TF_CONFIG. Never evaluates anything.
"""

import enum
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""A decoded JSON value of any shape."""

MAX_NESTING = 100
"""No TF_CONFIG is deeper than 4; a deeper text is not read."""

MAX_FAULTS = 50
"""More is a different file."""


class Kind(enum.Enum):
    """What is wrong at a place; one kind is reported once, with how often it occurs."""

    EMPTY = "empty"
    BOM = "byte order mark"
    OUTER_QUOTES = "outer quotes"
    ESCAPED_QUOTES = "escaped quotes"
    DOUBLE_ENCODED = "JSON in a string"
    ASSIGNMENT = "an assignment around the value"
    SINGLE_QUOTES = "single quotes"
    PYTHON_PREFIX = "Python's prefix of a string"
    PYTHON_TUPLE = "Python's tuple"
    CURLY_QUOTES = "typographic quotes"
    TRAILING_COMMA = "trailing comma"
    MISSING_COMMA = "missing comma"
    MISSING_COLON = "missing colon"
    MISSING_VALUE = "missing value"
    MISSING_END = "missing end"
    BARE_WORD = "word without quotes"
    PYTHON_WORD = "Python's word"
    COMMENT = "comment"
    ELISION = "elision"
    TEMPLATE = "template marker"
    FILLED_IN = "template marker that is filled in"
    BAD_STRING = "broken string"
    MISSING_QUOTE = "missing quote"
    BAD_NUMBER = "not a JSON number"
    EXTRA = "text after the end"
    STRAY = "stray character"
    DUPLICATE_KEY = "duplicate key"
    TOO_DEEP = "too deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with the text."""

    kind: Kind
    offset: int
    text: str = ""
    """What stands there, in short."""

    pointer: str = ""
    """Which part of the value it belongs to."""

    is_fixable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a text holds."""

    value: Json
    faults: tuple[Fault, ...]
    offsets: dict[str, int]
    """Where each part of the value begins, by JSON pointer."""

    keys: dict[str, int]
    """Where the key of each member of an object begins, by the member's pointer."""

    unknown: frozenset[str]
    """Pointers of parts whose value cannot be known."""


_TEMPLATE = re.compile(
    r"\$\{(?:[^{}\n]|\{[^{}\n]*\})*\}"  # ${HOST}, ${HOST:-${OTHER}}
    r"|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # $(hostname), $((i-1)), $(INDEX)
    r"|\$[A-Za-z_]\w*|\$[0-9@*#]|`[a-z$][^`\n]*`"
    r"|\{\{[^}:]*\}\}|\{%.*?%\}|<[A-Za-z_][\w -]*>|<%.*?%>"
    r"|__[A-Z]\w*__|@[A-Z][A-Z0-9_]*@|%\(\w+\)s|%[A-Za-z_]\w+%|%[sd]"
)
_FIELD = re.compile(r"\{[A-Za-z_]\w*\}")
"""A field of str.format or an f-string; JSON has nothing of this form."""

_ASSIGNMENT = re.compile(r"(?:(?:export|set|ENV)\s+)?[A-Za-z_]\w*\s*=\s*(?=\S?[{\[])")
_PREFIX = re.compile(r"(?:[uUbBfF]|[bB]?[rR][bB]?)(?=['\"])")
_LONG = re.compile(r"-?\d{1,30}[lL]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"[^\s\[\]{}():,\"'“”‘’]+")
_BARE = re.compile(r"[^\s\[\]{}(),\"'“”‘’]+")
_OPENING = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "’": "’"}
_WORDS = {"true": True, "false": False, "null": None}
_PYTHON = {"True": True, "False": False, "None": None}
_NOT_NUMBERS = {"NaN", "Infinity", "-Infinity"}


def scan(text: str) -> Scanned:
    """Returns what `text` holds. Never raises."""
    if not text.strip():
        fault = Fault(kind=Kind.EMPTY, offset=0)
        return Scanned(value=None, faults=(fault,), offsets={}, keys={}, unknown=frozenset({""}))
    try:
        if _fast(text):
            return _Scanner(text).run()
    except RecursionError:  # cannot happen below MAX_NESTING; then the value is not ours to read
        pass
    fault = Fault(kind=Kind.TOO_DEEP, offset=0)
    return Scanned(value=None, faults=(fault,), offsets={}, keys={}, unknown=frozenset({""}))


def _fast(text: str) -> bool:
    """Returns whether the text is shallow enough to be read."""
    depth = 0
    for char in text:
        if char in "[{":
            depth += 1
            if depth > MAX_NESTING:
                return False
        elif char in "]}":
            depth -= 1
    return True


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Returns where `offset` stands, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def pointer_to(*parts: str | int) -> str:
    """Returns the JSON pointer of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


@dataclass(slots=True)
class _Scanner:
    """One pass over one text, recursive descent; `at` is the next character."""

    text: str
    at: int = 0
    origin: list[int] | None = None
    """Where each character stood before the text was unescaped; None: where it stands."""

    faults: list[Fault] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def run(self) -> Scanned:
        end = self._unwrap()
        value = self._value("")
        self._skip()
        rest = self.text[self.at : end].strip()
        if rest:
            self._fault(Kind.EXTRA, self.at, rest)
        return self._decoded_again(value)

    def _decoded_again(self, value: Json) -> Scanned:
        """A string that holds an object was encoded once too often: reads what is in it."""
        if isinstance(value, str) and value.lstrip().startswith("{") and not self.faults:
            inner = _Scanner(value).run()
            faults = (Fault(kind=Kind.DOUBLE_ENCODED, offset=0, is_fixable=True), *inner.faults)
            offsets = dict.fromkeys(inner.offsets, 0)
            return replace(inner, faults=faults, offsets=offsets, keys=offsets)
        return Scanned(
            value=value,
            faults=tuple(replace(f, offset=self._place(f.offset)) for f in self.faults),
            offsets={pointer: self._place(at) for pointer, at in self.offsets.items()},
            keys={pointer: self._place(at) for pointer, at in self.keys.items()},
            unknown=frozenset(self.unknown),
        )

    def _place(self, offset: int) -> int:
        if self.origin is None:
            return offset
        return self.origin[min(offset, len(self.origin) - 1)]

    def _unwrap(self) -> int:
        """Steps over what is wrapped around the whole value; returns where the value ends."""
        if self.text.startswith("\ufeff"):
            self._fault(Kind.BOM, 0, is_fixable=True)
            self.at = 1
        self._skip()
        end = len(self.text.rstrip())
        assignment = _ASSIGNMENT.match(self.text, self.at)
        if assignment:
            self._fault(Kind.ASSIGNMENT, self.at, assignment[0], is_fixable=True)
            self.at = assignment.end()
            end = len(self.text.rstrip().rstrip(";"))
            self.text = self.text[:end]
        first = self.text[self.at : self.at + 1]
        follows = self.text[self.at + 1 :].lstrip()[:1]
        is_wrapped = first in {"'", '"'} and follows in {"{", "["} and self.text[end - 1] == first
        if is_wrapped and not _is_json_string(self.text):
            self._fault(Kind.OUTER_QUOTES, self.at, first, is_fixable=True)
            self.at += 1
            self.text = self.text[: end - 1]
            end -= 1
        if re.match(r'\s*[{\[]\s*\\"', self.text[self.at :]):
            self._fault(Kind.ESCAPED_QUOTES, self.text.index('\\"', self.at), is_fixable=True)
            self._unescape()
            end = len(self.text.rstrip())
        return end

    def _unescape(self) -> None:
        """Takes the backslash from every quote, and remembers where all stood."""
        kept = [
            i
            for i, char in enumerate(self.text)
            if not (char == "\\" and self.text[i + 1 : i + 2] == '"')
        ]
        self.text = "".join(self.text[i] for i in kept)
        self.origin = [*kept, kept[-1] + 1]

    # -- values ---------------------------------------------------------------------------------

    def _value(self, pointer: str) -> Json:  # noqa: PLR0911  # one a kind of value
        self._skip()
        self.offsets[pointer] = self.at
        char = self.text[self.at : self.at + 1]
        template = _TEMPLATE.match(self.text, self.at) or _FIELD.match(self.text, self.at)
        if template:
            self.at = template.end()
            self._tail_of_template()
            return self._lost(Kind.TEMPLATE, pointer, template[0])
        if char == "{":
            return self._object(pointer)
        if char == "[":
            return self._array(pointer, "]")
        if char == "(":
            self._fault(Kind.PYTHON_TUPLE, self.at, self._near(), is_fixable=True)
            return self._array(pointer, ")")
        if self._prefix():
            char = self.text[self.at]
        if char in _OPENING and char:
            return self._string(pointer)
        if self.text.startswith("...", self.at) or char == "…":
            self.at += 3 if char == "." else 1
            return self._lost(Kind.ELISION, pointer, "...")
        if char in {"", ",", "]", "}", ")", ":"}:
            return self._lost(Kind.MISSING_VALUE, pointer, char)
        return self._scalar(pointer)

    def _scalar(self, pointer: str) -> Json:  # noqa: PLR0911  # one a kind of word
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            if len(number[0]) > 30:  # no number of ours; int() of thousands of digits raises
                return self._lost(Kind.BAD_NUMBER, pointer, number[0][:20])
            return json.loads(number[0])
        start = self.at
        word = _BARE.match(self.text, self.at)
        text = word[0] if word else self.text[self.at]
        self.at += len(text)
        if text in _WORDS:
            return _WORDS[text]
        if text in _PYTHON:
            self._fault(Kind.PYTHON_WORD, start, text, is_fixable=True)
            return _PYTHON[text]
        if _LONG.fullmatch(text):
            self._fault(Kind.PYTHON_WORD, start, text, is_fixable=True)
            return int(text[:-1])
        if self._half_quote():
            self._fault(Kind.MISSING_QUOTE, start, text, is_fixable=True)
            return text
        begins_a_number = text in _NOT_NUMBERS or text[0].isdigit() or text[0] in "+-."
        is_address = ":" in text or "." in text.strip(".")
        if pointer == "" or (begins_a_number and not is_address):
            kind = Kind.BAD_NUMBER if begins_a_number else Kind.BARE_WORD
            return self._lost(kind, pointer, text, start)
        self._fault(Kind.BARE_WORD, start, text, pointer=pointer, is_fixable=True)
        return text

    def _lost(self, kind: Kind, pointer: str, text: str, offset: int | None = None) -> None:
        """Notes a part whose value cannot be known."""
        at = self.offsets[pointer] if offset is None else offset
        self._fault(kind, at, text, pointer=pointer)
        self.unknown.add(pointer)

    def _object(self, pointer: str) -> dict[str, Json]:
        result: dict[str, Json] = {}
        self.at += 1
        while not self._closed("}"):
            before = self.at
            key = self._key()
            if key is None:
                self._stray(before)
                continue
            inner = f"{pointer}{pointer_to(key)}"
            key_at = self.offsets.pop("\0key")
            self.keys.setdefault(inner, key_at)
            if key in result:
                self._fault(Kind.DUPLICATE_KEY, key_at, key)
            self._skip()
            if self.text[self.at : self.at + 1] == ":":
                self.at += 1
            else:
                self._fault(Kind.MISSING_COLON, self.at, self._near(), is_fixable=True)
            result[key] = self._value(inner)
            self._separator("}")
        return result

    def _key(self) -> str | None:
        """Reads a key; leaves where it began under a name that no pointer has."""
        self._skip()
        self.offsets["\0key"] = self.at
        self._prefix()
        char = self.text[self.at : self.at + 1]
        if char in _OPENING and char:
            return str(self._string("\0key"))
        template = _TEMPLATE.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if self.text.startswith("...", self.at):
            self._fault(Kind.ELISION, self.at, "...")
            self.at += 3
            return None
        if template:
            self._fault(Kind.TEMPLATE, self.at, template[0])
            self.at = template.end()
            return template[0]
        if word is None:
            return None
        start = self.at
        self.at = word.end()
        is_half = self._half_quote()
        kind = Kind.MISSING_QUOTE if is_half else Kind.BARE_WORD
        self._fault(kind, start, word[0], is_fixable=True)
        return word[0]

    def _half_quote(self) -> bool:
        """Steps over a quote that closes what nothing opened; returns whether there was one."""
        is_half = self.text[self.at : self.at + 1] == '"'
        self.at += is_half
        return is_half

    def _prefix(self) -> bool:
        """Steps over Python's prefix of a string; returns whether there was one."""
        prefix = _PREFIX.match(self.text, self.at)
        if prefix is None:
            return False
        shown = re.match(r"..?['\"][^'\"]{0,20}['\"]?", self.text[self.at :])
        text = shown[0] if shown else prefix[0]
        self._fault(Kind.PYTHON_PREFIX, self.at, text, is_fixable=prefix[0] not in "fF")
        self.at = prefix.end()
        return True

    def _array(self, pointer: str, close: str) -> list[Json]:
        result: list[Json] = []
        self.at += 1
        while not self._closed(close):
            before = self.at
            result.append(self._value(f"{pointer}/{len(result)}"))
            if self.at == before:
                self._stray(before)
                continue
            self._separator(close)
        return result

    def _stray(self, before: int) -> None:
        """Steps over a character that fits nowhere, so that the scan always goes on."""
        if self.at == before and self.at < len(self.text):
            self._fault(Kind.STRAY, self.at, self.text[self.at])
            self.at += 1

    def _closed(self, end: str) -> bool:
        """Returns whether the object or array ends here; steps over its end."""
        self._skip()
        char = self.text[self.at : self.at + 1]
        if char == end:
            self.at += 1
            return True
        if char == "" or char in "]})":  # the text ends, or only what is around us is closed
            self._fault(Kind.MISSING_END, self.at, end, is_fixable=True)
            return True
        return False

    def _separator(self, end: str) -> None:
        """Steps over the comma after an element; notes one too many or too few."""
        self._skip()
        char = self.text[self.at : self.at + 1]
        if char == ",":
            comma = self.at
            self.at += 1
            self._skip()
            while self.text[self.at : self.at + 1] == ",":
                self._fault(Kind.TRAILING_COMMA, self.at, ",", is_fixable=True)
                self.at += 1
                self._skip()
            if self.text[self.at : self.at + 1] in {end, ""}:
                self._fault(Kind.TRAILING_COMMA, comma, ",", is_fixable=True)
        elif char not in {"", "]", "}", ")"}:
            self._fault(Kind.MISSING_COMMA, self.at, self._near(), is_fixable=True)

    # -- strings --------------------------------------------------------------------------------

    def _string(self, pointer: str) -> str:
        start = self.at
        opening = self.text[start]
        closing = _OPENING[opening]
        raw, is_closed = self._until(closing)
        signs = r"\s*[:\[{]" if pointer == "\0key" else r"\s*[,\]}]"
        sign = re.search(signs, raw)
        if is_closed and opening == '"' and sign and not self._fits_after_string():
            return self._cut(start, start + 1 + sign.start())
        if opening == "'":
            self._fault(Kind.SINGLE_QUOTES, start, raw, is_fixable=is_closed)
        elif opening != '"':
            self._fault(Kind.CURLY_QUOTES, start, opening, is_fixable=is_closed)
        if not is_closed:
            self._fault(Kind.BAD_STRING, start, raw[:20])
            self.unknown.add(pointer)
        found = _TEMPLATE.search(raw) or _FIELD.search(raw)
        if found and pointer != "\0key":
            self._fault(Kind.TEMPLATE, start + 1 + found.start(), found[0], pointer=pointer)
            self.unknown.add(pointer)
        try:
            return str(json.loads(f'"{_for_json(raw, opening)}"'))
        except ValueError:
            self._fault(Kind.BAD_STRING, start, raw[:20])
            self.unknown.add(pointer)
            return raw

    def _fits_after_string(self) -> bool:
        """Returns whether what follows a string may follow one; else its end was elsewhere."""
        follows = self.text[self.at :].lstrip()[:1]
        return follows in {"", ",", ":", "]", "}", '"', "/", "#"}

    def _cut(self, start: int, end: int) -> str:
        """Ends a string whose quote is missing where the next sign of structure stands."""
        self._fault(Kind.MISSING_QUOTE, end, self.text[start:end][:20])
        self.at = end
        return self.text[start + 1 : end]

    def _until(self, closing: str) -> tuple[str, bool]:
        """Returns a string's text and whether it was closed; a line end closes it, too."""
        at = self.at + 1
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 2
                continue
            if char in {closing, "\n"}:
                raw = self.text[self.at + 1 : at]
                self.at = at + (char == closing)
                return raw, char == closing
            at += 1
        raw = self.text[self.at + 1 :]
        self.at = len(self.text)
        return raw, False

    # -- between values -------------------------------------------------------------------------

    def _skip(self) -> None:
        """Steps over blanks and comments."""
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
                continue
            comment = re.compile(r"//[^\n]*|/\*.*?\*/|#[^\n]*", re.DOTALL).match(self.text, self.at)
            if comment is None:
                return
            self._fault(Kind.COMMENT, self.at, comment[0][:20], is_fixable=True)
            self.at = comment.end()

    def _tail_of_template(self) -> None:
        """Steps over what is glued to a template: `$HOSTS:2222`."""
        rest = re.compile(r"[^\s,\[\]{}\"']*").match(self.text, self.at)
        if rest:
            self.at = rest.end()

    def _near(self) -> str:
        return self.text[self.at : self.at + 12]

    def _fault(
        self,
        kind: Kind,
        offset: int,
        text: str = "",
        *,
        pointer: str = "",
        is_fixable: bool = False,
    ) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(
                Fault(kind=kind, offset=offset, text=text, pointer=pointer, is_fixable=is_fixable)
            )


def _is_json_string(text: str) -> bool:
    try:
        return isinstance(json.loads(text), str)
    except ValueError:
        return False


def _for_json(raw: str, opening: str) -> str:
    """Returns a string's text as it stands between double quotes."""
    if opening == '"':
        return raw
    return raw.replace("\\'", "'").replace('"', '\\"')
