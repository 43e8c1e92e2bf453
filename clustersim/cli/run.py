"""`clustersim run`: a torchrun for TF_CONFIG."""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import click

from clustersim.cli import fail
from clustersim.cli.screen import Screen, Style
from clustersim.cluster.spec import ClusterSpec
from clustersim.cluster.tf_config import VARIABLE
from clustersim.cores import usable_cores
from clustersim.devices.request import parse_devices
from clustersim.engines.base import RunResult, RunSpec
from clustersim.engines.local import LocalCluster
from clustersim.engines.report import verdict_lines
from clustersim.errors import (
    EXIT_OUR_BUG,
    ClusterSimError,
    TimedOut,
    UsageError,
)
from clustersim.launch.launcher import THREAD_VARIABLES, Reservation, place, tf_config
from clustersim.launch.lifecycle import Run, Success
from clustersim.units import parse_duration

_LOOK_S = 0.25
"""How often the main thread looks whether there is something to say."""

_NOT_YET = frozenset({
    "-f", "--file", "--role-cmd", "--exec", "--wait-for", "--restart", "--stall-timeout", "--only",
    "--time", "--gpus", "--also", "--net", "--fault", "--seed", "--record",
})  # fmt: skip
"""Documented options that answer "not yet"."""


class _Duration(click.ParamType[float]):
    """A duration as text: 90, 500ms, 2min."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            return parse_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Threads(click.ParamType[int | None]):
    """`auto`, or a number from 1."""

    name = "auto|N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        if value in {None, "auto"}:
            return None
        if not str(value).isdecimal() or int(value) < 1:
            self.fail(f"{value!r} is neither 'auto' nor a number from 1.", param, ctx)
        return int(value)


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
@click.option("-n", "--worker", type=int, default=None, help="Workers.  [default: 2]")
@click.option("--chief", type=int, is_flag=False, flag_value=1, default=0, help="A chief, 0 or 1.")
@click.option("--ps", type=int, default=0, help="Parameter servers.")
@click.option(
    "--evaluator", type=int, is_flag=False, flag_value=1, default=0, help="An evaluator, 0 or 1."
)
@click.option("-m", "module", help="Run a module, as `python -m` does.")
@click.option(
    "--success",
    type=click.Choice([one.value for one in Success]),
    default=Success.AUTO.value,
    help="Which tasks decide: with auto the chief and all workers.",
)
@click.option("--timeout", type=_Duration(), help="End the run after this long.")
@click.option(
    "--start-timeout", type=_Duration(), default=60.0, help="All tasks ready by then.  [60]"
)
@click.option("--grace", type=_Duration(), default=5.0, help="Time to end before a kill.  [5]")
@click.option("--log-dir", type=click.Path(path_type=Path), help="Where run folders go.")
@click.option("--prefix/--no-prefix", default=True, help="Put `worker:1 | ` before each line.")
@click.option("--threads", type=_Threads(), help="Threads a task.  [auto: cores / tasks]")
@click.option("--devices", multiple=True, help="Simulated devices in each task, as gpu:2.")
@click.option("--listen", type=click.Choice(["loopback", "own"]), default="loopback")
@click.option("--insecure-network", is_flag=True, help="Agree to traffic without encryption.")
@click.option("--json", "is_json", is_flag=True, help="Print the event stream, one object a line.")
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="Only what the tasks print.")
@click.option("-v", "--verbose", "verbosity", count=True, help="Say more; twice: our traceback.")
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
        if options["dry_run"]:
            _print_plan(spec)
            return
        code = _run(spec, style)
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
    counts = {job: options[job] for job in ("chief", "worker", "ps", "evaluator")}
    if counts["worker"] is None:
        counts["worker"] = 2
    for job, count in counts.items():
        most = 1 if job in {"chief", "evaluator"} else 512
        if not 0 <= count <= most:
            raise UsageError(f"--{job} is {count}. Give a number from 0 to {most}.")
    if not any(counts.values()):
        raise UsageError(
            "The cluster is empty: --worker is 0 and nothing else is asked for. Ask for at least"
            " one worker or a chief.",
            code="CSE103",
        )
    script, args = options["script"], options["args"]
    if options["module"] is not None and script is not None:
        script, args = None, (script, *args)
    if script is None and options["module"] is None:
        raise UsageError("No script is given. Write `clustersim run train.py`.")
    spec = RunSpec(
        cluster=ClusterSpec(**counts),
        script=script,
        module=options["module"],
        args=tuple(args),
        success=Success(options["success"]),
        timeout_s=options["timeout"],
        start_timeout_s=options["start_timeout"],
        grace_s=options["grace"],
        num_threads=options["threads"],
        log_dir=options["log_dir"],
        listen=options["listen"],
        insecure_network=options["insecure_network"],
        devices=_devices(options["devices"]),
    )
    Run.of(spec.cluster.tasks(), spec.success, spec.grace_s)  # CSE103 before anything else
    spec.program()
    return spec


def _devices(requests: Sequence[str]) -> str:
    text = ";".join(requests)
    if text:
        parse_devices(text)  # refuses what tasks could not read
    return text


def _print_plan(spec: RunSpec) -> None:
    """Prints what each task would be told; its ports are free now, and not held."""
    reservation = Reservation()
    try:
        cluster = place(spec.cluster, reservation)
    finally:
        reservation.close()
    for task in cluster.tasks():
        click.echo(f"{task}  {tf_config(cluster, task).to_json()}")


def _run(spec: RunSpec, style: Style) -> int:
    screen = Screen(style)
    run = LocalCluster(spec, on_event=screen.take)
    ends = _Ends(run, screen)
    with ends, run:
        _say_surroundings(run, spec, screen)
        result = _wait(run, screen, ends)
    if not (style.is_json or style.is_quiet) or (style.is_quiet and not result.ok):
        for line in verdict_lines(result):
            click.echo(line, err=True)
    return result.exit_code


def _wait(run: LocalCluster, screen: Screen, ends: "_Ends") -> RunResult:
    while True:
        ends.act()
        try:
            return run.wait(timeout_s=_LOOK_S)
        except TimedOut:
            screen.tick()


def _say_surroundings(run: LocalCluster, spec: RunSpec, screen: Screen) -> None:
    if VARIABLE in os.environ:
        screen.say(f"note     {VARIABLE} is set here; each task gets its own instead")
    if spec.log_dir is None and run.folder.parents[1] != Path(".clustersim").absolute():
        screen.say(f"note     this folder cannot be written; logs go to {run.folder}")
    if not all(name in os.environ for name in THREAD_VARIABLES):
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

    def __init__(self, run: LocalCluster, screen: Screen) -> None:
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
