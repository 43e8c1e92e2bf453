"""Where TF_CONFIGs are found in files: by the file's name, or by what its text looks like.

A value, a cluster.toml, a compose file, Kubernetes manifests, shell scripts, env files, Dockerfiles,
Python programs, notebooks; and whatever `clustersim env` prints. Reads files and gives what they say;
judges nothing.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from clustersim.cluster.cluster_file import spec_from_toml
from clustersim.cluster.compose_services import is_compose, services_of
from clustersim.cluster.found import Found, Source
from clustersim.cluster.kubernetes import Document, is_manifest, pods_of
from clustersim.cluster.lint import MAX_TEXT
from clustersim.cluster.origin import find, whole
from clustersim.cluster.python_text import program
from clustersim.cluster.shell_text import dockerfile, dotenv, heredocs, script
from clustersim.cluster.spec import ClusterSpec
from clustersim.cluster.tf_config import VARIABLE, TFConfig
from clustersim.cluster.yaml_nodes import Node, documents
from clustersim.errors import UsageError

_SUFFIXES: Mapping[str, str] = MappingProxyType({
    ".toml": "toml", ".yml": "yaml", ".yaml": "yaml", ".py": "python", ".ipynb": "notebook",
    ".sh": "shell", ".bash": "shell", ".zsh": "shell", ".ksh": "shell", ".sbatch": "shell",
    ".slurm": "shell", ".pbs": "shell", ".ps1": "shell", ".bat": "shell", ".cmd": "shell",
    ".env": "dotenv", ".dockerfile": "dockerfile",
})  # fmt: skip

_NAMES = re.compile(
    r"(?P<dockerfile>(Docker|Container)file([.-].*)?)|(?P<dotenv>\.env([.-].*)?)", re.IGNORECASE
)

_LOOKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("shell", re.compile(r"#!.*\b(ba|z|k|da)?sh\b")),
    ("python", re.compile(r"#!.*\bpython")),
    ("value", re.compile(r"\s*\ufeff?['\"]?[\[{]")),
    ("python", re.compile(rf"^[^#\n]*(environ\b.*{VARIABLE}|setenv\(.*{VARIABLE})", re.MULTILINE)),
    (
        "dotenv",
        re.compile(rf"^[ \t]*{VARIABLE}=\{{.*\}}[ \t]*$", re.MULTILINE),
    ),
    (
        "yaml",
        re.compile(
            rf"^(apiVersion|kind|services|version|x-[\w-]+)[ ]*:|^[ \t]*(- )?{VARIABLE}: ",
            re.MULTILINE,
        ),
    ),
    ("dockerfile", re.compile(r"^FROM[ \t]+\S+", re.MULTILINE)),
    (
        "shell",
        re.compile(rf"\b{VARIABLE}=|\b{VARIABLE} ['\"]|<<-?[ \t]*['\"]?\w+|\$env:{VARIABLE}"),
    ),
)


def from_file(path: Path) -> list[Source]:
    """Returns the TF_CONFIGs in a file: several for a cluster, one for anything else.

    Raises:
        UsageError: The file cannot be read, or has none.
    """
    return from_files([str(path)]).sources


def from_files(names: Sequence[str]) -> Found:
    """Returns what files say together; `-` is standard input.

    Raises:
        UsageError: A file cannot be read; or one says nothing that can be looked at.
    """
    found = Found()
    objects: list[Document] = []
    for name in names:
        text = sys.stdin.read() if name == "-" else _read(Path(name))
        one = _Reading(name, objects).of(text, kind_of(name, text))
        before = sum(document.file == name for document in objects)
        if not (one.sources or one.unread or before):
            raise UsageError(f"{name} sets {VARIABLE} nowhere. Name the right file.")
        found.add([one])
    pods = pods_of(objects)
    found.add([pods])
    silent = [name for name in names if _is_silent(name, found, objects)]
    if silent and not found.sources and not found.unread:
        raise UsageError(f"{silent[0]} sets {VARIABLE} nowhere. Name the right file.")
    return found


def _is_silent(name: str, found: Found, objects: Sequence[Document]) -> bool:
    said = {one.file for one in found.sources} | {one.file for one in found.unread}
    return name not in said and any(one.file == name for one in objects)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Check the path.") from None


def kind_of(name: str, text: str) -> str:
    """Returns how a file is to be read: by its name where that says it, else by its text."""
    path = Path(name)
    if len(text) > MAX_TEXT:
        return "value"  # too large for one, and said to be
    kind = _SUFFIXES.get(path.suffix.lower())
    named = _NAMES.fullmatch(path.name)
    if named:
        return "dockerfile" if named["dockerfile"] else "dotenv"
    if kind:
        return kind
    if path.suffix.lower() == ".json" and not re.search(
        r'"(apiVersion|services)"\s*:', text[:5000]
    ):
        return "value"
    if re.match(r"\s*\{", text) and re.search(
        r'^\s*"(apiVersion|services)"\s*:', text, re.MULTILINE
    ):
        return "yaml"  # JSON is YAML, too
    return next((look for look, pattern in _LOOKS if pattern.search(text) and (
        look != "value" or pattern.match(text))), "value")  # fmt: skip


class _Reading:
    """Reads one file, by its kind; objects of Kubernetes are kept until all files are read."""

    def __init__(self, file: str, objects: list[Document]) -> None:
        self.file = file
        self.objects = objects

    def of(self, text: str, kind: str) -> Found:
        """Returns what a text says."""
        readers: dict[str, Callable[[str], Found]] = {
            "toml": self._toml,
            "yaml": self._yaml,
            "python": lambda one: program(self.file, one),
            "notebook": self._notebook,
            "dotenv": lambda one: dotenv(self.file, one),
            "dockerfile": lambda one: dockerfile(self.file, one),
            "shell": self._shell,
            "value": self._value,
        }
        return readers[kind](text)

    def _toml(self, text: str) -> Found:
        spec = spec_from_toml(Path(self.file), text)
        return Found(sources=from_spec(spec, self.file))

    def _value(self, text: str) -> Found:
        spans = _objects(text)
        if len(spans) < 2:
            return Found(sources=[Source(file=self.file, text=text, origin=whole(text))])
        return Found(
            sources=[
                Source(file=self.file, text=text[a:b], origin=find(text, a, b, text[a:b]))
                for a, b in spans
            ]
        )

    def _shell(self, text: str) -> Found:
        found = script(self.file, text)
        for one in heredocs(text):
            if VARIABLE not in one.text or VARIABLE in one.target:
                continue
            try:
                inner = _Reading(self.file, self.objects).of(one.text, kind_of("", one.text))
            except UsageError:
                continue  # a part of a document, or of another language
            for source in inner.sources:
                origin = source.origin and source.origin.within(one.origin)
                at = () if origin is None else origin.offsets
                filled = frozenset(i for i, offset in enumerate(at) if offset in one.filled_in)
                filled = filled | source.filled_in if one.filled_in else source.filled_in
                found.sources.append(replace(source, origin=origin, filled_in=filled))
            found.unread += [_moved(unread, one.origin, one.text) for unread in inner.unread]
        return found

    def _notebook(self, text: str) -> Found:
        try:
            cells = json.loads(text)["cells"]
            codes = ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.file} is no notebook. Correct it there.") from None
        code = "\n".join("\n".join(_magic(line) for line in one.splitlines()) for one in codes)
        found = program(self.file, code)
        found.sources = [replace(one, origin=None, place="a code cell") for one in found.sources]
        return found

    def _yaml(self, text: str) -> Found:
        found = Found()
        for document in documents(self.file, text):
            if is_compose(document):
                found.add([services_of(self.file, document)])
            elif is_manifest(document):
                own = Document(self.file, document)
                self.objects.append(own)
                if own.kind not in _WITH_PODS:
                    found.sources += self._anywhere(document, own.place, set())
            else:
                found.sources += self._anywhere(document, "", set())
        return found

    def _anywhere(self, node: Node, where: str, seen: set[int]) -> Iterator[Source]:
        """Yields every TF_CONFIG below a node of a form that nobody knows: CI files, charts, ..."""
        if id(node.raw) in seen:  # an anchor may hold itself
            return
        seen.add(id(node.raw))
        members = node.members()
        value = members.get("value")
        if value is not None and node.text_at("name") == VARIABLE and value.text is not None:
            yield Source(
                file=self.file, text=value.text, place=where, origin=value.origin(value.text)
            )
        for key, one in members.items():
            inner = f"{where}.{key}" if where else key
            if key == VARIABLE and one.text is not None:
                yield Source(
                    file=self.file, text=one.text, place=where, origin=one.origin(one.text)
                )
            else:
                yield from self._anywhere(one, inner, seen)
        for one in node.items():
            text = one.text or ""
            if text.startswith(f"{VARIABLE}="):
                value_text = text.partition("=")[2]
                yield Source(
                    file=self.file, text=value_text, place=where, origin=one.origin(value_text)
                )
            else:
                yield from self._anywhere(one, where, seen)


_WITH_PODS = {"Pod", "StatefulSet", "Deployment", "ReplicaSet", "DaemonSet", "Job", "CronJob",
              "JobSet", "ReplicationController", "List", "ConfigMap", "Secret", "Service"}  # fmt: skip


def _moved(unread: Any, origin: Any, text: str) -> Any:
    line, _ = origin.line_and_column(text, unread.line, 1)
    return replace(unread, line=line)


def _magic(line: str) -> str:
    """Returns a line of a notebook as Python; `%env` is what sets a variable there."""
    match = re.match(rf"\s*%(?:set_)?env\s+{VARIABLE}[= ]\s*(.*)", line)
    if match:
        return f"import os; os.environ[{VARIABLE!r}] = {match[1]!r}"
    return "" if line.lstrip()[:1] in {"%", "!", "?"} else line


def _objects(text: str) -> list[tuple[int, int]]:
    """Returns where the TF_CONFIGs stand that follow each other in a text; none if it is otherwise."""
    spans, at, decoder = [], 0, json.JSONDecoder()
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict) or not {"cluster", "task"} & set(value):
            return []
        spans.append((at, end))
        at = end
    return spans


def from_spec(spec: ClusterSpec, name: str) -> list[Source]:
    """Returns one TF_CONFIG for each task."""
    return [
        Source(file=name, place=str(task), text=TFConfig(cluster=spec, task=task).to_json())
        for task in spec.tasks()
    ]
