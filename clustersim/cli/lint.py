"""`clustersim lint`: what is wrong with a TF_CONFIG, or with those of a whole cluster."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from clustersim.cli import fail
from clustersim.cli.report import PRINTERS, Row, Where
from clustersim.cluster.compare import members_of
from clustersim.cluster.deployment import compare_all
from clustersim.cluster.finding import error, note, warning
from clustersim.cluster.fix import fix_tf_config
from clustersim.cluster.found import Found, Setter, Source
from clustersim.cluster.lint import Linted, lint_tf_config
from clustersim.cluster.sources import from_files
from clustersim.cluster.tf_config import VARIABLE
from clustersim.errors import EXIT_USAGE, Finding, Severity, UsageError


@click.command(name="lint")
@click.option("--value", help="Look at this text.")
@click.option("--json", "is_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--format", "style", type=click.Choice(list(PRINTERS)))
@click.option("--fix", "is_fixing", is_flag=True, help="Correct what has one correction.")
@click.option(
    "--strategy",
    type=click.Choice(["mwms", "ps", "mirrored", "one-device"]),
    help="Who will read it.",
)
@click.option("--api", type=click.Choice(["estimator"]), help="What else will read it.")
@click.option("--hosts", type=int, help="How many machines the cluster has.")
@click.option("--strict", is_flag=True, help="Warnings fail, too.")
@click.argument("files", nargs=-1)
def command(**options: Any) -> None:
    """Look at TF_CONFIG in the environment, at a value, or at FILES (- for standard input).

    FILES are JSON, cluster.toml, compose files, Kubernetes manifests, shell scripts, env files,
    Dockerfiles, Python programs, notebooks, or what `clustersim env` prints. What they say is also
    compared. Errors come first, then warnings, then notes. Exits 1 if there are errors.
    """
    try:
        found = _found(options["value"], options["files"])
    except UsageError as refused:
        fail(refused.message, refused.code or "CSE101", refused.exit_code)
    if options["is_fixing"]:
        sys.exit(_fix(found.sources))
    rows = _rows(found, options)
    style = "json" if options["is_json"] else options["style"] or "text"
    files = list(dict.fromkeys([s.file for s in found.sources] + [u.file for u in found.unread]))
    PRINTERS[style](rows, files, len(found.sources))
    fails = {Severity.ERROR, Severity.WARNING} if options["strict"] else {Severity.ERROR}
    sys.exit(1 if fails & {row.finding.severity for row in rows} else 0)


def _found(value: str | None, files: Sequence[str]) -> Found:
    if value is not None and files:
        raise UsageError("--value and FILES are both given. Give one of them.")
    if value is not None:
        return Found(sources=[Source(file="--value", text=value)])
    if files:
        found = from_files(files)
        if not found.sources and not any(one.is_error for one in found.unread):
            raise UsageError(" ".join(f"{u.file}:{u.line}: {u.what} {u.fix}" for u in found.unread))
        return found
    if VARIABLE not in os.environ:
        raise UsageError(
            f"{VARIABLE} is not set and nothing else is given. Write `clustersim lint FILE`,"
            " `clustersim lint --value TEXT` or `clustersim lint -`."
        )
    return Found(sources=[Source(file=f"${VARIABLE}", text=os.environ[VARIABLE])])


# -- rows ---------------------------------------------------------------------------------------


def _rows(found: Found, options: Mapping[str, Any]) -> list[Row]:
    """Returns all that is to be said: errors, warnings, notes.

    Each in the order of the files and their lines, and what does not fit together at their end.
    """
    by_name: dict[str, Source] = {}
    for source in found.sources:
        name, number = source.name, 2
        while name in by_name:
            name, number = f"{source.name} #{number}", number + 1
        by_name[name] = source
    linted = {
        name: lint_tf_config(
            one.text, strategy=options["strategy"], api=options["api"], filled_in=one.filled_in
        )
        for name, one in by_name.items()
    }
    rows = [row for name, one in by_name.items() for row in _own(one, linted[name])]
    rows += [
        row
        for name, one in by_name.items()
        for row in _machines(one, name, linted[name], options["hosts"])
    ]
    for unread in found.unread:
        make, rule = (error, "TFC149") if unread.is_error else (warning, "TFC148")
        where = Where(file=unread.file, line=unread.line, column=1, place=unread.place)
        rows.append(Row(finding=make(rule, unread.what, unread.fix), where=(where,)))
    rows += _between(by_name, linted, found)
    files = [one.file for one in found.sources] + [one.file for one in found.unread]

    def rank(row: Row) -> tuple[int, bool, int, int, int]:
        first = row.where[0]
        at = (files.index(first.file), first.line, first.column)
        return (row.finding.severity.rank, row.is_between, *at)

    return sorted(_once(rows), key=rank)


def _between(
    by_name: Mapping[str, Source], linted: Mapping[str, Linted], found: Found
) -> Iterator[Row]:
    """Yields what does not fit together."""
    counts = Counter(one.file for one in by_name.values())
    values = {
        name: linted[name].value
        for name, one in by_name.items()
        if one.setter is not Setter.PROGRAM or counts[one.file] == 1
    }
    owners = {name: one.container for name, one in by_name.items() if one.container}
    unsure = {name for name, one in linted.items() if any(
        f.severity is Severity.ERROR or f.rule == "TFC134" for f in one.findings
        if not f.pointer.startswith("/task"))}  # fmt: skip
    for pair in compare_all(values, owners, found.containers, unsure):
        sources = [by_name[name] for name in pair.files]
        finding = pair.finding
        is_script = all(one.setter is Setter.SCRIPT and not one.container for one in sources)
        if is_script and len(sources) > 1 and len({one.file for one in sources}) == 1:
            # A script may run one job after another.
            finding = replace(finding, severity=Severity.WARNING)
        places = tuple(_where(one, 1, 1) for one in sources)
        yield Row(finding=finding, where=places, is_between=True)


def _own(source: Source, linted: Linted) -> Iterator[Row]:
    for finding in linted.findings:
        where = _where(source, finding.line, finding.column)
        moved = finding
        if source.origin is not None:
            moved = source.origin.moved(finding, source.text)
        yield Row(finding=moved, where=(where,))
    if "TFC135" in source.notes:
        what = (
            "The value stands in quotes: `docker run --env-file` keeps them, other readers do not."
        )
        finding = note("TFC135", what, "Leave them out: every reader takes it then.")
        yield Row(finding=finding, where=(_where(source, 1, 1),))


def _where(source: Source, line: int, column: int) -> Where:
    if source.origin is not None:
        line, column = source.origin.line_and_column(source.text, line, column)
    elif source.place:
        line, column = 0, 0  # the text was made of counts: it stands nowhere
    return Where(file=source.file, line=line, column=column, place=source.place)


def _once(rows: Sequence[Row]) -> list[Row]:
    """Joins rows that say the same of several places: of one file, or anywhere if it is no error."""
    joined: dict[tuple[object, ...], Row] = {}
    for row in rows:
        finding = row.finding
        what = re.sub(r" Line \d+, column \d+", "", finding.what)
        file = row.where[0].file if finding.severity is Severity.ERROR else ""
        key = (
            finding.rule,
            finding.severity,
            what,
            finding.fix,
            file,
            row.is_between and row.where,
        )
        first = joined.get(key)
        joined[key] = row if first is None else replace(first, where=first.where + row.where)
    return list(joined.values())


def _machines(source: Source, name: str, linted: Linted, num_hosts: int | None) -> Iterator[Row]:
    """Says that loopback cannot join several machines."""
    if num_hosts is None or num_hosts < 2:
        return
    if any(member.loopback for member in members_of({name: linted.value})):
        what = f"Loopback addresses cannot join {num_hosts} machines."
        fix = "Write the addresses under which the machines reach each other."
        finding: Finding = error("TFC131", what, fix, "/cluster")
        yield Row(finding=finding, where=(_where(source, 1, 1),))


# -- fixing -------------------------------------------------------------------------------------


def _fix(sources: Sequence[Source]) -> int:
    """Writes corrected values into files of one value, prints all others; returns the exit code."""
    code = 0 if sources else EXIT_USAGE
    for one in sources:
        fixed = fix_tf_config(one.text, filled_in=one.filled_in)
        for finding in fixed.done:
            click.echo(f"fixed  {one.name}  {finding}", err=True)
        for finding in fixed.left:
            if finding.severity is Severity.ERROR:
                code = 1
                click.echo(f"left   {one.name}  {finding}", err=True)
        is_whole = one.origin is not None and one.origin.text == one.text and one.file != "-"
        if not is_whole:
            click.echo(fixed.text)
        elif fixed.done:
            Path(one.file).write_text(fixed.text, encoding="utf-8")
    return code
