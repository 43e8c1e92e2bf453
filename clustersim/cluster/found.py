"""Pure: what files say of TF_CONFIGs: the values, the containers that have them, what cannot be read."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

from clustersim.cluster.origin import Origin

HOST_NETWORK = "host"
"""The network of containers that share the machine's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container, or several that one description makes."""

    place: str
    """What it is, as `service w0` or `Pod/train-w0`."""

    file: str
    line: int
    scope: str
    """Where its names are known: a compose file, a Kubernetes namespace."""

    names: frozenset[str]
    """The host names under which the others reach it."""

    network: str
    """Who has the same network has the same localhost."""

    replicas: int = 1
    makes: str = "service"
    """What describes it: `service`, `Pod`, `StatefulSet`, `Job`, ..."""

    has_tf_config: bool = False
    """Whether it is given one, read or not."""

    elsewhere: frozenset[str] = frozenset()
    """Further names that it can reach."""

    is_closed: bool = True
    """Whether all names of its scope are known, so that another one is wrong."""


class Setter(enum.Enum):
    """What sets several values that stand in one file."""

    FILE = "each is a process of its own"
    SCRIPT = "a script, which may start one job after another"
    PROGRAM = "a program, which sets one after the other for itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One TF_CONFIG, and where it was found."""

    file: str
    text: str
    place: str = ""
    """What it is set for, where a file says so: a service, a Pod, a task."""

    origin: Origin | None = None
    """Where it stands in the file; None if the file has no such text."""

    filled_in: frozenset[int] = frozenset()
    """Where markers begin that something fills in before the value is used."""

    container: Container | None = None
    setter: Setter = Setter.FILE
    notes: tuple[str, ...] = ()
    """What is to be said of how it is written down, apart from its value."""

    @property
    def line(self) -> int:
        """The line where the value begins; 0 if it stands nowhere."""
        return 0 if self.origin is None else self.origin.line_and_column(self.text)[0]

    @property
    def name(self) -> str:
        """File, line and what it is set for."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where} ({self.place})" if self.place else where


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A TF_CONFIG that is set, to what cannot be known from the files."""

    file: str
    line: int
    place: str
    what: str
    """Why, as a sentence."""

    fix: str
    is_error: bool = False
    """Whether it is wrong, whatever its value."""


@dataclass(slots=True, kw_only=True)
class Found:
    """All that was found in some files."""

    sources: list[Source] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)

    def add(self, others: Iterable["Found"]) -> "Found":
        """Takes in what was found elsewhere; returns itself."""
        for one in others:
            self.sources += one.sources
            self.unread += one.unread
            self.containers += one.containers
        return self
