"""Replicas on several devices of one process, which take turns.

Replicas never run at the same time, so that what they do has one order, always the same:

    no merge_call       replica 0 from start to end, then 1, ...; all in the thread that called run
    with a merge_call   replica 0 up to its merge_call; then 1, in a thread of its own, up to its
                        own; ... then the merge function, once; then 0 goes on up to its next
                        merge_call or its end, then 1, ...

Only a merge_call needs threads, since only there a replica stops in the middle. They are kept for
the next run and go when nobody needs them for a while. The word is passed by two locks a thread, and
a wait for it is a call that returns when the other replica pauses or ends.

A replica's error, the merge function's, or a different number of merge_calls ends the run: replicas
that are in the middle are unwound by an exception that ordinary `except` clauses do not catch, and
`run` raises the error. The strategy stays good.

Source: tensorflow/python/distribute/mirrored_strategy.py, mirrored_run.py and
shared_variable_creator.py, 2.21; cases `mirrored_*`.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from contextlib import ExitStack
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from clustersim.devices.current import (
    current_spec,
    enter_device,
    leave_device,
)
from clustersim.strategies.base import Strategy
from clustersim.strategies.replica_context import ReplicaContext
from clustersim.strategies.replicated import ReplicatedExtended
from clustersim.values import scope
from clustersim.values.per_replica import regroup, select_replica

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clustersim.values.recipe import VariableRecipe
    from clustersim.values.variable import Variable

_IDLE_S = 0.2
"""How long a thread waits for another replica to run; a step that is longer can pay for a new one."""

_DISMISSED_S = 1.0
"""How long an interrupted run waits for a replica that is in the middle of its step."""


class _Stopped(BaseException):
    """Unwinds a replica whose run has failed."""


class _Seat:
    """A kept thread in which one replica at a time runs, and the two locks that pass the word.

    The counts say who has the word, so that an interrupt (Ctrl-C) in the middle of a wait loses none.
    """

    _lock = threading.Lock()  # guards _idle
    _idle: list[_Seat] = []  # noqa: RUF012  # of the class: threads are shared by all strategies

    def __init__(self) -> None:
        self._has_word = threading.Lock()
        self._has_paused = threading.Lock()
        self._has_word.acquire()
        self._has_paused.acquire()
        self._num_given = 0  # how often the replica got the word; written by the caller only
        self._num_back = 0  # how often it gave it back; written by the seat's thread only
        self._is_dismissed = False
        self._body: Callable[[], None] | None = None
        # Daemon: a replica that never ends must not keep the process alive.
        threading.Thread(target=self._serve, name="cs-strategies-replica", daemon=True).start()

    @classmethod
    def take(cls, body: Callable[[], None]) -> _Seat:
        """Returns a seat that runs `body` when it is resumed for the first time."""
        with cls._lock:
            seat = cls._idle.pop() if cls._idle else None
        seat = seat or cls()
        seat._body = body  # noqa: SLF001  # of the same class
        return seat

    def resume(self) -> None:
        """Gives the word to the replica; returns when it has paused or ended."""
        self._num_given += 1
        self._has_word.release()
        while self._num_back < self._num_given:
            self._has_paused.acquire()
        if self._body is None:  # only who has taken the word may give up the seat
            with _Seat._lock:
                _Seat._idle.append(self)

    def pause(self) -> None:
        """Called by the replica: gives the word back; returns when it is resumed or dismissed."""
        if not self._is_dismissed:
            self._give_back()
            self._has_word.acquire()

    def dismiss(self) -> None:
        """Resumes the replica for the last time: its thread ends with it.

        After an interrupt the replica has the word still, and may keep it for ever: it is then waited
        for no longer than `_DISMISSED_S`, and ends alone.
        """
        has_word = self._num_back < self._num_given
        self._is_dismissed = True
        while self._body is not None:
            if self._num_back == self._num_given:
                self._num_given += 1
                self._has_word.release()
            if not self._has_paused.acquire(timeout=_DISMISSED_S if has_word else -1):
                return

    def _give_back(self) -> None:
        self._num_back += 1
        if self._has_paused.locked():  # it is not if an interrupt ended the caller's wait before
            self._has_paused.release()

    def _serve(self) -> None:
        while not self._is_dismissed:
            if not self._has_word.acquire(timeout=_IDLE_S):
                if self._leave():
                    return
                continue  # a run took it just now
            if self._body is not None:
                self._body()
            self._body = None
            self._give_back()

    def _leave(self) -> bool:
        """Gives up the seat unless a run has just taken it."""
        with _Seat._lock:
            is_idle = self in _Seat._idle
            if is_idle:
                _Seat._idle.remove(self)
            return is_idle


class _Turn:
    """One replica of one run: how far it is."""

    __slots__ = (
        "failure", "has_ended", "index", "merge_args", "merge_kwargs", "merge_result", "result", "seat",
    )  # fmt: skip

    def __init__(self, index: int) -> None:
        self.index = index
        self.seat: _Seat | None = None
        self.has_ended = False
        self.result: Any = None
        self.failure: BaseException | None = None
        self.merge_args: Sequence[object] = ()
        self.merge_kwargs: Mapping[str, object] = {}
        self.merge_result: Any = None


class MirroredReplicaContext(ReplicaContext):
    """The context of one replica of a strategy that keeps mirrored variables."""

    @property
    def devices(self) -> Sequence[Any]:
        """The name of this replica's device, in a list in a list, as in TensorFlow. Raises as there."""
        return [list(super().devices)]


