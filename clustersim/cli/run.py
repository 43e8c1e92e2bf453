"""`clustersim run`: a torchrun for TF_CONFIG."""

import os
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from clustersim.cli import fail
from clustersim.cli.screen import Screen, Style
from clustersim.cli.spec import (
    CONTAINER_OPTIONS,
    Duration,
    Named,
    container_options,
    containers,
    program_options,
    run_spec,
)
from clustersim.cluster.tf_config import VARIABLE
from clustersim.cores import usable_cores
from clustersim.engines.base import RunResult, RunSpec
from clustersim.engines.compose import ComposeCluster
from clustersim.engines.compose_file import in_containers
from clustersim.engines.local import LocalCluster
from clustersim.engines.supervised import SupervisedCluster
from clustersim.errors import (
    EXIT_OUR_BUG,
    ClusterSimError,
    TimedOut,
    UsageError,
)
from clustersim.launch.launcher import Reservation, place
from clustersim.launch.lifecycle import Success
from clustersim.launch.plan import GRACE_S, THREAD_VARIABLES, tf_config

_LOOK_S = 0.25
"""How often the main thread looks whether there is something to say."""

_NOT_YET = frozenset({
    "-f", "--file", "--role-cmd", "--exec", "--wait-for", "--restart", "--stall-timeout", "--only",
    "--time", "--gpus", "--also", "--net", "--fault", "--seed", "--record",
})  # fmt: skip
"""Documented options that answer "not yet"."""


