"""The options that say what is to run and in what containers; `run` and `export` share them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from clustersim.cluster.cluster_file import read_counts
from clustersim.cluster.spec import ClusterSpec
from clustersim.devices.request import parse_devices
from clustersim.engines.base import RunSpec
from clustersim.engines.compose_file import Containers
from clustersim.errors import UsageError
from clustersim.launch.lifecycle import Run
from clustersim.units import parse_count, parse_duration

_JOBS = ("chief", "worker", "ps", "evaluator")
_AT_MOST_ONE = frozenset({"chief", "evaluator"})
_MOST = 512

CONTAINER_OPTIONS = ("image", "memory", "cpus", "publish", "subnet")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


_MOST_THREADS = 4096
"""More than any machine has cores for."""


class Duration(click.ParamType[float]):
    """A duration as text: 90, 500ms, 2min."""

    name = "duration"

    def __init__(self, *, may_be_none: bool = False) -> None:
        self._may_be_none = may_be_none

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Returns seconds."""
        try:
            duration_s = parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if duration_s == 0 and not self._may_be_none:
            self.fail(
                "a limit of 0 ends everything at once. Give more, or leave it out.", param, ctx
            )
        return duration_s


class Named(click.Path):
    """A path that has a name: an empty one would mean the current folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the path."""
        if value == "":
            self.fail("the path is empty. Name one, or leave the option out.", param, ctx)
        return super().convert(value, param, ctx)


class Threads(click.ParamType[int | None]):
    """`auto`, or a number from 1."""

    name = "auto|N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        """Returns the number, None for `auto`."""
        if value in {None, "auto"}:
            return None
        try:
            return parse_count(str(value), _MOST_THREADS)
        except ValueError as error:
            self.fail(f"{error} Or write auto.", param, ctx)


def program_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what says which program runs in which tasks, and what these are told."""
    return _all_of(
        click.option("-n", "--worker", type=int, default=None, help="Workers.  [default: 2]"),
        click.option("--chief", type=int, is_flag=False, flag_value=1, default=None,
                     help="A chief, 0 or 1."),
        click.option("--ps", type=int, default=None, help="Parameter servers."),
        click.option("--evaluator", type=int, is_flag=False, flag_value=1, default=None,
                     help="An evaluator, 0 or 1."),
        click.option("-m", "module", help="Run a module, as `python -m` does."),
        click.option("--start-timeout", type=Duration(), default=60.0,
                     help="All tasks ready by then.  [60]"),
        click.option("--grace", type=Duration(may_be_none=True), default=None,
                     help="Time to end before a kill.  [5; in an exported file 10]"),
        click.option("--threads", type=Threads(), help="Threads a task.  [auto: cores / tasks]"),
        click.option("--devices", multiple=True, help="Simulated devices in each task, as gpu:2."),
        click.option("--env", "environ", multiple=True, metavar="NAME=VALUE",
                     help="Set a variable in every task."),
    )(function)  # fmt: skip


def container_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what containers are given."""
    return _all_of(
        click.option("--image", default=None, help="The containers' image.  [clustersim:local]"),
        click.option("--memory", default=None, help="Memory of each container.  [512m]"),
        click.option("--cpus", type=float, default=None, help="Cores of each container.  [1]"),
        click.option("--publish", type=int, default=None, metavar="PORT",
                     help="Publish the leader's port on 127.0.0.1:PORT."),
        click.option("--subnet", default=None, help="The containers' network.  [the engine's]"),
    )(function)  # fmt: skip


def _all_of(*decorators: Decorator) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate


def run_spec(
    options: Mapping[str, Any], *, file: Path | None = None, grace_s: float, **more: Any
) -> RunSpec:
    """Returns the run that the options ask for; its program was not looked at yet.

    Args:
        options: By name, as click gives them.
        file: A cluster.toml with the counts, instead of options.
        grace_s: Where the options do not say it.
        **more: Further fields of `RunSpec`.

    Raises:
        UsageError: Something asked for makes no sense, or no task could decide the run.
    """
    script, args = options["script"], options["args"]
    if options["module"] is not None and not _is_module(options["module"]):
        raise UsageError(f"-m names no module: {options['module']!r}. Write `-m package.module`.")
    if script == "":
        raise UsageError("The script's name is empty. Write `clustersim run train.py`.")
    if options["module"] is not None and script is not None:
        script, args = None, (script, *args)
    spec = RunSpec(
        cluster=_cluster(options, file),
        script=script,
        module=options["module"],
        args=tuple(args),
        start_timeout_s=options["start_timeout"],
        grace_s=grace_s if options["grace"] is None else options["grace"],
        num_threads=options["threads"],
        devices=_devices(options["devices"]),
        environ=_environ(options["environ"]),
        **more,
    )
    Run.of(spec.cluster.tasks(), spec.success, spec.grace_s)  # CSE103 before anything else
    return spec


def containers(options: Mapping[str, Any], **more: Any) -> Containers:
    """Returns what the options give containers; what they leave out has its default."""
    given = {name: options[name] for name in CONTAINER_OPTIONS if options[name] is not None}
    return Containers(**given, **more)


def _cluster(options: Mapping[str, Any], file: Path | None) -> ClusterSpec:
    given = {job: options[job] for job in _JOBS if options[job] is not None}
    if file is not None:
        if given:
            raise UsageError(
                f"Counts are in {file} and in --{next(iter(given))}. Give one of both."
            )
        spec = read_counts(file)
        for job in spec.jobs:
            _check_count(job, spec.num_tasks(job), f"{job} in {file}")
        return spec
    counts = {"chief": 0, "worker": 2, "ps": 0, "evaluator": 0, **given}
    for job, count in counts.items():
        _check_count(job, count, f"--{job}")
    if not any(counts.values()):
        raise UsageError(
            "The cluster is empty: --worker is 0 and nothing else is asked for. Ask for at least"
            " one worker or a chief.",
            code="CSE103",
        )
    return ClusterSpec(**counts)


def _check_count(job: str, count: int, where: str) -> None:
    if job not in _JOBS:
        raise UsageError(f"{where}: there is no such job. The jobs are {', '.join(_JOBS)}.")
    most = 1 if job in _AT_MOST_ONE else _MOST
    if not 0 <= count <= most:
        raise UsageError(f"{where} is {count}. Give a number from 0 to {most}.")


def _is_module(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _devices(requests: Sequence[str]) -> str:
    for text in requests:
        if not parse_devices(text):  # refuses what tasks could not read
            raise UsageError(f"--devices is {text!r}. Write for example gpu:2.")
    return ";".join(requests)


def _environ(settings: Sequence[str]) -> dict[str, str]:
    environ = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--env {text!r} is no setting. Write NAME=VALUE.")
        if name == "TF_CONFIG":
            raise UsageError("--env sets TF_CONFIG, which each task gets its own. Leave it out.")
        environ[name] = value
    return environ
