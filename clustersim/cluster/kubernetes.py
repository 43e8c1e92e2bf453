"""The Pods of Kubernetes manifests, and of what makes Pods: their TF_CONFIGs, names and numbers.

Reads every object with a Pod template: Pod, StatefulSet, Deployment, Job, JobSet, CronJob, Volcano's.
References to ConfigMaps and Secrets are followed within the given files. A TFJob is left to its
operator, which sets TF_CONFIG itself. Judges nothing.
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from clustersim.cluster.found import HOST_NETWORK, Container, Found, Source, Unread
from clustersim.cluster.tf_config import VARIABLE
from clustersim.cluster.yaml_nodes import Node

_REFERENCE = re.compile(r"\$\$\(([A-Za-z_][\w.-]*)\)|\$\(([A-Za-z_][\w.-]*)\)")
_OPERATORS = {"TFJob", "PyTorchJob", "MPIJob", "PaddleJob", "XGBoostJob"}
_MANY = 2
"""As many as matters, where the number depends on the cluster's machines."""


@dataclass(frozen=True, slots=True)
class Document:
    """One object, and the file that holds it."""

    file: str
    node: Node

    @property
    def kind(self) -> str:
        """Its kind, as `Pod`."""
        return self.node.text_at("kind") or "object"

    @property
    def name(self) -> str:
        """Its name; '' if it has none."""
        return (
            self.node.text_at("metadata", "name")
            or self.node.text_at("metadata", "generateName")
            or ""
        )

    @property
    def scope(self) -> str:
        """Its namespace, as a scope of names."""
        return f"namespace {self.node.text_at('metadata', 'namespace') or ''}"

    @property
    def place(self) -> str:
        """Kind and name."""
        return f"{self.kind}/{self.name}"


@dataclass(slots=True)
class _Given:
    """What the objects of all files hold together."""

    values: dict[tuple[str, str, str], dict[str, tuple[str, Node]]] = field(default_factory=dict)
    """The entries of ConfigMaps and Secrets, by scope, kind and name."""

    files: dict[tuple[str, str, str], str] = field(default_factory=dict)
    services: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Scope, name and selector of each Service."""

    used: set[tuple[str, str, str, str]] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Template:
    """A Pod's spec, and what makes Pods of it."""

    spec: Node
    labels: dict[str, str]
    replicas: int
    names: frozenset[str]
    makes: str


def is_manifest(document: Node) -> bool:
    """Returns whether a document is an object of Kubernetes."""
    return document.text_at("kind") is not None and document.text_at("apiVersion") is not None


def pods_of(documents: Sequence[Document]) -> Found:
    """Returns what the objects of all given files say together."""
    objects = [one for document in documents for one in _flattened(document)]
    given = _given(objects)
    found = Found()
    for document in objects:
        if document.kind in _OPERATORS:
            continue
        for template in _templates(document):
            found.add([_pod(document, template, given)])
    found.sources += _unused(given)
    return found


def _flattened(document: Document) -> Iterator[Document]:
    """Yields the object, or those of a List."""
    items = document.node.get("items")
    if document.kind.endswith("List") and items is not None:
        for one in items.items():
            yield Document(document.file, one)
    else:
        yield document


def _given(objects: Sequence[Document]) -> _Given:
    given = _Given()
    for document in objects:
        node = document.node
        if document.kind in {"ConfigMap", "Secret"}:
            key = (document.scope, document.kind, document.name)
            data = node.get("data")
            entries = {name: (_decoded(document.kind, one), one)
                       for name, one in (data.members() if data else {}).items()}  # fmt: skip
            plain = node.get("stringData")
            entries |= {
                n: (one.text or "", one) for n, one in (plain.members() if plain else {}).items()
            }
            given.values[key] = entries
            given.files[key] = document.file
        elif document.kind == "Service":
            selector = node.get("spec", "selector")
            labels = {k: v.text or "" for k, v in (selector.members() if selector else {}).items()}
            given.services.append((document.scope, document.name, labels))
    return given


def _decoded(kind: str, node: Node) -> str:
    text = node.text or ""
    if kind == "ConfigMap":
        return text
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return text