class _Run(click.Command):
    """Answers "not yet" for what is documented and not built."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name in _NOT_YET:
                text = f"{error.option_name} is documented and not built yet. Leave it out."
                fail(text, "CSE102", 2)
            raise


@click.command(
    name="run",
    cls=_Run,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@program_options
@click.option(
    "--engine",
    type=click.Choice(["local", "compose"]),
    default="local",
    help="Where tasks run: processes here, or containers, which take the next five.",
)
@container_options
@click.option(
    "--success",
    type=click.Choice([one.value for one in Success]),
    default=Success.AUTO.value,
    help="Which tasks decide: with auto the chief and all workers.",
)
@click.option("--timeout", type=Duration(), help="End the run after this long.")
@click.option("--log-dir", type=Named(), help="Where run folders go.")
@click.option("--prefix/--no-prefix", default=True, help="Put `worker:1 | ` before each line.")
@click.option("--listen", type=click.Choice(["loopback", "own"]), default="loopback")
@click.option("--insecure-network", is_flag=True, help="Agree to traffic without encryption.")
@click.option("--json", "is_json", is_flag=True, help="Print the event stream, one object a line.")
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Only what the tasks print.")
@click.option("-v", "--verbose", "verbosity", count=True, help="Say more; twice: our traceback.")
@click.option("--full-traceback", is_flag=True, help="Keep our own frames in tasks' tracebacks.")
@click.option("--dry-run", is_flag=True, help="Print each task's TF_CONFIG, and leave.")
@click.argument("script", required=False)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(**options: Any) -> None:
    """Run SCRIPT in every task of a cluster, each with its TF_CONFIG.

    Options come before the script; all after it belongs to the script.
    """
    style = Style(
        is_quiet=options["is_quiet"],
        is_json=options["is_json"],
        has_prefix=options["prefix"] and not options["is_quiet"],
        verbosity=options["verbosity"],
    )
    try:
        spec = _spec(options)
        screen = Screen(style)
        run = _cluster(spec, options, screen)
        if options["dry_run"]:
            _print_plan(spec, run)
            return
        code = _run(run, screen, style)
    except ClusterSimError as error:
        if style.verbosity > 1:
            traceback.print_exc()
        fail(error.message, error.code or "CSE901", error.exit_code)
    except Exception as error:  # noqa: BLE001  # the command's outermost line: our own bug
        if style.verbosity > 1:
            traceback.print_exc()
        fail(f"{type(error).__name__}: {error} (this is our fault; -vv shows where)", "CSE901",
             EXIT_OUR_BUG)  # fmt: skip
    sys.exit(code)


def _spec(options: dict[str, Any]) -> RunSpec:
    spec = run_spec(
        options,
        grace_s=GRACE_S,
        success=Success(options["success"]),
        timeout_s=options["timeout"],
        log_dir=options["log_dir"],
        listen=options["listen"],
        insecure_network=options["insecure_network"],
    )
    if not spec.words():
        raise UsageError("No script is given. Write `clustersim run train.py`.")
    spec.program()
    if options["full_traceback"]:
        return replace(spec, environ={**spec.environ, "CLUSTERSIM_TRACEBACK": "1"})
    return spec


def _cluster(spec: RunSpec, options: dict[str, Any], screen: Screen) -> SupervisedCluster:
    """Returns the run on its engine.

    Raises:
        UsageError: Something was asked for that only the other engine has.
    """
    if options["engine"] == "compose":
        if options["listen"] != "loopback" or options["insecure_network"]:
            raise UsageError(
                "--listen and --insecure-network are for processes here; containers have a network of"
                " their own. Leave them out with --engine compose."
            )
        limits = containers(options)
        limits.check_room(len(spec.cluster.tasks()))
        return ComposeCluster(spec, containers=limits, on_event=screen.take)
    given = [name for name in CONTAINER_OPTIONS if options[name] is not None]
    if given:
        raise UsageError(f"--{given[0]} is for containers. Add --engine compose, or leave it out.")
    return LocalCluster(spec, on_event=screen.take)


def _print_plan(spec: RunSpec, run: SupervisedCluster) -> None:
    """Prints what each task would be told; ports of processes are free now, and not held."""
    reservation = Reservation()
    try:
        if isinstance(run, ComposeCluster):
            cluster = in_containers(spec.cluster)
        else:
            cluster = place(spec.cluster, reservation)
    finally:
        reservation.close()
    for task in cluster.tasks():
        click.echo(f"{task}  {tf_config(cluster, task).to_json()}")


def _run(run: SupervisedCluster, screen: Screen, style: Style) -> int:
    ends = _Ends(run, screen)
    with ends, run:
        _say_surroundings(run, screen)
        result = _wait(run, screen, ends)
    if not (style.is_json or style.is_quiet) or (style.is_quiet and not result.ok):
        for line in result.verdict:
            click.echo(line, err=True)
    return result.exit_code


def _wait(run: SupervisedCluster, screen: Screen, ends: "_Ends") -> RunResult:
    while True:
        ends.act()
        try:
            return run.wait(timeout_s=_LOOK_S)
        except TimedOut:
            screen.tick()


def _say_surroundings(run: SupervisedCluster, screen: Screen) -> None:
    spec = run.spec
    if VARIABLE in os.environ:
        screen.say(f"note     {VARIABLE} is set here; each task gets its own instead")
    if spec.log_dir is None and run.folder.parents[1] != Path(".clustersim").absolute():
        screen.say(f"note     this folder cannot be written; logs go to {run.folder}")
    if isinstance(run, ComposeCluster):
        limits = run.containers
        screen.say(
            f"image    {limits.image}   each task: memory {limits.memory}, cpus {limits.cpus:g}"
        )
    elif not all(name in os.environ for name in THREAD_VARIABLES):
        tasks = len(spec.cluster.tasks())
        cores = usable_cores()
        limit = spec.num_threads or max(1, cores // tasks)
        screen.say(
            f"threads  {limit} for each task ({tasks} tasks share {cores} cores); --threads N"
        )


class _Ends:
    """Ctrl-C once and twice, SIGTERM and SIGHUP, while a run goes on.

    The handlers only note what came: they may interrupt this thread while it holds a lock, or while
    it writes. `act` does what was asked for, once the run was started.
    """

    def __init__(self, run: SupervisedCluster, screen: Screen) -> None:
        self._run = run
        self._screen = screen
        self._num_interrupts = 0
        self._is_terminated = False
        self._num_done = 0
        self._has_stopped = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._before[number] = signal.signal(number, self._hear)

    def __exit__(self, *_error: object) -> None:
        # An impatient Ctrl-C more must not cost the verdict and the exit code, which come now.
        is_stopped = self._num_interrupts > 0 or self._is_terminated
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if is_stopped else handler)

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        self._screen.mute()
        if number == signal.SIGINT:
            self._num_interrupts += 1
        else:
            self._is_terminated = True

    def act(self) -> None:
        """Does what the signals that came since the last call ask for."""
        if self._is_terminated and not self._has_stopped:
            self._has_stopped = True
            self._run.stop()
        while self._num_done < self._num_interrupts:
            self._num_done += 1
            if self._num_done > 1:
                self._run.kill()
                continue
            count = len(self._run.spec.cluster.tasks())
            click.echo(f"stopping {count} tasks (Ctrl-C again to kill)", err=True)
            self._run.interrupt()
