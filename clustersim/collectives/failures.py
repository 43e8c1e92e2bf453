"""What can go wrong in a collective call, as the error that every rank raises.

The words are here, with what is to be compared; when to look, and whom to tell, is the communicator's.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clustersim import errors
from clustersim.collectives.pairing import Meeting
from clustersim.errors import Cause, OpError
from clustersim.transport.base import PeerBroke, PeerEnded
from clustersim.wire.codec import Frame, Kind, Signature, decode

_RAISED = {
    cls.__name__: cls
    for cls in (
        errors.AbortedError,
        errors.DeadlineExceededError,
        errors.InternalError,
        errors.InvalidArgumentError,
        errors.UnavailableError,
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which call of which rank fails."""

    me: str
    """This rank's name."""
    number: int
    """The number of the call in its group, from 1."""
    signature: Signature
    suspects: Meeting | None = None
    """The first call of the group that was made at different lines."""


def differing(place: Place, frame: Frame, *, name: str, rank: int) -> OpError | None:
    """Returns the error of calls that differ, None where a peer's frame fits this rank's call."""
    mine, theirs = place.signature, frame.signature
    must_agree = mine.kind is not Kind.ALL_GATHER
    differ = [
        what
        for what, same in (
            ("kind", mine.kind == theirs.kind),
            ("op", mine.op == theirs.op),
            ("dtype", mine.dtype == theirs.dtype),
            ("shape", _same_shape(mine, theirs) or not must_agree),
        )
        if not same
    ]
    if differ:
        cls = errors.InvalidArgumentError if differ == ["shape"] else errors.InternalError
        return cls(
            f"{place.me} calls {mine}, but {name} calls {theirs}: they differ in"
            f" {' and '.join(differ)} (call {place.number} of this group).{_doubt(place)} Make every"
            " task call the same collectives in the same order.",
            code="CSE501",
            task=name,
            cause=Cause.MISMATCH,
            rank=rank,
            step=place.number,
        )
    if frame.call != place.number:
        return errors.InternalError(
            f"{name} sent a frame of call {frame.call} during call {place.number}.",
            code="CSE505",
            cause=Cause.STALE,
        )
    return None


def parts_that_differ(
    place: Place, shapes: Sequence[tuple[int, ...]], axis: int, names: Sequence[str]
) -> OpError | None:
    """Returns the error of arrays that cannot be gathered along `axis`, None where they can."""
    rest = {tuple(np.delete(shape, axis)) for shape in shapes if len(shape) == len(shapes[0])}
    if len({len(shape) for shape in shapes}) == 1 and len(rest) == 1:
        return None
    have = ", ".join(f"{name} {list(shape)}" for name, shape in zip(names, shapes, strict=True))
    return errors.InvalidArgumentError(
        f"{place.signature} gathers along axis {axis}, but the other dimensions differ: {have}. Make"
        " them equal.",
        code="CSE501",
        cause=Cause.MISMATCH,
        step=place.number,
    )


def ended(place: Place, peer: PeerEnded) -> OpError:
    """Returns the error of a peer that ended in order, but before this call."""
    if place.suspects is None:
        advice = " Give every task the same number of steps (uneven input?)."
    else:
        advice = f"{_doubt(place)} Make every task call the same collectives in the same order."
    return errors.UnavailableError(
        f"{peer.task} ended after {peer.num_calls} collective calls, {place.me} is in its"
        f" {_ordinal(place.number)}: {place.signature}.{advice}",
        code="CSE502",
        task=peer.task,
        cause=Cause.EARLY_EXIT if place.suspects is None else Cause.MIXED_CALLS,
        rank=peer.rank,
        step=place.number,
    )


def broke(place: Place, error: PeerBroke) -> OpError:
    """Returns the error of a peer that died."""
    return errors.UnavailableError(
        f"{error.message.rstrip('.')}. {place.me} was in its {_ordinal(place.number)} collective"
        f" call: {place.signature}. See the log of {error.task}, then start all tasks anew.",
        code="CSE503",
        task=error.task,
        cause=error.cause,
        rank=error.rank,
        step=place.number,
    )


def late(place: Place, *, waited_s: float, name: str, rank: int) -> OpError:
    """Returns the error of a call whose time is over."""
    return errors.DeadlineExceededError(
        f"{place.me} waited {waited_s:.1f} s in {place.signature} (call {place.number}) for"
        f" {name}. See what that task does, or raise timeout_seconds.",
        code="CSE504",
        task=name,
        cause=Cause.TIMEOUT,
        rank=rank,
        step=place.number,
    )


def out_of_order(frame: Frame, chunk: int, position: int, name: str) -> OpError:
    """Returns the error of a frame that is not the next one."""
    return errors.InternalError(
        f"{name} sent chunk {frame.chunk} at {frame.offset}, expected chunk {chunk} at {position}.",
        code="CSE505",
        cause=Cause.DATA_CORRUPT,
    )


def reason(error: OpError) -> bytes:
    """Returns what a peer needs to raise the same error; `from_abort` reads it."""
    return json.dumps(
        {
            "error": type(error).__name__,
            "message": error.message,
            "code": error.code,
            "task": error.task,
            "cause": error.cause.name if error.cause else None,
            "rank": error.rank,
        }
    ).encode()


def from_abort(data: bytes, place: Place) -> OpError:
    """Returns the error that a peer told us to raise. Only known classes and causes are taken."""
    told = json.loads(bytes(decode(data).payload))
    cause = told.get("cause")
    rank = told.get("rank")
    return _RAISED.get(str(told.get("error")), errors.AbortedError)(
        f"{told.get('message')} This task was in {place.signature} (call {place.number}).",
        code=str(told.get("code") or "CSE506"),
        task=str(told["task"]) if told.get("task") else None,
        cause=Cause[cause] if cause in Cause.__members__ else None,
        rank=rank if isinstance(rank, int) else None,
        step=place.number,
    )


def again(first: OpError) -> OpError:
    """Returns the error of a call after one that failed."""
    return type(first)(
        f"An earlier collective of this group failed, so it can make no more calls: {first.message}",
        code="CSE506",
        task=first.task,
        cause=first.cause,
        rank=first.rank,
        step=first.step,
    )


def _doubt(place: Place) -> str:
    if place.suspects is None:
        return ""
    return f" Before, calls of different lines were combined: {place.suspects}."


def _same_shape(mine: Signature, theirs: Signature) -> bool:
    return (mine.shape, mine.num_parts, mine.layout) == (
        theirs.shape,
        theirs.num_parts,
        theirs.layout,
    )


def _ordinal(number: int) -> str:
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"