# -- what makes Pods ----------------------------------------------------------------------------


def _templates(document: Document) -> Iterator[_Template]:
    """Yields the Pod specs of an object, with how many Pods each makes."""
    spec = document.node.get("spec")
    if spec is None:
        return
    if document.kind == "Pod":
        names = {document.name, spec.text_at("hostname") or ""}
        yield _template(document.node, 1, names, "Pod")
        return
    seen: set[int] = set()
    yield from _below(document, spec, document.kind, document.name, 1, seen)


def _below(
    document: Document, node: Node, makes: str, prefix: str, times: int, seen: set[int]
) -> Iterator[_Template]:
    if id(node.raw) in seen:
        return
    seen.add(id(node.raw))
    count = times * _count(node, makes)
    for key in ("template", "jobTemplate"):
        template = node.get(key)
        if template is None:
            continue
        if template.get("spec", "containers") is not None:
            names = _stable_names(node, makes, prefix, times, count)
            yield _template(template, count, names, makes)
        elif template.get("spec") is not None:
            inner = template.get("spec")
            kind = "Job" if key == "jobTemplate" else makes
            if inner is not None:
                yield from _below(document, inner, kind, prefix, count, seen)
    for key, kind in (("replicatedJobs", "JobSet"), ("tasks", "Volcano")):
        group = node.get(key)
        for one in group.items() if group else ():
            name = f"{prefix}-{one.text_at('name') or ''}"
            yield from _below(document, one, kind, name, times, seen)


def _count(node: Node, makes: str) -> int:
    if makes == "DaemonSet":
        return _MANY
    texts = (node.text_at(key) for key in ("replicas", "parallelism"))
    text = next((one for one in texts if one is not None), "1")
    return min(int(text), 1000) if text.isdecimal() else 1


