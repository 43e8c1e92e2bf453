"""Pure: everything that is wrong with a TF_CONFIG.

Each check looks at the value and yields findings; all are reported at once: errors, then warnings,
then notes, each in the order in which they stand in the text. `TFConfig.parse` refuses a value that has an ERROR finding; this module
decides, nobody else. What a broken text leaves unknown is not judged: one cause, one finding.

The rules and their reasons stand in `rules`; the faults of the text itself in `scan` and `syntax`;
the checks in `cluster_map`, `place` and `meaning`.
Knows nothing of processes, networks or strategies.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clustersim.cluster import meaning
from clustersim.cluster.cluster_map import check_cluster
from clustersim.cluster.finding import Json, error, warning
from clustersim.cluster.place import TOP_KEYS, check_task
from clustersim.cluster.scan import Kind, Scanned, line_and_column, pointer_to, scan
from clustersim.cluster.spec import JOBS
from clustersim.cluster.syntax import SHIFTING, derailed_at, syntax_findings, without_bare_words
from clustersim.errors import Finding, Severity

MAX_BYTES = 128 * 1024 - 1
"""What one environment string holds on Linux, its name included."""

MAX_FINDINGS = 50
"""More are not read by anybody; errors come first."""

_MISSING = {"TFC102", "TFC106", "TFC107", "TFC108"}

_OF_TEXT = {"TFC001", "TFC003", "TFC005", "TFC133", "TFC134"}

_OF_SHAPE = {"TFC001", "TFC106"}

_KEYS = {"TFC106", "TFC004", "TFC122", "TFC101", "TFC113", "TFC114"}
"""Rules that speak of a key, where they speak of a member of an object."""

MAX_TEXT = 2**20
"""A longer text fits no variable, whatever it says, and is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What linting found. `value` is what the text most likely means."""

    findings: tuple[Finding, ...]
    value: Json = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse the value."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


def lint_tf_config(
    text: str,
    *,
    strategy: str | None = None,
    api: str | None = None,
    filled_in: Collection[int] = (),
) -> Linted:
    """Returns everything that is wrong with the text of a TF_CONFIG. Never raises.

    Args:
        text: The value of the variable.
        strategy: What will read it: `mwms`, `ps`, `mirrored`, `one-device`. Default: not known.
        api: `estimator` if that will read it.
        filled_in: Where markers begin that a shell, Compose or Kubernetes fills in: no faults.
    """
    if len(text) > MAX_TEXT:
        return Linted(findings=tuple(_placed(text, scan("{}"), one) for one in _check_size(text)))
    scanned = scan(text)
    findings = syntax_findings(text, scanned, filled_in)
    is_broken = any(one.severity is Severity.ERROR for one in findings)
    findings += [*_judged(scanned, strategy, api), *_check_size(text)]
    if any(fault.kind in SHIFTING for fault in scanned.faults):
        findings = [
            one for one in findings if one.rule not in _MISSING or one.pointer == "/cluster/task"
        ]
    if is_broken:  # then a note is no help yet
        findings = [one for one in findings if one.severity is not Severity.NOTE or one.line]
    known = [one for one in findings if not _is_unknown(scanned, one)]
    known = without_bare_words(known, scanned)
    known.sort(key=lambda one: one.severity.rank)
    placed = [_placed(text, scanned, one) for one in known[:MAX_FINDINGS]]
    placed = _without_consequences(text, scanned, placed)
    placed.sort(key=lambda one: (one.severity.rank, one.line, one.column))
    return Linted(findings=tuple(placed), value=scanned.value)


def _without_consequences(text: str, scanned: Scanned, placed: Sequence[Finding]) -> list[Finding]:
    """Returns the findings without those that come from an earlier fault of the text."""
    start = derailed_at(text, scanned.faults)
    inside = next((one for one in placed if one.pointer == "/cluster/task"), None)
    if inside is not None and any(one.kind is Kind.MISSING_END for one in scanned.faults):
        return [replace(inside, rule="TFC001"), *(f for f in placed if f.rule not in _OF_SHAPE)]
    if start is None:
        is_after = any(one.kind is Kind.EXTRA for one in scanned.faults)
        return [one for one in placed if one.rule != "TFC002" or not is_after]
    tops = (at for key, at in scanned.keys.items() if key.count("/") == 1 and at <= start)
    member = line_and_column(text, max(tops, default=0))
    return [one for one in placed if one.rule in _OF_TEXT or (one.line, one.column) < member]


def _judged(scanned: Scanned, strategy: str | None, api: str | None) -> Iterator[Finding]:
    """Yields what is wrong with the value, whatever the text."""
    if "" in scanned.unknown:
        return
    value = scanned.value
    yield from _check_object(value)
    yield from _check_top_keys(value)
    yield from check_cluster(value, strategy)
    yield from check_task(value, strategy)
    yield from meaning.checks(value, strategy=strategy, api=api)


def _is_unknown(scanned: Scanned, finding: Finding) -> bool:
    """Returns whether a finding speaks of a part that the text leaves unknown."""
    if finding.line:  # the text's own fault
        return False
    return any(
        finding.pointer == part or finding.pointer.startswith(part + "/")
        for part in scanned.unknown
    )


def _placed(text: str, scanned: Scanned, finding: Finding) -> Finding:
    """Returns the finding with line and column, those of the nearest part that has some."""
    if finding.line:
        return finding
    pointer = finding.pointer
    if finding.rule in _KEYS and pointer in scanned.keys and pointer != "/task/type":
        line, column = line_and_column(text, scanned.keys[pointer])
        return replace(finding, line=line, column=column)
    while pointer and pointer not in scanned.offsets:
        pointer = pointer.rpartition("/")[0]
    line, column = line_and_column(text, scanned.offsets.get(pointer, 0))
    return replace(finding, line=line, column=column)


# -- shape --------------------------------------------------------------------------------------


def _check_size(text: str) -> Iterator[Finding]:
    size_bytes = len(text.encode(errors="replace")) + len("TF_CONFIG=")
    if size_bytes > MAX_BYTES:
        yield error(
            "TFC005",
            f"The value has {size_bytes} bytes, more than one environment variable holds"
            f" ({MAX_BYTES}).",
            "Use shorter host names, or fewer tasks.",
        )


def _check_object(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a string", type(None): "null"}.get(type(value), "a number")
        yield error(
            "TFC002",
            f"The value is {kind}, not an object.",
            'Write {"cluster": {...}, "task": {...}}.',
            is_type_error=value is None or isinstance(value, int | float),
        )


def _check_top_keys(value: Json) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    if "cluster" not in value and value and all(key in JOBS for key in value):
        yield error(
            "TFC006",
            f"The jobs {sorted(value)} stand at the top level.",
            'Wrap them: {"cluster": {...}, "task": {...}}.',
        )
        return
    for key in value:
        if key not in TOP_KEYS:
            yield _unknown_key(key, value)


def _unknown_key(key: str, value: Mapping[str, Json]) -> Finding:
    if key == "sparseCluster":
        make = warning if "cluster" in value else error
        what = "'sparseCluster' is Kubeflow's key for dynamic workers; TensorFlow does not read it."
        return make("TFC122", what, "Write 'cluster', with every task in it.", pointer_to(key))
    guess = difflib.get_close_matches(key, ["cluster", "task"], n=1)
    likely = guess[0] if guess else None
    is_lost = likely is not None and likely not in value
    return Finding(
        rule="TFC004",
        severity=Severity.ERROR if is_lost else Severity.WARNING,
        what=f"{key!r} is no key that TensorFlow reads.",
        fix=f"Did you mean {likely!r}?" if likely else "Remove it.",
        pointer=pointer_to(key),
        is_fixable=is_lost,
    )
