"""`clustersim env`: TF_CONFIG for one task or for all, from counts, a file or another platform."""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from clustersim.cli import fail
from clustersim.cluster.cluster_file import parse_task, spec_from_toml, with_ports
from clustersim.cluster.dialects import DIALECTS
from clustersim.cluster.spec import EVALUATOR, ClusterSpec
from clustersim.cluster.tf_config import VARIABLE, TFConfig
from clustersim.errors import ClusterSimError, UsageError


@click.command(name="env")
@click.option("--chief", type=int, is_flag=False, flag_value=1, default=0, help="A chief, 0 or 1.")
@click.option("-n", "--worker", type=int, default=0, help="Workers.")
@click.option("--ps", type=int, default=0, help="Parameter servers.")
@click.option("--evaluator", type=int, is_flag=False, flag_value=1, default=0, help="0 or 1.")
@click.option("-f", "--file", "file", type=click.Path(path_type=Path), help="A cluster.toml.")
@click.option("--from", "dialect", type=click.Choice(sorted(DIALECTS)), help="Another platform.")
@click.option("--to", type=click.Choice(["tf"]), default="tf", help="The only target so far.")
@click.option("--port", type=int, default=41001, help="The first port.  [41001]")
@click.option("--task", help="Whose TF_CONFIG, as worker:1.")
@click.option("--all", "is_all", is_flag=True, help="Every task's.")
@click.option("--format", "style", type=click.Choice(["export", "json", "dotenv", "docker"]),
              default="export")  # fmt: skip
def command(**options: Any) -> None:
    """Print TF_CONFIG for a task, to be set by a shell, an env file or docker."""
    try:
        configs = _configs(options)
    except ClusterSimError as error:
        fail(error.message, error.code or "CSE101", error.exit_code)
    for config in configs:
        head = f"# {config.task}\n" if len(configs) > 1 and options["style"] != "json" else ""
        click.echo(head + _formatted(config, options["style"]))


def _configs(options: dict[str, Any]) -> Sequence[TFConfig]:
    if options["dialect"]:
        return [DIALECTS[options["dialect"]](os.environ)]
    spec = _spec(options)
    if options["is_all"]:
        return [_config(spec, str(task)) for task in spec.tasks()]
    if options["task"] is None:
        raise UsageError("Whose TF_CONFIG? Name a task with --task worker:0, or give --all.")
    return [_config(spec, options["task"])]


def _spec(options: dict[str, Any]) -> ClusterSpec:
    if options["file"] is not None:
        try:
            text = options["file"].read_text()
        except OSError as error:
            raise UsageError(f"{options['file']} cannot be read: {error.strerror}.") from None
        return spec_from_toml(options["file"], text)
    counts = {job: options[job] for job in ("chief", "worker", "ps", "evaluator")}
    if not any(counts.values()) or min(counts.values()) < 0:
        raise UsageError("The cluster is empty. Ask for tasks, such as --chief 1 --worker 2.")
    return with_ports(ClusterSpec(**counts), options["port"])


def _config(spec: ClusterSpec, name: str) -> TFConfig:
    task = parse_task(name, spec)
    return TFConfig(cluster=spec if task.type == EVALUATOR else spec.without(EVALUATOR), task=task)


def _formatted(config: TFConfig, style: str) -> str:
    text = config.to_json()
    return {
        "export": config.as_env(),
        "json": json.dumps(json.loads(text), indent=2),
        "dotenv": f"{VARIABLE}={text}",  # env files keep quotes, so there are none
        "docker": f"--env {shlex.quote(f'{VARIABLE}={text}')}",
    }[style]