def _stable_names(node: Node, makes: str, prefix: str, times: int, count: int) -> set[str]:
    """Returns the names of Pods that have some of their own; a Deployment's have none."""
    each = max(1, count // max(1, times))
    if makes == "JobSet":
        return {f"{prefix}-{i}-{j}" for i in range(times) for j in range(each)}
    is_numbered = makes in {"StatefulSet", "Volcano"} or node.text_at("completionMode") == "Indexed"
    return {f"{prefix}-{i}" for i in range(count)} if is_numbered else set()


def _template(node: Node, replicas: int, names: set[str], makes: str) -> _Template:
    spec = node.get("spec")
    labels = node.get("metadata", "labels")
    return _Template(
        spec=node if spec is None else spec,
        labels={k: v.text or "" for k, v in (labels.members() if labels else {}).items()},
        replicas=replicas,
        names=frozenset(one.lower() for one in names if one),
        makes=makes,
    )


# -- one Pod ------------------------------------------------------------------------------------


def _pod(document: Document, template: _Template, given: _Given) -> Found:
    found = Found()
    services = {
        name.lower()
        for scope, name, selector in given.services
        if scope == document.scope and selector and selector.items() <= template.labels.items()
    }
    is_host = (template.spec.text_at("hostNetwork") or "").lower() == "true"
    pod = Container(
        place=document.place,
        file=document.file,
        line=document.node.line,
        scope=document.scope,
        names=template.names | services,
        network=HOST_NETWORK
        if is_host
        else f"{document.scope} {document.place} {document.node.line}",
        replicas=template.replicas,
        makes=template.makes,
        is_closed=any(scope == document.scope for scope, _, _ in given.services),
    )
    node = template.spec.get("containers")
    containers = [] if node is None else node.items()
    for one in containers:
        setting = _setting(document, one, given)
        inside = f", container {one.text_at('name')}" if len(containers) > 1 else ""
        place = document.place + inside
        own = replace(pod, place=place, has_tf_config=True)
        if isinstance(setting, Source):
            said = f"{place}, from {setting.place}" if setting.place else place
            found.sources.append(replace(setting, container=own, place=said))
            found.containers.append(own)
        elif isinstance(setting, Unread):
            found.unread.append(replace(setting, place=place))
            found.containers.append(own)
    if not found.containers:
        found.containers.append(pod)
    return found


def _setting(document: Document, container: Node, given: _Given) -> Source | Unread | None:
    """Returns what a container sets TF_CONFIG to; the last one counts, and `env` before `envFrom`."""
    env = container.get("env")
    entries = env.items() if env else []
    names: set[str] = set()
    setting: Source | Unread | None = None
    for entry in entries:
        name = entry.text_at("name") or ""
        if name == VARIABLE:
            setting = _entry(document, entry, given, names)
        names.add(name)
    if setting is not None:
        return setting
    sources = container.get("envFrom")
    for one in reversed(sources.items() if sources else []):
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            target = one.text_at(key, "name")
            if target is None:
                continue
            prefix = one.text_at("prefix") or ""
            setting = _referred(document, one, given, kind, target, VARIABLE.removeprefix(prefix))
            if setting is not None:
                return setting
    return None


def _entry(
    document: Document, entry: Node, given: _Given, earlier: set[str]
) -> Source | Unread | None:
    value = entry.get("value")
    if value is not None and value.text is not None:
        text, filled = _expanded(value.text, earlier)
        return Source(file=document.file, text=text, origin=value.origin(text), filled_in=filled)
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        name = entry.text_at("valueFrom", key, "name")
        if name is not None:
            at = entry.text_at("valueFrom", key, "key") or ""
            return _referred(document, entry, given, kind, name, at, is_named=True)
    line = entry.line if value is None else value.line
    if value is not None and value.raw.id != "scalar":
        what = f"The value of {VARIABLE} is a map or a list here, and Kubernetes takes text only."
        return Unread(file=document.file, line=line, place=document.place, what=what,
                      fix="Put the JSON into single quotes.", is_error=True)  # fmt: skip
    what = f"{VARIABLE} comes from what only a running Pod has."
    return Unread(file=document.file, line=line, place=document.place, what=what,
                  fix="Lint it in the Pod.")  # fmt: skip


def _referred(
    document: Document, at: Node, given: _Given, kind: str, name: str, key: str, *,
    is_named: bool = False,
) -> Source | Unread | None:  # fmt: skip
    """Follows a reference; None where an `envFrom` names an object that has no such key."""
    where = (document.scope, kind, name)
    entries = given.values.get(where)
    if entries is not None and key in entries:
        text, node = entries[key]
        given.used.add((*where, key))
        origin = node.origin(text)
        return Source(
            file=given.files[where], text=text, place=f"{kind}/{name}, key {key}", origin=origin
        )
    if entries is None:
        may = "comes" if is_named else "may come"
        what = f"{VARIABLE} {may} from {kind}/{name}" + f", key {key!r}, which" * is_named
        what += f"{'' if is_named else ', which'} is in none of the given files."
        fix = f"Give the file of {kind}/{name}, too."
    elif is_named:
        what = f"{VARIABLE} comes from {kind}/{name}, which has no key {key!r}; it has {sorted(entries)}."
        fix = "Correct the key: the container would not start."
    else:
        return None
    is_error = entries is not None
    return Unread(
        file=document.file,
        line=at.line,
        place=document.place,
        what=what,
        fix=fix,
        is_error=is_error,
    )


def _expanded(text: str, names: set[str]) -> tuple[str, frozenset[int]]:
    """Returns a value with `$$(X)` resolved, and where markers begin that Kubernetes fills in."""
    result, filled, at = "", set(), 0
    for match in _REFERENCE.finditer(text):
        result += text[at : match.start()]
        if match[2] in names:
            filled.add(len(result))
        result += match[0].removeprefix("$") if match[1] else match[0]
        at = match.end()
    return result + text[at:], frozenset(filled)


def _unused(given: _Given) -> Iterator[Source]:
    """Yields what looks like a TF_CONFIG in an object that nothing here refers to."""
    for (scope, kind, name), entries in given.values.items():
        for key, (text, node) in entries.items():
            is_one = key == VARIABLE or ('"cluster"' in text and text.lstrip().startswith("{"))
            if is_one and (scope, kind, name, key) not in given.used:
                yield Source(
                    file=given.files[scope, kind, name],
                    text=text,
                    place=f"{kind}/{name}, key {key}",
                    origin=node.origin(text),
                )
