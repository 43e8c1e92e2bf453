"""How `clustersim lint` prints what it found: for people, as JSON, for GitHub, as SARIF."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import click

from clustersim.cluster.rules import RULES
from clustersim.errors import Finding, Severity

_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_GITHUB_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}

_MOST_PLACES = 3
"""How many places of one finding are shown to people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A place in a file. Line 0: in the file as a whole."""

    file: str
    line: int
    column: int
    place: str
    """What is set there: a service, a Pod, a task; '' where the file does not say."""

    def __str__(self) -> str:
        """As compilers write it, and in words."""
        at = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{at} ({self.place})" if self.place else at


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing to say, and where it is so."""

    finding: Finding
    where: tuple[Where, ...]
    is_between: bool = False
    """Whether it is about the places together."""


def _print_text(rows: Sequence[Row], files: Sequence[str], num_values: int) -> None:
    for row in rows:
        shown = [str(one) for one in row.where[:_MOST_PLACES]]
        more = len(row.where) - len(shown)
        line = (" <-> " if row.is_between else ", ").join(shown)
        click.echo(line + (f" and {more} more" if more else ""))
        _print_finding(row.finding)
    counts = {one: sum(row.finding.severity is one for row in rows) for one in Severity}
    many = f" with {num_values} TF_CONFIGs" if num_values > len(files) else ""
    parts = [_count(len(files), "file") + many]
    parts += [_count(counts[Severity.ERROR], "error"), _count(counts[Severity.WARNING], "warning")]
    parts += [_count(counts[Severity.NOTE], "note")] if counts[Severity.NOTE] else []
    explain = f"     clustersim explain {rows[0].finding.rule}" if rows else ""
    click.echo(", ".join(parts) + explain)


def _print_finding(finding: Finding) -> None:
    pointer = f"    {finding.pointer}" if finding.pointer else ""
    click.echo(f"  {finding.severity.value:<7} {finding.rule}  {finding.what}{pointer}")
    can = "    --fix can do this" if finding.is_fixable else ""
    click.echo(f"                  {finding.fix}{can}")
    if finding.severity is Severity.ERROR:
        click.echo(f"                  {RULES[finding.rule].why}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_json(rows: Sequence[Row], files: Sequence[str], num_values: int) -> None:
    findings = [
        {
            "files": list(dict.fromkeys(one.file for one in row.where)),
            "places": [
                {"file": one.file, "line": one.line, "column": one.column, "place": one.place}
                for one in row.where
            ],
            "rule": row.finding.rule,
            "severity": row.finding.severity.value,
            "line": row.where[0].line,
            "column": row.where[0].column,
            "pointer": row.finding.pointer,
            "what": row.finding.what,
            "why": RULES[row.finding.rule].why,
            "fix": row.finding.fix,
            "fixable": row.finding.is_fixable,
        }
        for row in rows
    ]
    report = {"v": 1, "files": list(files), "values": num_values, "findings": findings}
    click.echo(json.dumps(report))


def _print_github(rows: Sequence[Row], files: Sequence[str], num_values: int) -> None:  # noqa: ARG001  # a printer's
    for row in rows:
        f, first = row.finding, row.where[0]
        others = "; ".join(map(str, row.where[1:]))
        text = _escaped(f"{f.what} {f.fix}" + (f" Also: {others}." if others else ""))
        place = (
            f"file={first.file},line={max(1, first.line)},col={max(1, first.column)},title={f.rule}"
        )
        click.echo(f"::{_GITHUB_WORDS[f.severity]} {place}::{text}")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _print_sarif(rows: Sequence[Row], files: Sequence[str], num_values: int) -> None:  # noqa: ARG001  # a printer's
    used = sorted({row.finding.rule for row in rows})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": RULES[code].title},
            "fullDescription": {"text": RULES[code].why},
        }
        for code in used
    ]
    run = {
        "tool": {"driver": {"name": "clustersim lint", "rules": rules}},
        "results": [_sarif_result(row) for row in rows],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    click.echo(json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}))


def _sarif_result(row: Row) -> dict[str, object]:
    return {
        "ruleId": row.finding.rule,
        "level": _SARIF_LEVELS[row.finding.severity],
        "message": {"text": f"{row.finding.what} {row.finding.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": one.file},
                    "region": {"startLine": max(1, one.line), "startColumn": max(1, one.column)},
                }
            }
            for one in row.where
        ],
    }


Printer = Callable[[Sequence[Row], Sequence[str], int], None]

PRINTERS: Mapping[str, Printer] = MappingProxyType(
    {"text": _print_text, "json": _print_json, "github": _print_github, "sarif": _print_sarif}
)
"""By the name of the format; each takes the rows, the files, and how many values they hold."""
