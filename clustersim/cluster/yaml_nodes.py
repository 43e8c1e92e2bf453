"""YAML documents as nodes that know where they stand. PyYAML is loaded when one is read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clustersim.cluster.origin import Origin, find
from clustersim.errors import UsageError

_NULL = "tag:yaml.org,2002:null"
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a document."""

    raw: Any
    document: str
    """The text of the whole file."""

    @property
    def is_map(self) -> bool:
        """Whether it has members."""
        return bool(self.raw.id == "mapping")

    @property
    def text(self) -> str | None:
        """Its text; None if it is null, a map or a list."""
        is_text = self.raw.id == "scalar" and self.raw.tag != _NULL
        return str(self.raw.value) if is_text else None

    @property
    def line(self) -> int:
        """Where it begins, from 1."""
        return int(self.raw.start_mark.line) + 1

    def members(self) -> dict[str, "Node"]:
        """Returns what it holds by key, `<<` resolved; nothing if it is no map."""
        return self._members(0)

    def _members(self, depth: int) -> dict[str, "Node"]:
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in self.raw.value if self.is_map else ():
            node = Node(value, self.document)
            if key.tag == _MERGE or (key.id == "scalar" and key.value == "<<"):
                for one in node.items() or [node]:
                    merged = {**one._members(depth + 1), **merged} if depth < 20 else merged  # noqa: SLF001  # its own
            elif key.id == "scalar":
                own[str(key.value)] = node
        return {**merged, **own}

    def items(self) -> list["Node"]:
        """Returns its elements; nothing if it is no list."""
        values = self.raw.value if self.raw.id == "sequence" else ()
        return [Node(one, self.document) for one in values]

    def get(self, *path: str) -> "Node | None":
        """Returns what stands below some keys, None if one of them is missing."""
        node: Node | None = self
        for key in path:
            node = None if node is None else node.members().get(key)
        return node

    def text_at(self, *path: str) -> str | None:
        """Returns the text below some keys."""
        node = self.get(*path)
        return None if node is None else node.text

    def texts(self) -> list[str]:
        """Returns the texts of a list, or the one text that it is."""
        own = [] if self.text is None else [self.text]
        return own + [one.text for one in self.items() if one.text is not None]

    def origin(self, value: str) -> Origin:
        """Returns where the characters of a value stand that was read from this node."""
        start, end = (
            _offset(self.document, mark) for mark in (self.raw.start_mark, self.raw.end_mark)
        )
        first = self.document[start : start + 1]
        return find(self.document, start + (first in {"'", '"'}), end, value)


def _offset(text: str, mark: Any) -> int:
    at = 0
    for _ in range(mark.line):
        at = text.find("\n", at) + 1
    return at + int(mark.column)


def documents(file: str, text: str) -> Iterator[Node]:
    """Yields the documents of a file.

    Raises:
        UsageError: It is no YAML, or PyYAML is not installed.
    """
    try:
        import yaml  # an extra
    except ImportError:
        raise UsageError(
            f"Reading {file} needs PyYAML. Install clustersim[k8s], or give the value itself."
        ) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        nodes = list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise UsageError(f"{file} is not YAML: {what}. Correct it there.") from None
    yield from (Node(one, text) for one in nodes if one is not None)
