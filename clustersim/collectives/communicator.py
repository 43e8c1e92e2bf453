"""The public verbs of a group: all_reduce, all_gather, broadcast, barrier.

A communicator executes schedules on real bytes: it slices chunks into pieces of about 1 MiB, sends
a piece on as soon as it is reduced, compares what every frame says of its call with this rank's own
call, and turns whatever goes wrong into one error that every rank raises.

Not thread-safe: calls are matched by their order, so one thread makes them.
"""

import math
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from clustersim import errors
from clustersim.clock import SYSTEM_CLOCK, Clock
from clustersim.collectives import failures
from clustersim.collectives.failures import Place
from clustersim.collectives.pairing import Meeting, Pairings
from clustersim.collectives.ring import chain_broadcast, ring_all_gather, ring_all_reduce
from clustersim.collectives.schedule import (
    Move,
    RankStep,
    ReduceOp,
    Round,
    chunk_bounds,
    steps_of,
)
from clustersim.errors import OpError
from clustersim.events import (
    CallsMixed,
    CollectiveFinished,
    NullRecorder,
    PeerAwaited,
    Recorder,
)
from clustersim.transport.base import GroupAborted, PeerBroke, Transport
from clustersim.wire.codec import (
    Frame,
    Kind,
    Signature,
    WireOp,
    abort_frame,
    decode,
    encode,
    supported,
    without_site,
)

Array = npt.NDArray[Any]

PIECE_BYTES = 2**20
"""Small enough that reducing one overlaps with sending another, large enough to cost little."""

_SLICE_S = 1.0
"""The longest wait without a look at deadlines and at who is still there."""

_SAY_AFTER_S = 2.0
"""A wait that lasts longer is said."""

_PACKAGE = str(Path(__file__).parents[1])


@dataclass(slots=True, kw_only=True)
class _Call:
    """One collective call while it runs."""

    number: int
    signature: Signature
    started: float
    timeout_s: float | None
    first_byte: float | None = None
    said: float = 0.0
    other_site: str = ""
    greeted: bool = False
    """Whether the frame that carries the call site was sent."""


