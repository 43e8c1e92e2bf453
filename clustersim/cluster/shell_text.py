"""TF_CONFIGs in shell scripts, env files and Dockerfiles, as the shell would set them. Runs nothing.

A value ends where the shell ends it and loses the quotes that the shell takes. What only a run can
know (`$HOST` outside of single quotes, `$(command)`) stays in the value as a marker that is filled in.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clustersim.cluster.found import Found, Setter, Source, Unread
from clustersim.cluster.origin import Origin, exact, find
from clustersim.cluster.tf_config import VARIABLE

_SETS = re.compile(rf"(?:-{{0,2}}[\w-]+=)?(?:\$env:)?{VARIABLE}=")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)\\?(\w+)['\"]?([^\n]*)\n")
_CAT = re.compile(
    r"\$\([ \t]*cat[ \t]*<<-?[ \t]*(['\"]?)(\w+)['\"]?[ \t]*\n(.*?)\n[ \t]*\2[ \t]*\n?[ \t]*\)",
    re.DOTALL,
)
_ENDS_WORD = frozenset(" \t\n;|&()<>")
_LINE = re.compile(rf"^[ \t]*(?:export[ \t]+)?{VARIABLE}[ \t]*=[ \t]*(.*)$", re.MULTILINE)
_ENV = re.compile(rf"^[ \t]*ENV[ \t]+{VARIABLE}[ \t]+(?=\S)", re.MULTILINE | re.IGNORECASE)
_POWERSHELL = re.compile(
    rf"\$env:{VARIABLE}[ \t]*=[ \t]*(['\"])(.*?)\1[ \t]*$", re.MULTILINE | re.DOTALL
)
_BATCH = re.compile(
    rf'^[ \t]*set[ \t]+(?:"{VARIABLE}=(.*)"|{VARIABLE}=(.*?))[ \t]*$', re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word of a command, as the shell hands it on."""

    text: str
    offsets: tuple[int, ...]
    """Where each character stands in the script."""

    filled_in: frozenset[int]
    """Where in `text` markers begin that the shell replaces."""

    quoted: frozenset[int]
    """Which of its characters stood in quotes."""

    start: int
    command: int
    """Which command of the script it belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heredoc:
    """A text that a script hands to a command."""

    text: str
    origin: Origin
    filled_in: frozenset[int]
    """Where in the script markers begin that the shell replaces."""

    target: str
    """The rest of its line, with the name of the variable or file that gets it."""


def is_literal(text: str) -> bool:
    """Returns whether a value is more than one marker that something fills in."""
    return not re.fullmatch(r"\$\w+|\$\{[^}]*\}|\$\(.*\)|`.*`", text.strip(), re.DOTALL)


# -- env files ----------------------------------------------------------------------------------


def dotenv(file: str, text: str) -> Found:
    """Returns what an env file sets: everything behind the sign, without quotes around it all."""
    found = Found()
    for match in _LINE.finditer(text):
        raw, start = match[1].rstrip(), match.start(1)
        quote = raw[:1] if raw[:1] in {"'", '"'} else ""
        end = text.find(quote, start + 1) if quote == "'" else _end_of_double(text, start)
        notes: tuple[str, ...] = ()
        if quote and end > start:
            value = text[start + 1 : end]
            value = re.sub(r'\\(["\\$`])', r"\1", value) if quote == '"' else value
            notes = ("TFC135",)
            start += 1
        else:
            value, end = raw, start + len(raw)
        origin = find(text, start, end, value)
        filled = _markers(value) if quote != "'" else frozenset()
        found.add([_set(file, value, origin, filled, notes)])
    return found


def _end_of_double(text: str, start: int) -> int:
    match = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL).match(text, start)
    return match.end() - 1 if match else -1


def _markers(value: str) -> frozenset[int]:
    return frozenset(m.start() for m in re.finditer(r"\$\{?\w|\$\(|`", value))


def _set(
    file: str, value: str, origin: Origin, filled: frozenset[int], notes: tuple[str, ...] = ()
) -> Found:
    """Returns a value that was found, or says that only a run could tell it."""
    if value.strip() and not is_literal(value) and 0 in filled:
        line = origin.line_and_column(value)[0]
        shown = value if len(value) <= 60 else value[:57] + "..."
        what = f"{VARIABLE} is {shown}: it cannot be read without running it."
        return Found(
            unread=[
                Unread(
                    file=file,
                    line=line,
                    place="",
                    what=" ".join(what.split()),
                    fix="Lint what it prints.",
                )
            ]
        )
    return Found(
        sources=[
            Source(
                file=file,
                text=value,
                origin=origin,
                filled_in=filled,
                notes=notes,
                setter=Setter.SCRIPT,
            )
        ]
    )


# -- scripts ------------------------------------------------------------------------------------


def script(file: str, text: str) -> Found:
    """Returns what a shell script sets, anywhere in it; what its heredocs hold is not looked at."""
    found = Found()
    for match in _POWERSHELL.finditer(text):
        found.add(
            [
                _set(
                    file,
                    match[2],
                    find(text, match.start(2), match.end(2), match[2]),
                    _dollars(match),
                )
            ]
        )
    for match in _BATCH.finditer(text):
        value = match[1] if match[1] is not None else match[2]
        start = match.start(1) if match[1] is not None else match.start(2)
        if value[:1] == "{":
            found.add(
                [_set(file, value, find(text, start, start + len(value), value), frozenset())]
            )
    if found.sources or found.unread:
        return found
    for value, origin, filled in _settings(text):
        found.add([_set(file, value, origin, filled)])
    return found


def _dollars(match: re.Match[str]) -> frozenset[int]:
    return _markers(match[2]) if match[1] == '"' else frozenset()


def dockerfile(file: str, text: str) -> Found:
    """Returns what a Dockerfile sets by ENV, in either form."""
    plain = re.sub(r"\\[ \t]*\n", lambda match: " " * len(match[0]), text)
    plain = re.sub(r"^[ \t]*#.*$", lambda match: " " * len(match[0]), plain, flags=re.MULTILINE)
    match = _ENV.search(plain)
    while match:  # ENV NAME value: the rest of the line is the value
        sign = match.end() - 1
        end = plain.find("\n", sign)
        end = len(plain) if end < 0 else end
        rest = plain[sign + 1 : end].rstrip()
        if rest[:1] not in {"'", '"'}:
            value = rest.replace('"', "") if "\\" not in rest else re.sub(r"\\(.)", r"\1", rest)
            rest = rest and value
            origin = find(text, sign + 1, end, value)
            found = _set(file, value, origin, _markers(value))
            return found.add([dockerfile_rest(file, text, plain, end)])
        plain = plain[:sign] + "=" + plain[sign + 1 :]
        match = _ENV.search(plain)
    return dockerfile_rest(file, text, plain, 0)


def dockerfile_rest(file: str, text: str, plain: str, start: int) -> Found:
    """Returns what the lines from `start` on set, in the form NAME=value."""
    found = Found()
    for value, origin, filled in _settings(" " * start + plain[start:]):
        found.add([_set(file, value, Origin(text=text, offsets=origin.offsets), filled)])
    return found


def _settings(text: str) -> Iterator[tuple[str, Origin, frozenset[int]]]:
    """Yields each value that the script gives TF_CONFIG, where it stands, and its markers."""
    words = list(_words(text))
    for i, word in enumerate(words):
        previous = words[i - 1].text if i and words[i - 1].command == word.command else ""
        sets = _SETS.match(word.text)
        if sets:
            yield _cut(text, word, sets.end())
        elif (
            word.text == VARIABLE
            and i + 1 < len(words)
            and previous in {"setenv", "-x", "-gx", "-xg"}
        ):
            yield _cut(text, words[i + 1], 0)
        elif VARIABLE + "=" in word.text and word.text != text:
            inner = Origin(text=text, offsets=(*word.offsets, word.offsets[-1] + 1))
            for value, origin, filled in _settings(word.text):
                yield value, origin.within(inner), filled
    for one in heredocs(text):
        if re.search(rf"\b{VARIABLE}\b", one.target):  # read -r -d '' TF_CONFIG <<EOF
            value = one.text.strip()
            skipped = len(one.text) - len(one.text.lstrip())
            offsets = one.origin.offsets[skipped : skipped + len(value)]
            yield (
                value,
                exact(text, offsets),
                frozenset(i for i, at in enumerate(offsets) if at in one.filled_in),
            )


def _cut(text: str, word: Word, start: int) -> tuple[str, Origin, frozenset[int]]:
    value, offsets = word.text[start:], word.offsets[start:]
    filled = frozenset(at - start for at in word.filled_in if at >= start)
    cat = _CAT.fullmatch(value)
    if cat and 0 in filled:  # $(cat <<EOF ... EOF): what the heredoc holds
        body = cat[3]
        inside = offsets[cat.start(3) : cat.end(3)]
        return body, exact(text, inside), frozenset() if cat[1] else _markers(body)
    if value[:1] == "{" and start not in word.quoted:
        # Bare: the shell takes the quotes, and ends the value at the first blank.
        line = text[offsets[0] : _end_of_line(text, offsets[0])]
        close = line.rfind("}") + 1 or len(line)
        kept = [i for i in range(close) if line[i] not in "\"'" or line[i - 1 : i] == "\\"]
        kept = [i for i in kept if line[i] != "\\"]
        bare = "".join(line[i] for i in kept)
        return bare, exact(text, [offsets[0] + i for i in kept]), _markers(bare)
    return value, exact(text, offsets) if offsets else exact(text, [word.start]), filled


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def heredocs(text: str) -> Iterator[Heredoc]:
    """Yields the heredocs of a script, but those that a command substitution holds."""
    at = 0
    while match := _HEREDOC.search(text, at):
        end = re.compile(rf"^[ \t]*{re.escape(match[3])}[ \t]*$", re.MULTILINE).search(
            text, match.end()
        )
        stop = end.start() if end else len(text)
        body = text[match.end() : stop]
        offsets = list(range(match.end(), stop))
        filled: frozenset[int] = frozenset()
        if not match[2] and "\\" not in match[0]:
            escaped = {
                i
                for i, char in enumerate(body)
                if char == "\\" and body[i + 1 : i + 2] in {"$", "`", "\\"}
            }
            filled = frozenset(match.end() + i for i in _markers(body) if i - 1 not in escaped)
            kept = [i for i in range(len(body)) if i not in escaped]
            body, offsets = "".join(body[i] for i in kept), [match.end() + i for i in kept]
        start = text.rfind("\n", 0, match.start()) + 1
        target = text[start : match.start()] + match[4]
        if not re.search(r"\$\([ \t]*cat[ \t]*$", text[: match.start()]):
            yield Heredoc(text=body, origin=exact(text, offsets), filled_in=filled, target=target)
        at = end.end() if end else len(text)


# -- words --------------------------------------------------------------------------------------


def _words(text: str) -> Iterator[Word]:
    """Yields the words of a script, without comments and heredocs."""
    at, command = 0, 0
    pending: list[re.Match[str]] = []
    while at < len(text):
        char = text[at]
        if char == "#" and (at == 0 or text[at - 1] in _ENDS_WORD):
            at = _end_of_line(text, at)
        elif (heredoc := _HEREDOC.match(text, at)) is not None:
            pending.append(heredoc)
            at += 2 + len(heredoc[1])
        elif char == "\n":
            at += 1
            command += 1
            for one in pending:
                end = re.compile(rf"^[ \t]*{re.escape(one[3])}[ \t]*$", re.MULTILINE).search(
                    text, at
                )
                at = end.end() if end else len(text)
            pending = []
        elif char in _ENDS_WORD:
            command += char in ";|&()"
            at += 1
        elif char == "\\" and text[at + 1 : at + 2] == "\n":
            at += 2
        else:
            word = _Word(text, at)
            word.read()
            yield Word(
                text="".join(word.chars),
                offsets=tuple(word.offsets),
                filled_in=frozenset(word.filled),
                quoted=frozenset(word.quoted),
                start=at,
                command=command,
            )
            at = max(word.at, at + 1)


class _Word:
    """One word being read: quotes are taken off, expansions stay as they are written."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.chars: list[str] = []
        self.offsets: list[int] = []
        self.filled: set[int] = set()
        self.quoted: set[int] = set()

    def read(self) -> None:
        """Reads up to the end of the word."""
        while self.at < len(self.text) and self.text[self.at] not in _ENDS_WORD:
            char = self.text[self.at]
            if char == "'":
                self._single()
            elif char == '"':
                self._double()
            elif char == "\\":
                self._escape(frozenset())
            elif char == "$" and self.text[self.at + 1 : self.at + 2] == "'":
                self.at += 1
                self._single()
            elif char in "$`":
                self._expansion()
            else:
                self._take(1)

    def _take(self, count: int) -> None:
        for i in range(self.at, min(self.at + count, len(self.text))):
            self.chars.append(self.text[i])
            self.offsets.append(i)
        self.at += count

    def _single(self) -> None:
        end = self.text.find("'", self.at + 1)
        end = len(self.text) if end < 0 else end
        self.at += 1
        self.quoted.update(range(len(self.chars), len(self.chars) + end - self.at))
        self._take(end - self.at)
        self.at = end + 1

    def _double(self) -> None:
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char, before = self.text[self.at], len(self.chars)
            if char == "\\":
                self._escape(frozenset('"\\$`\n'))
            elif char in "$`":
                self._expansion()
            else:
                self._take(1)
            self.quoted.update(range(before, len(self.chars)))
        self.at += 1

    def _escape(self, only: frozenset[str]) -> None:
        """Takes off a backslash: before anything, or before some characters only."""
        follows = self.text[self.at + 1 : self.at + 2]
        if only and follows not in only:
            self._take(1)
            return
        self.at += 1
        if follows == "\n":
            self.at += 1
        else:
            self._take(1)

    def _expansion(self) -> None:
        length = _length_of_expansion(self.text, self.at)
        if length > 1:
            self.filled.add(len(self.chars))
        self._take(length)


def _length_of_expansion(text: str, at: int) -> int:
    if text[at] == "`":
        end = text.find("`", at + 1)
        return (end if end > 0 else len(text) - 1) - at + 1
    follows = text[at + 1 : at + 2]
    if follows in {"(", "{"}:
        closing = {"(": ")", "{": "}"}[follows]
        depth = 0
        for i in range(at + 1, len(text)):
            depth += (text[i] == follows) - (text[i] == closing)
            if depth == 0:
                return i - at + 1
        return len(text) - at
    name = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])").match(text, at)
    return len(name[0]) if name else 1
