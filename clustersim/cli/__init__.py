"""The command line: a group whose commands are loaded when they are used.

A command parses, calls one function of a lower room, and prints. No logic lives here.
"""

import importlib
import sys
from typing import Any, NoReturn

import click

from clustersim._version import __version__
from clustersim.errors import EXIT_INTERRUPTED

_COMMANDS = {
    "env": ("clustersim.cli.env", "Print TF_CONFIG for a task, or for all."),
    "explain": ("clustersim.cli.explain", "Say what TF_CONFIG means here, or what a code means."),
    "export": ("clustersim.cli.export", "Print a cluster for another platform: docker-compose."),
    "lint": ("clustersim.cli.lint", "Say what is wrong with a TF_CONFIG."),
    "run": ("clustersim.cli.run", "Run a script in every task of a cluster, with its TF_CONFIG."),
}
"""Where each command lives, and its line in --help: which then need not load it."""

_NOT_YET = frozenset({
    "bench", "demo", "doctor", "fault", "lesson", "logs", "net",
    "predict", "reap", "replay", "status", "stop", "top", "trace", "view", "why",
})  # fmt: skip
"""Documented names that answer "not yet"."""


class _Commands(click.Group):
    """Finds a command's module by its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _NOT_YET:
            fail(f"`clustersim {cmd_name}` is documented and not built yet.", "CSE102", 2)
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        return command

    def main(self, *args: Any, **more: Any) -> Any:
        """Runs the command; says what is wrong with it on one line, as we do, not click's four."""
        try:
            code = super().main(*args, **{**more, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            code = 0
        except click.UsageError as error:
            fail(error.format_message(), "CSE101", error.exit_code)
        except click.Abort:
            stopped()
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            stopped()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clustersim", message="%(prog)s %(version)s")
def main() -> None:
    """Run TF_CONFIG clusters as local processes."""


def stopped() -> NoReturn:
    """Says that Ctrl-C ended a command, and exits."""
    click.echo("stopped", err=True)
    sys.exit(EXIT_INTERRUPTED)


def fail(message: str, code: str, exit_code: int) -> NoReturn:
    """Says what is wrong, on one line, and exits."""
    click.echo(f"error {code}  {message}", err=True)
    sys.exit(exit_code)