class Communicator:
    """Collectives among the members of one group; this one is `rank` of `size`.

    Args:
        transport: Carries the frames; the communicator closes it.
        names: What the members are called in messages, by rank. Default: "rank 0", ...
        timeout_s: How long one call may last. Default: for ever, as in TensorFlow; a peer that dies
            or leaves is noticed all the same.
        checksum: Whether every payload carries a CRC-32. Off by default: loopback does not damage.
        recorder: Hears of every call, and of those that wait for longer than 2 s.
        clock: What times the calls.

    A call that fails breaks the group on all ranks; later calls raise the same class of error.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        names: Sequence[str] = (),
        timeout_s: float | None = None,
        checksum: bool = False,
        recorder: Recorder | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.rank = transport.rank
        self.size = transport.size
        self.names = tuple(names) or tuple(f"rank {rank}" for rank in range(transport.size))
        self.num_calls = 0
        self._transport = transport
        self._timeout_s = timeout_s
        self._checksum = checksum
        self._recorder = recorder or NullRecorder()
        self._clock = clock
        self._pairings = Pairings()
        self._failure: OpError | None = None

    def all_reduce(
        self,
        array: Array,
        op: ReduceOp = ReduceOp.SUM,
        *,
        site: str = "",
        timeout_s: float | None = None,
    ) -> Array:
        """Returns the sum (or mean) of every rank's `array`, bit-identical on all ranks.

        Args:
            array: Any shape, the same on all ranks; not changed. A dtype of `codec`.
            op: SUM keeps the dtype and wraps as NumPy does; MEAN of integers is float64.
            site: Where the program makes the call; found by looking if empty.
            timeout_s: How long this call may last. Default: the communicator's.

        Returns:
            A new array, the caller's.

        Raises:
            InvalidArgumentError: The ranks' shapes differ. Raised on all ranks.
            InternalError: The ranks' calls differ in kind, op or dtype. Raised on all ranks.
            UnavailableError: A member died, or ended before this call.
            DeadlineExceededError: `timeout_s` passed.
        """
        return self.all_reduce_packed([array], op, site=site, timeout_s=timeout_s)[0]

    def all_reduce_packed(
        self,
        arrays: Sequence[Array],
        op: ReduceOp = ReduceOp.SUM,
        *,
        site: str = "",
        timeout_s: float | None = None,
    ) -> list[Array]:
        """Reduces several arrays of one dtype in one call, packed into one buffer.

        All ranks give the same number of arrays, with the same shapes in the same order. Otherwise
        as `all_reduce`.
        """
        shapes = [array.shape for array in arrays]
        if len(arrays) == 1:
            buffer, layout = _native(arrays[0]), 0
        else:
            buffer = _native(np.concatenate([array.reshape(-1) for array in arrays]))
            layout = zlib.crc32(repr(shapes).encode())
        call = self._begin(
            Kind.ALL_REDUCE,
            WireOp[op.name],
            buffer,
            site=site,
            timeout_s=timeout_s,
            num_parts=len(arrays),
            layout=layout,
        )
        self._reduce(call, buffer)
        if op is ReduceOp.MEAN:
            buffer = np.divide(buffer, self.size, dtype=_mean_dtype(buffer.dtype))
        edges = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
        flat = np.reshape(buffer, -1)
        return [
            flat[a:b].reshape(shape) for a, b, shape in zip(edges, edges[1:], shapes, strict=False)
        ]

    def _reduce(self, call: _Call, buffer: Array) -> None:
        """Sums `buffer` over the ranks, in place."""
        flat = buffer.reshape(-1)
        chunks: list[Array | None] = [flat[a:b] for a, b in chunk_bounds(flat.size, self.size)]
        self._execute(call, ring_all_reduce(self.size), chunks)
        self._end(call, buffer.nbytes)

    def all_gather(
        self, array: Array, *, axis: int = 0, site: str = "", timeout_s: float | None = None
    ) -> Array:
        """Returns every rank's `array`, concatenated in rank order along `axis`.

        Sizes may differ along `axis`. Raises as `all_reduce`, and ValueError for a scalar.
        """
        own = _native(array)
        if not -own.ndim <= axis < own.ndim:
            raise ValueError(
                f"An array of shape {list(own.shape)} cannot be gathered along axis {axis}. Give an"
                " axis that it has; reshape a scalar to [1] first."
            )
        call = self._begin(Kind.ALL_GATHER, WireOp.NONE, own, site=site, timeout_s=timeout_s)
        chunks: list[Array | None] = [None] * self.size
        chunks[self.rank] = own.reshape(-1)
        shapes = self._execute(call, ring_all_gather(self.size), chunks)
        shapes[self.rank] = own.shape
        self._end(call, own.nbytes)
        parts = [
            chunk.reshape(shapes[rank]) for rank, chunk in enumerate(chunks) if chunk is not None
        ]
        shapes_found = [part.shape for part in parts]
        differ = failures.parts_that_differ(self._place(call), shapes_found, axis, self.names)
        if differ is not None:
            raise differ
        return np.concatenate(parts, axis=axis)

    def broadcast(self, array: Array, *, root: int = 0, site: str = "") -> Array:
        """Returns the root's `array` on all ranks. All give one of the same shape and dtype.

        Raises as `all_reduce`. The ranks agree on the call before the root sends.
        """
        result = _native(array)
        call = self._begin(Kind.BROADCAST, WireOp.NONE, result, site=site)
        self._execute(call, ring_all_gather(self.size), self._nothing())
        chunks: list[Array | None] = [result.reshape(-1)]
        self._execute(call, chain_broadcast(self.size, root), chunks)
        self._end(call, result.nbytes)
        return result

    def barrier(self, *, site: str = "") -> None:
        """Returns when every rank has called it. Raises as `all_reduce`."""
        call = self._begin(Kind.BARRIER, WireOp.NONE, np.empty(0, dtype=np.uint8), site=site)
        self._execute(call, ring_all_gather(self.size), self._nothing())
        self._end(call, 0)

    def close(self) -> None:
        """Ends this rank's part: what it owes its peers is sent, for a bounded time."""
        self._transport.close()

    # -- one call -------------------------------------------------------------------------------

    def _begin(
        self,
        kind: Kind,
        op: WireOp,
        array: Array,
        *,
        site: str,
        timeout_s: float | None = None,
        num_parts: int = 1,
        layout: int = 0,
    ) -> _Call:
        if self._failure is not None:
            raise failures.again(self._failure)
        if not supported(array.dtype):
            raise ValueError(f"Arrays of dtype {array.dtype} cannot travel. Cast it first.")
        self.num_calls += 1
        return _Call(
            number=self.num_calls,
            signature=Signature(
                kind=kind,
                op=op,
                dtype=array.dtype,
                shape=array.shape,
                num_parts=num_parts,
                layout=layout,
                site=site or _call_site(),
            ),
            started=self._clock.now(),
            timeout_s=timeout_s if timeout_s is not None else self._timeout_s,
        )

    def _end(self, call: _Call, size_bytes: int) -> None:
        now = self._clock.now()
        first = call.first_byte if call.first_byte is not None else call.started
        self._recorder.record(
            CollectiveFinished(
                kind=call.signature.kind.name.lower(),
                step=call.number,
                size_bytes=size_bytes,
                waiting_s=first - call.started,
                network_s=now - first,
                site=call.signature.site,
                other_site=call.other_site,
            )
        )

    def _nothing(self) -> list[Array | None]:
        return [np.empty(0, dtype=np.uint8) for _ in range(self.size)]

    def _execute(
        self, call: _Call, rounds: Iterable[Round], chunks: list[Array | None]
    ) -> dict[int, tuple[int, ...]]:
        """Runs this rank's part; fills `chunks`; returns the shapes that came with them."""
        steps = steps_of(rounds, self.rank)
        shapes: dict[int, tuple[int, ...]] = {}
        is_sent = False  # whether this step's chunk went out piece by piece while it came in
        for step, after in pairwise([*steps, None]):
            assert step is not None  # noqa: S101  # only the last of the pair is None
            if step.send_to is not None and not is_sent:
                self._send_chunk(call, step.send_to, step.send_chunk, chunks[step.send_chunk])
            is_sent = (
                after is not None
                and after.send_to is not None
                and step.receive_from is not None
                and after.send_chunk == step.receive_chunk
            )
            if step.receive_from is not None:
                forward_to = after.send_to if is_sent and after is not None else None
                shapes[step.receive_chunk] = self._receive_chunk(call, step, chunks, forward_to)
        return shapes

    def _send_chunk(self, call: _Call, target: int, chunk: int, data: Array | None) -> None:
        assert data is not None  # noqa: S101  # a schedule never sends what it has not received
        content = data.view(np.uint8)
        for offset in range(0, max(content.size, 1), PIECE_BYTES):
            self._send_piece(call, target, chunk, offset, content[offset : offset + PIECE_BYTES])

    def _send_piece(self, call: _Call, target: int, chunk: int, offset: int, data: Array) -> None:
        signature = without_site(call.signature) if call.greeted else call.signature
        call.greeted = True
        frame = Frame(
            signature=signature,
            call=call.number,
            chunk=chunk,
            offset=offset,
            payload=data.data,
        )
        self._transport.send(target, encode(frame, checksum=self._checksum))

    def _receive_chunk(
        self, call: _Call, step: RankStep, chunks: list[Array | None], forward_to: int | None
    ) -> tuple[int, ...]:
        source, chunk = step.receive_from or 0, step.receive_chunk
        position = 0
        while True:
            data = self._next(call, source)
            frame = self._decode(call, data)
            self._compare(call, frame, source)
            if frame.chunk != chunk or frame.offset != position:
                name = self.names[source]
                self._fail(call, failures.out_of_order(frame, chunk, position, name))
            into = chunks[chunk]
            if into is None:
                into = np.empty(math.prod(frame.signature.shape), frame.signature.dtype)
                chunks[chunk] = into
            piece = into.view(np.uint8)[position : position + len(frame.payload)]
            if step.move is Move.REDUCE:
                view = piece.view(into.dtype)
                np.add(view, np.frombuffer(frame.payload, into.dtype), out=view)
            else:
                piece[:] = np.frombuffer(frame.payload, np.uint8)
            if forward_to is not None and step.move is Move.COPY:
                self._transport.send(forward_to, data)  # unchanged: the very bytes that came
            elif forward_to is not None:
                self._send_piece(call, forward_to, chunk, position, piece)
            position += len(frame.payload)
            if position >= into.nbytes:
                return frame.signature.shape

    # -- waiting, and what may go wrong ---------------------------------------------------------

    def _next(self, call: _Call, source: int) -> bytes:
        """Waits for the next frame from `source`, with a look around once a second."""
        while True:
            try:
                data = self._transport.receive(source, self._slice_s(call))
            except GroupAborted as news:
                self._raise(failures.from_abort(news.frame, self._place(call)))
            except PeerBroke as error:
                self._raise(failures.broke(self._place(call), error))
            if data is not None:
                if call.first_byte is None:
                    call.first_byte = self._clock.now()
                return data
            self._check_ended(call)
            self._check_time(call, source)

    def _decode(self, call: _Call, data: bytes) -> Frame:
        try:
            return decode(data)
        except errors.InternalError as error:
            self._fail(call, error)

    def _slice_s(self, call: _Call) -> float:
        if call.timeout_s is None:
            return _SLICE_S
        left_s = call.started + call.timeout_s - self._clock.now()
        return min(_SLICE_S, max(0.0, left_s))

    def _check_ended(self, call: _Call) -> None:
        for peer in self._transport.ended():
            if peer.num_calls < call.number:
                self._raise(failures.ended(self._place(call), peer))

    def _check_time(self, call: _Call, source: int) -> None:
        waited_s = self._clock.now() - call.started
        if call.timeout_s is not None and waited_s >= call.timeout_s:
            error = failures.late(
                self._place(call), waited_s=waited_s, name=self.names[source], rank=source
            )
            self._fail(call, error)
        if waited_s >= max(_SAY_AFTER_S, call.said + 1.0):
            call.said = waited_s
            self._recorder.record(
                PeerAwaited(peer=self.names[source], call=str(call.signature), duration_s=waited_s)
            )

    def _compare(self, call: _Call, frame: Frame, source: int) -> None:
        error = failures.differing(self._place(call), frame, name=self.names[source], rank=source)
        if error is not None:
            self._fail(call, error)
        if frame.signature.site:  # it comes with the first frame of a call
            self._note_site(call, frame.signature.site, source)

    def _note_site(self, call: _Call, site: str, source: int) -> None:
        """Remembers where a peer made this call: branches by role may, but need not, be right."""
        if site != call.signature.site:
            call.other_site = site
        meeting = Meeting(
            call=call.number,
            task=self.names[self.rank],
            site=call.signature.site,
            peer=self.names[source],
            peer_site=site,
        )
        mixed = self._pairings.note(meeting)
        if mixed is not None:
            self._recorder.record(CallsMixed(meeting=str(mixed)))

    def _place(self, call: _Call) -> Place:
        return Place(
            me=self.names[self.rank],
            number=call.number,
            signature=call.signature,
            suspects=self._pairings.suspects(),
        )

    def _fail(self, call: _Call, error: OpError) -> NoReturn:
        """Raises, after telling every other rank to raise the same."""
        self._transport.abort(abort_frame(failures.reason(error), call=call.number))
        self._raise(error)

    def _raise(self, error: OpError) -> NoReturn:
        self._failure = error
        raise error from None  # what the transport raised says less


def _native(array: Array) -> Array:
    """Returns a new contiguous copy in this machine's byte order; a scalar stays a scalar."""
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)


def _mean_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if np.issubdtype(dtype, np.floating) else np.dtype(np.float64)


def _call_site() -> str:
    """Returns `file.py:line` of the innermost frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001  # the documented way to look at one's callers
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
