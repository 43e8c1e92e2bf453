"""`clustersim lint`: what is wrong with a TF_CONFIG, or with those of a whole cluster."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from clustersim.cli import fail
from clustersim.cluster.compare import Between, compare
from clustersim.cluster.fix import fix_tf_config
from clustersim.cluster.lint import Linted, lint_tf_config
from clustersim.cluster.rules import RULES
from clustersim.cluster.sources import Source, from_file
from clustersim.cluster.tf_config import VARIABLE
from clustersim.errors import Finding, Severity, UsageError

_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


@click.command(name="lint")
@click.option("--value", help="Look at this text.")
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--format", "style", type=click.Choice(["text", "json", "github", "sarif"]))
@click.option("--fix", "is_fixing", is_flag=True, help="Correct what has one correction.")
@click.option("--strategy", type=click.Choice(["mwms", "ps", "mirrored", "one-device"]))
@click.option("--api", type=click.Choice(["estimator"]), help="What else will read it.")
@click.option("--hosts", type=int, help="How many machines the cluster has.")
@click.option("--strict", is_flag=True, help="Warnings fail, too.")
@click.argument("files", nargs=-1)
def command(**options: Any) -> None:
    """Look at TF_CONFIG in the environment, at a value, or at FILES (- for standard input).

    Several files are also compared with each other. Exits 1 if there are errors.
    """
    try:
        sources = _sources(options["value"], options["files"])
    except UsageError as error:
        fail(error.message, error.code or "CSE101", error.exit_code)
    if options["is_fixing"]:
        sys.exit(_fix(sources, options["files"]))
    linted = {
        one.name: lint_tf_config(one.text, strategy=options["strategy"], api=options["api"])
        for one in sources
    }
    between = compare({name: one.value for name, one in linted.items()})
    between += _machines(linted, options["hosts"])
    style = "json" if options["is_json"] else options["style"] or "text"
    _PRINTERS[style](linted, between)
    worst = [f.severity for one in linted.values() for f in one.findings]
    worst += [one.finding.severity for one in between]
    fails = {Severity.ERROR, Severity.WARNING} if options["strict"] else {Severity.ERROR}
    sys.exit(1 if fails & set(worst) else 0)


def _sources(value: str | None, files: Sequence[str]) -> list[Source]:
    if value is not None:
        return [Source(name="--value", text=value)]
    if files:
        found: list[Source] = []
        for name in files:
            found += (
                [Source(name="-", text=sys.stdin.read())] if name == "-" else from_file(Path(name))
            )
        return found
    if VARIABLE not in os.environ:
        raise UsageError(
            f"{VARIABLE} is not set and nothing else is given. Write `clustersim lint FILE`,"
            " `clustersim lint --value TEXT` or `clustersim lint -`."
        )
    return [Source(name=f"${VARIABLE}", text=os.environ[VARIABLE])]


def _machines(linted: Mapping[str, Linted], num_hosts: int | None) -> list[Between]:
    """Says that loopback cannot join several machines."""
    if num_hosts is None or num_hosts < 2:
        return []
    found = []
    for name, one in linted.items():
        cluster = one.value.get("cluster") if isinstance(one.value, dict) else None
        if isinstance(cluster, dict) and any(
            word in json.dumps(cluster) for word in ('"localhost:', '"127.0.0.1:', '"[::1]:')
        ):
            finding = Finding(
                rule="TFC131",
                severity=Severity.ERROR,
                what=f"Loopback addresses cannot join {num_hosts} machines.",
                fix="Write the addresses under which the machines reach each other.",
            )
            found.append(Between(files=(name,), finding=finding))
    return found


def _fix(sources: Sequence[Source], files: Sequence[str]) -> int:
    """Prints corrected values, or writes them back into JSON files; returns the exit code."""
    code = 0
    for one in sources:
        fixed = fix_tf_config(one.text)
        for finding in fixed.done:
            click.echo(f"fixed  {one.name}  {finding}", err=True)
        for finding in fixed.left:
            if finding.severity is Severity.ERROR:
                code = 1
                click.echo(f"left   {one.name}  {finding}", err=True)
        if one.name in files and one.name != "-":
            if fixed.done:
                Path(one.name).write_text(fixed.text, encoding="utf-8")
        else:
            click.echo(fixed.text)
    return code


# -- printing -----------------------------------------------------------------------------------


def _print_text(linted: Mapping[str, Linted], between: Sequence[Between]) -> None:
    for name, one in linted.items():
        for finding in one.findings:
            click.echo(f"{name}:{finding.line}:{finding.column}")
            _print_finding(finding)
    for pair in between:
        click.echo(" <-> ".join(pair.files))
        _print_finding(pair.finding)
    everything = [f for one in linted.values() for f in one.findings]
    everything += [pair.finding for pair in between]
    errors = sum(f.severity is Severity.ERROR for f in everything)
    warnings = sum(f.severity is Severity.WARNING for f in everything)
    more = f"     clustersim explain {everything[0].rule}" if everything else ""
    click.echo(
        f"{_count(len(linted), 'file')}, {_count(errors, 'error')},"
        f" {_count(warnings, 'warning')}{more}"
    )


def _print_finding(finding: Finding) -> None:
    pointer = f"    {finding.pointer}" if finding.pointer else ""
    click.echo(f"  {finding.severity.value:<7} {finding.rule}  {finding.what}{pointer}")
    can = "    --fix can do this" if finding.is_fixable else ""
    click.echo(f"                  {finding.fix}{can}")
    if finding.rule in RULES and finding.severity is Severity.ERROR:
        click.echo(f"                  {RULES[finding.rule].why}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _print_json(linted: Mapping[str, Linted], between: Sequence[Between]) -> None:
    rows = [_row((name,), f) for name, one in linted.items() for f in one.findings]
    rows += [_row(pair.files, pair.finding) for pair in between]
    click.echo(json.dumps({"v": 1, "files": list(linted), "findings": rows}))


def _row(files: Sequence[str], finding: Finding) -> dict[str, object]:
    return {
        "files": list(files),
        "rule": finding.rule,
        "severity": finding.severity.value,
        "line": finding.line,
        "column": finding.column,
        "pointer": finding.pointer,
        "what": finding.what,
        "why": RULES[finding.rule].why,
        "fix": finding.fix,
        "fixable": finding.is_fixable,
    }


def _print_github(linted: Mapping[str, Linted], between: Sequence[Between]) -> None:
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    for name, one in linted.items():
        for f in one.findings:
            place = f"file={name},line={f.line},col={f.column},title={f.rule}"
            click.echo(f"::{words[f.severity]} {place}::{_escaped(f'{f.what} {f.fix}')}")
    for pair in between:
        f = pair.finding
        place = f"file={pair.files[0]},title={f.rule}"
        click.echo(f"::{words[f.severity]} {place}::{_escaped(f'{f.what} {f.fix}')}")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _print_sarif(linted: Mapping[str, Linted], between: Sequence[Between]) -> None:
    pairs = [((name,), f) for name, one in linted.items() for f in one.findings]
    pairs += [(pair.files, pair.finding) for pair in between]  # type: ignore[misc]  # any length
    used = sorted({finding.rule for _, finding in pairs})
    run = {
        "tool": {
            "driver": {
                "name": "clustersim lint",
                "rules": [
                    {"id": code, "shortDescription": {"text": RULES[code].title},
                     "fullDescription": {"text": RULES[code].why}}
                    for code in used
                ],
            }
        },
        "results": [_sarif_result(files, finding) for files, finding in pairs],
    }  # fmt: skip
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    click.echo(json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}))


def _sarif_result(files: Sequence[str], finding: Finding) -> dict[str, object]:
    region = {"startLine": max(1, finding.line), "startColumn": max(1, finding.column)}
    return {
        "ruleId": finding.rule,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": f"{finding.what} {finding.fix}"},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": name}, "region": region}}
            for name in files
        ],
    }


_PRINTERS = {
    "text": _print_text,
    "json": _print_json,
    "github": _print_github,
    "sarif": _print_sarif,
}
