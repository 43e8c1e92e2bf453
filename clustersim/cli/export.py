"""`clustersim export`: the same cluster, in the words of another platform."""

from pathlib import Path
from typing import Any

import click

from clustersim.cli import fail
from clustersim.cli.spec import Named, container_options, containers, program_options, run_spec
from clustersim.engines.compose import within
from clustersim.engines.compose_file import compose_file, in_containers
from clustersim.errors import ClusterSimError, UsageError
from clustersim.launch.plan import service_name

_GRACE_S = 10.0
"""What Docker gives a container by itself."""

_NOT_YET = frozenset({"jobset", "ray", "slurm", "tfjob"})


class _Targets(click.Group):
    """Answers "not yet" for what is documented and not built."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _NOT_YET:
            fail(f"`clustersim export {cmd_name}` is documented and not built yet.", "CSE102", 2)
        return super().get_command(ctx, cmd_name)


class _Compose(click.Command):
    """Takes a cluster.toml as the first word, with options after it too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, list(args))
        first, others = ctx.params["script"], ctx.params["args"]
        place = len(args) - len(others) - 1
        # After -m all words are the module's, after -- the script's.
        is_programs = ctx.params["module"] is not None or "--" in args[:place]
        if first is None or not first.endswith(".toml") or is_programs:
            return rest
        ctx.params.clear()
        return super().parse_args(ctx, ["--file", first, *args[:place], *args[place + 1 :]])


@click.group(name="export", cls=_Targets)
def command() -> None:
    """Print a cluster for another platform."""


@command.command(
    name="compose",
    cls=_Compose,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[SPEC] [OPTIONS]",
)
@program_options
@container_options
@click.option("-f", "--file", "file", type=Named(), hidden=True)
@click.option("--user", default=None, help="Who tasks are in containers.  [10001:10001]")
@click.option("--in-image", is_flag=True, help="SCRIPT is in the image; mount nothing.")
@click.option("-o", "--output", type=Named(), help="Write it to this file.")
@click.argument("script", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def compose(**options: Any) -> None:
    """Print a docker-compose file that runs SCRIPT in every task of a cluster.

    SPEC is a cluster.toml with the counts, instead of options. Without SCRIPT every task does what the
    image does by itself. With one, keep the file in the folder where this was called: it is mounted,
    read-only, as /work.
    """
    try:
        text = _compose(options)
        if options["output"] is None:
            click.echo(text, nl=False)
        else:
            _write(options["output"], text)
    except ClusterSimError as error:
        fail(error.message, error.code or "CSE101", error.exit_code)


def _compose(options: dict[str, Any]) -> str:
    spec = run_spec(options, file=options["file"], grace_s=_GRACE_S)
    is_mounted = bool(spec.words()) and not options["in_image"]
    program = within(Path.cwd(), spec.program()) if is_mounted else spec.words()
    leader = service_name(in_containers(spec.cluster).leader())
    return compose_file(
        spec,
        containers(
            options,
            folder="." if is_mounted else None,
            **({} if options["user"] is None else {"user": options["user"]}),
        ),
        program=program,
        title=[
            "Made by `clustersim export compose`: one container for each task.",
            f"  docker compose up --abort-on-container-exit --exit-code-from {leader}",
            "Reads the same in Compose v2 and in docker-compose 1.29.",
        ],
        own_environ={
            "CLUSTERSIM_START_TIMEOUT": f"{spec.start_timeout_s:g}",
            # The first container that exits ends everything, and it must be the leader's.
            "CLUSTERSIM_LINGER": "1",
        },
    )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}. Name another.") from None
