"""`clustersim explain`: what TF_CONFIG means for this process, or what a code means."""

import os

import click

from clustersim.cli import fail
from clustersim.cluster.dialects import DIALECTS
from clustersim.cluster.explain import explain, explain_code
from clustersim.cluster.rules import RULES
from clustersim.cluster.tf_config import TFConfig
from clustersim.errors import CODES, SpecError, UsageError


@click.command(name="explain")
@click.option("--from", "dialect", type=click.Choice(sorted(DIALECTS)), help="Another platform.")
@click.argument("code", required=False)
def command(code: str | None, dialect: str | None) -> None:
    """Say what $TF_CONFIG means for this process, or what CODE (TFC104, CSE301) means."""
    try:
        lines = _here(dialect) if code is None else explain_code(code)
    except (SpecError, UsageError) as error:
        fail(error.message, error.code or "CSE202", error.exit_code)
    except KeyError:
        known = f"{min(RULES)}..{max(RULES)} and {min(CODES)}..{max(CODES)}"
        fail(f"There is no code {code!r}. Codes are {known}.", "CSE101", 2)
    else:
        click.echo("\n".join(lines))


def _here(dialect: str | None) -> list[str]:
    config = DIALECTS[dialect](os.environ) if dialect else TFConfig.from_environ()
    return explain(config.cluster, config.task, config.trial)
