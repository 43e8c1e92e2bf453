"""The services of a compose file: their TF_CONFIGs, their names, what they share.

Reads `environment`, `env_file`, `extends` within the file, `deploy.replicas` and `scale`, and what
says under which names a service is reached. Judges nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clustersim.cluster.found import HOST_NETWORK, Container, Found, Source, Unread
from clustersim.cluster.origin import find
from clustersim.cluster.shell_text import dotenv
from clustersim.cluster.tf_config import VARIABLE
from clustersim.cluster.yaml_nodes import Node

_INTERPOLATED = re.compile(r"\$\$|\$\{[^}]*\}|\$[A-Za-z_]\w*")
_DEFAULT = re.compile(r"\$\{\w+:?-(\d+)\}")


def is_compose(document: Node) -> bool:
    """Returns whether a document is a compose file."""
    services = document.get("services")
    return services is not None and services.is_map and document.get("apiVersion") is None


def services_of(file: str, document: Node) -> Found:
    """Returns what a compose file says."""
    services = document.get("services")
    members = {} if services is None else services.members()
    found = Found()
    for name, service in members.items():
        if not service.is_map or _replicas(service) == 0:
            continue
        container = _container(file, document, name, service, members)
        setting = _setting(file, container.place, service, members)
        if isinstance(setting, Source):
            container = replace(container, has_tf_config=True)
            found.sources.append(replace(setting, container=container))
        elif isinstance(setting, Unread):
            container = replace(container, has_tf_config=True)
            found.unread.append(setting)
        found.containers.append(container)
    return found


def interpolated(text: str) -> tuple[str, frozenset[int]]:
    """Returns a value with `$$` resolved, and where the markers begin that Compose fills in."""
    result, filled, at = "", set(), 0
    for match in _INTERPOLATED.finditer(text):
        result += text[at : match.start()]
        if match[0] == "$$":
            result += "$"
        else:
            filled.add(len(result))
            result += match[0]
        at = match.end()
    return result + text[at:], frozenset(filled)


def _container(
    file: str, document: Node, name: str, service: Node, members: Mapping[str, Node]
) -> Container:
    project = document.text_at("name") or Path(file).absolute().parent.name.lower()
    replicas = _replicas(service)
    names = {name, f"{project}-{name}-1", f"{project}_{name}_1", f"{name}.{project}_default"}
    names |= {f"{project}{sign}{name}{sign}{i + 1}" for i in range(replicas) for sign in "-_"}
    names |= {service.text_at(key) or "" for key in ("container_name", "hostname")}
    names |= _aliases(service)
    mode = service.text_at("network_mode") or ""
    kind, _, other = mode.partition(":")
    shared = {"host": HOST_NETWORK, "service": f"{file} {other}", "container": f"{file} {other}"}
    hosts = service.get("extra_hosts")
    extra = set(hosts.members()) if hosts and hosts.is_map else set()
    for line in hosts.texts() if hosts else ():
        extra.add(re.split("[:=]", line)[0])
    for link in _list(service, "links") + _list(service, "external_links"):
        extra.add(link.rpartition(":")[2])
    return Container(
        place=f"service {name}",
        file=file,
        line=service.line,
        scope=file,
        names=frozenset(one.lower() for one in names if one),
        network=shared.get(kind, f"{file} {name}"),
        replicas=replicas,
        elsewhere=frozenset(one.lower() for one in extra),
        is_closed=kind != "host" and not _has_external_network(document) and bool(members),
    )


def _list(service: Node, key: str) -> list[str]:
    node = service.get(key)
    return [] if node is None else node.texts()


def _aliases(service: Node) -> set[str]:
    networks = service.get("networks")
    found = set()
    for one in networks.members().values() if networks else ():
        aliases = one.get("aliases")
        found |= set(aliases.texts()) if aliases else set()
        found |= {one.text_at(key) or "" for key in ("ipv4_address", "ipv6_address")}
    return found


def _has_external_network(document: Node) -> bool:
    networks = document.get("networks")
    return networks is not None and any(
        "external" in one.members() for one in networks.members().values()
    )


def _replicas(service: Node) -> int:
    text = service.text_at("deploy", "replicas") or service.text_at("scale") or "1"
    if service.text_at("deploy", "mode") == "global":
        return 2  # one on each machine: as good as many
    default = _DEFAULT.fullmatch(text)
    text = default[1] if default else text
    return min(int(text), 1000) if text.isdecimal() else 1


def _setting(
    file: str, place: str, service: Node, members: Mapping[str, Node], depth: int = 0
) -> Source | Unread | None:
    """Returns what a service sets TF_CONFIG to: by itself, by an env file, by what it extends."""
    setting = _environment(file, place, service.get("environment"))
    if setting is None:
        setting = _env_file(file, place, service)
    extended = service.text_at("extends") or service.text_at("extends", "service")
    is_here = service.get("extends", "file") is None and extended in members
    if setting is None and extended is not None and is_here and depth < 20:
        return _setting(file, place, members[extended], members, depth + 1)
    return setting


def _environment(file: str, place: str, environment: Node | None) -> Source | Unread | None:
    if environment is None:
        return None
    node = environment.get(VARIABLE)
    if node is not None:
        if node.text is None and node.raw.id != "scalar":
            what = f"{VARIABLE} is a map or a list here, and Compose takes text only."
            return Unread(file=file, line=node.line, place=place, what=what,
                          fix="Put the JSON into single quotes.", is_error=True)  # fmt: skip
        return _value(file, place, node, node.text)
    for one in environment.items():
        name, equals, text = (one.text or "").partition("=")
        if name == VARIABLE:
            return _value(file, place, one, text if equals else None)
    return None


def _value(file: str, place: str, node: Node, written: str | None) -> Source | Unread:
    if written is None:
        what = f"{VARIABLE} is taken from the environment in which Compose runs."
        return Unread(file=file, line=node.line, place=place, what=what, fix="Lint it there.")
    text, filled = interpolated(written)
    if filled == {0} and _INTERPOLATED.fullmatch(written):
        what = f"{VARIABLE} is {written}, which Compose fills in: it cannot be read without running it."
        return Unread(
            file=file, line=node.line, place=place, what=what, fix="Lint it where it is set."
        )
    origin = node.origin(text)
    if node.text != written:  # NAME=VALUE in one text: the value begins behind the sign
        whole = node.origin(node.text or "")
        start = whole.offsets[(node.text or "").index("=") + 1]
        origin = find(node.document, start, whole.offsets[-1], text)
    return Source(file=file, text=text, place=place, origin=origin, filled_in=filled)


def _env_file(file: str, place: str, service: Node) -> Source | Unread | None:
    """Returns what the last env file sets that sets it; one that is not there is said."""
    node = service.get("env_file")
    if node is None:
        return None
    paths = node.texts() + [one.text_at("path") or "" for one in node.items() if one.is_map]
    missing = ""
    for path in reversed(paths):
        target = Path(file).parent / path
        try:
            text = target.read_text(encoding="utf-8", errors="replace")
        except OSError:
            missing = missing or path
            continue
        for one in reversed(dotenv(str(target), text).sources):
            return Source(
                file=one.file, text=one.text, place=place, origin=one.origin,
                filled_in=one.filled_in,
            )  # fmt: skip
    if not missing:
        return None
    what = f"The env file {missing!r}, which may set {VARIABLE}, is not there."
    return Unread(
        file=file, line=node.line, place=place, what=what, fix="Lint it beside this file."
    )
