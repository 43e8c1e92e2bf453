"""Frames: one slice of an array, with everything a receiver must compare, as bytes.

The layout is written down in protos/clustersim/wire/v1/collective.proto. Every field is checked
before anything is allocated; nothing that came over the wire is ever evaluated or unpickled.

Knows arrays and bytes; not who sends them, nor over what.
"""

import enum
import math
import struct
import zlib
from dataclasses import dataclass, replace

import numpy as np

from clustersim.errors import Cause, InternalError

MAX_NDIM = 32
MAX_ELEMENTS = 2**40
MAX_PAYLOAD_BYTES = 4 * 2**20
"""The largest payload of one frame; gRPC's own message limit leaves room for the header."""

_MAGIC = b"CSF1"
_HEADER = struct.Struct("<4sBBBBHHIIIQII")
_MAX_SITE_BYTES = 512

_DTYPES = {
    number: np.dtype(name)
    for number, name in enumerate(
        [
            "float32", "float64", "float16", "int32", "int64", "int16", "int8",
            "uint8", "uint16", "uint32", "uint64", "bool",
        ],
        start=1,
    )
}  # fmt: skip
_NUMBERS = {dtype: number for number, dtype in _DTYPES.items()}


class Kind(enum.IntEnum):
    """What a call does, as it stands in a frame."""

    ALL_REDUCE = 1
    BROADCAST = 2
    ALL_GATHER = 3
    BARRIER = 4
    ABORT = 9


class WireOp(enum.IntEnum):
    """How a call reduces, as it stands in a frame."""

    NONE = 0
    SUM = 1
    MEAN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What all ranks of one call must agree on, and where this rank's call stands."""

    kind: Kind
    op: WireOp
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    num_parts: int = 1
    """How many arrays were packed into one buffer, whose `shape` this is."""
    layout: int = 0
    """Tells packs of equal length apart: a hash of the parts' shapes; 0 for a single array."""
    site: str = ""
    """`train.py:41`; may differ between ranks, and is carried in the first frame only."""

    def __str__(self) -> str:
        """For example `all_reduce(SUM, float32 [3, 4]) at train.py:41`."""
        what = [self.op.name] if self.op is not WireOp.NONE else []
        if self.kind is not Kind.BARRIER:
            packed = f" packed from {self.num_parts} arrays" if self.num_parts > 1 else ""
            what.append(f"{self.dtype.name} {list(self.shape)}{packed}")
        where = f" at {self.site}" if self.site else ""
        return f"{self.kind.name.lower()}({', '.join(what)}){where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One slice of one call."""

    signature: Signature
    call: int
    chunk: int
    offset: int
    """Where the payload begins in the chunk, in bytes."""
    payload: memoryview | bytes


def supported(dtype: np.dtype[np.generic]) -> bool:
    """Returns whether arrays of `dtype` can travel."""
    return dtype in _NUMBERS


def encode(frame: Frame, *, checksum: bool = False) -> bytes:
    """Returns the bytes of a frame; the payload is copied once.

    Raises:
        ValueError: The dtype cannot travel, or the payload is too large.
    """
    sig = frame.signature
    site = sig.site.encode()[:_MAX_SITE_BYTES]
    length = memoryview(frame.payload).nbytes
    if sig.dtype not in _NUMBERS:
        names = ", ".join(dtype.name for dtype in _NUMBERS)
        raise ValueError(f"Arrays of dtype {sig.dtype} cannot travel. Cast to one of: {names}.")
    if length > MAX_PAYLOAD_BYTES:
        raise ValueError(f"A payload has at most {MAX_PAYLOAD_BYTES} bytes, not {length}.")
    header = _HEADER.pack(
        _MAGIC, sig.kind, sig.op, _NUMBERS[sig.dtype], len(sig.shape), len(site),
        sig.num_parts, sig.layout, frame.call, frame.chunk, frame.offset, length,
        zlib.crc32(frame.payload) if checksum else 0,
    )  # fmt: skip
    shape = struct.pack(f"<{len(sig.shape)}Q", *sig.shape)
    return b"".join((header, shape, site, frame.payload))


def decode(data: bytes) -> Frame:
    """Returns the frame in `data`; its payload is a view of `data`, not a copy.

    Raises:
        InternalError: It is no frame of ours, or it is damaged.
    """
    if len(data) < _HEADER.size:
        raise _damaged(f"{len(data)} bytes, shorter than a header of {_HEADER.size}")
    (
        magic, kind, op, dtype, ndim, site_length,
        num_parts, layout, call, chunk, offset, length, checksum,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    if magic != _MAGIC:
        raise _damaged(f"it begins with {magic!r}, not {_MAGIC!r}")
    if dtype not in _DTYPES or ndim > MAX_NDIM or site_length > _MAX_SITE_BYTES:
        raise _damaged(f"dtype {dtype}, {ndim} dimensions, site of {site_length} bytes")
    body = _HEADER.size + 8 * ndim + site_length
    if length > MAX_PAYLOAD_BYTES or len(data) != body + length:
        raise _damaged(f"it says {length} bytes of payload and has {len(data) - body}")
    shape = struct.unpack_from(f"<{ndim}Q", data, _HEADER.size)
    size_bytes = math.prod(shape) * _DTYPES[dtype].itemsize
    if math.prod(shape) > MAX_ELEMENTS or (offset and offset + length > size_bytes):
        raise _damaged(f"shape {list(shape)} with {length} bytes at {offset}")
    try:
        signature = Signature(
            kind=Kind(kind),
            op=WireOp(op),
            dtype=_DTYPES[dtype],
            shape=shape,
            num_parts=num_parts,
            layout=layout,
            site=data[body - site_length : body].decode(),
        )
    except ValueError as error:  # an unknown kind or op, or a site that is not UTF-8
        raise _damaged(str(error)) from None
    payload = memoryview(data)[body:]
    if checksum and zlib.crc32(payload) != checksum:
        raise _damaged("its checksum is wrong")
    return Frame(signature=signature, call=call, chunk=chunk, offset=offset, payload=payload)


def abort_frame(reason: bytes, *, call: int) -> bytes:
    """Returns a frame that tells a peer to give up; `reason` is for the communicator to read."""
    signature = Signature(kind=Kind.ABORT, op=WireOp.NONE, dtype=np.dtype("uint8"), shape=())
    return encode(Frame(signature=signature, call=call, chunk=0, offset=0, payload=reason))


def is_abort(data: bytes) -> bool:
    """Returns whether `data` is a frame made by `abort_frame`, without decoding it."""
    return data[:4] == _MAGIC and data[4:5] == bytes([Kind.ABORT])


def without_site(signature: Signature) -> Signature:
    """Returns the signature as all frames but a rank's first carry it."""
    return replace(signature, site="")


def _damaged(how: str) -> InternalError:
    return InternalError(
        f"A frame arrived damaged: {how}. This is no fault of the program.",
        code="CSE505",
        cause=Cause.DATA_CORRUPT,
    )