class _TurnContext(MirroredReplicaContext):
    """The context of one replica in one run."""

    def __init__(self, strategy: Strategy, replica_id: int, local_index: int, run: _Run) -> None:
        super().__init__(strategy, replica_id, local_index)
        self.run = run


# What type(x).__name__ says in TensorFlow.
MirroredReplicaContext.__name__ = _TurnContext.__name__ = "_MirroredReplicaContext"


class _Run:
    """One call of `run`: its replicas, in turn. All methods but `_body` hold the word."""

    def __init__(
        self,
        extended: InTurnExtended,
        fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> None:
        self._extended = extended
        self._fn, self._args, self._kwargs = fn, args, kwargs
        self._outer_spec = current_spec()
        self._outer_context: Context | None = copy_context()
        self._turns = [_Turn(index) for index in range(extended.num_local)]
        self._failure: BaseException | None = None
        self._variables: dict[str, list[Variable]] = defaultdict(list)
        self._num_variables: dict[tuple[int, str], int] = defaultdict(int)

    def results(self) -> list[Any]:
        """Runs all replicas; returns what each returned."""
        try:
            for turn in self._turns:
                if not turn.has_ended:
                    turn.result = self._call(turn.index)
                    turn.has_ended = True
                    if turn.index == 0:
                        self._end_others()
        except _Stopped:
            failure, self._failure = self._failure, None
            raise (failure or RuntimeError("The run was stopped.")) from None
        finally:
            self._unwind()
        return [turn.result for turn in self._turns]

    def merge(
        self,
        index: int,
        merge_fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> Any:
        """Returns this replica's part of what `merge_fn` returns for all."""
        turn = self._turns[index]
        turn.merge_args, turn.merge_kwargs = tuple(args), dict(kwargs)
        if turn.seat is not None:
            turn.seat.pause()
            if self._failure is not None or self._outer_context is None:
                raise _Stopped
        else:
            self._gather_others(index)
            self._merge_all(merge_fn)
        return turn.merge_result

    def variable(self, index: int, recipe: VariableRecipe) -> Variable:
        """Returns the variable that replica 0 made by the same name, in the same place."""
        name = recipe.base_name
        position = self._num_variables[index, name]
        self._num_variables[index, name] += 1
        made = self._variables[name]
        if index == 0:
            made.append(self._extended.create_mirrored(recipe))
        elif position >= len(made):
            raise RuntimeError(
                f"Replica {index} makes variable {name!r}, which replica 0 did not make. Make the"
                " same variables, in the same order, on every replica."
            )
        return made[position]

    def _call(self, index: int) -> Any:
        return self._extended.call_in_turn(index, self, self._fn, self._args, self._kwargs)

    def _gather_others(self, index: int) -> None:
        """Lets every other replica run to its own merge_call."""
        if index:
            self._fail(_different_number(index))
        others = self._turns[1:]
        for turn in others:
            if turn.seat is None:
                turn.seat = _Seat.take(self._body(turn))
            turn.seat.resume()
            if turn.failure is not None:
                self._fail(turn.failure)
        for turn in others:
            if turn.has_ended:
                self._fail(_different_number(turn.index))

    def _merge_all(self, merge_fn: Callable[..., Any]) -> None:
        args = _regrouped([turn.merge_args for turn in self._turns])
        kwargs = _regrouped([turn.merge_kwargs for turn in self._turns])
        mode_token = scope.enter(self._extended.cross_mode)
        device_token = enter_device(self._outer_spec)
        try:
            result = merge_fn(self._extended.container, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  # no replica may catch it: `run` raises it
            self._fail(error)
        finally:
            leave_device(device_token)
            scope.leave(mode_token)
        for turn in self._turns:
            turn.merge_result = select_replica(turn.index, result)

    def _end_others(self) -> None:
        """Lets the replicas that are in the middle run to their ends."""
        for turn in self._turns[1:]:
            if turn.seat is None:
                continue
            turn.seat.resume()
            if turn.failure is not None:
                self._fail(turn.failure)
            if not turn.has_ended:
                self._fail(_different_number(turn.index))

    def _body(self, turn: _Turn) -> Callable[[], None]:
        """Returns what the thread of a replica does."""
        context = self._outer_context

        def body() -> None:
            try:
                if context is not None:
                    turn.result = context.copy().run(self._call, turn.index)
            except BaseException as failure:  # noqa: BLE001  # a thread's outermost line: `run` raises it
                turn.failure = failure
            turn.has_ended = True

        return body

    def _fail(self, failure: BaseException) -> None:
        self._failure = failure
        raise _Stopped

    def _unwind(self) -> None:
        """Ends the replicas that are in the middle, and lets go of what the run held."""
        self._outer_context = None
        seats = [turn.seat for turn in self._turns if turn.seat is not None and not turn.has_ended]
        if not seats:
            return
        with ExitStack() as stack:  # an interrupt in the middle of one skips none of the others
            for seat in reversed(seats):
                stack.callback(seat.dismiss)


def _regrouped(arguments: Sequence[Any]) -> Any:
    """Returns one nest of all replicas' arguments; usually there are none."""
    return regroup(arguments) if any(arguments) else arguments[0]


def _different_number(index: int) -> RuntimeError:
    return RuntimeError(
        "Some replicas made a different number of replica_context().merge_call() calls: replica"
        f" {index} and replica 0 differ. Each collective, and each write to a variable with an"
        " aggregation, is one; make the same ones on every replica."
    )


class InTurnExtended(ReplicatedExtended):
    """Replicas on several devices of this process, in turn; and of other processes, if there are."""

    context_class = MirroredReplicaContext

    def call_for_each_replica(
        self,
        fn: Callable[..., Any],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Calls `fn` on each local replica, under its device, with its part of the arguments.

        Raises:
            RuntimeError: The replicas made different numbers of merge_calls.
        """
        if self.num_local == 1:
            return super().call_for_each_replica(fn, args, kwargs)
        return regroup(_Run(self, fn, args, kwargs or {}).results())

    def call_in_turn(
        self,
        index: int,
        run: _Run,
        fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> Any:
        """Calls `fn` as one local replica of `run`, in this thread."""
        replica_id = self.first_replica_id + index
        context = _TurnContext(self.container, replica_id, index, run)
        return self.call_replica(
            index, fn, args, kwargs, mode=scope.Mode(self.container, self, context)
        )

    def merge_call(
        self,
        context: ReplicaContext,
        merge_fn: Callable[..., Any],
        args: Sequence[object],
        kwargs: Mapping[str, object],
    ) -> Any:
        """Calls `merge_fn` once, when all replicas have come to it."""
        if isinstance(context, _TurnContext):
            return context.run.merge(context.local_index, merge_fn, args, kwargs)
        return super().merge_call(context, merge_fn, args, kwargs)

    def create_variable(self, recipe: VariableRecipe) -> Variable:
        """Makes a component per local device; inside `run` once, for all replicas."""
        mode = scope.current()
        if mode is not None and isinstance(mode.replica, _TurnContext):
            return mode.replica.run.variable(mode.replica.local_index, recipe)
        return self.create_mirrored(recipe)

    def create_mirrored(self, recipe: VariableRecipe) -> Variable:
        """Makes a component per local device. Raises as `ReplicatedExtended.create_variable`."""
        return super().create_variable(recipe)
