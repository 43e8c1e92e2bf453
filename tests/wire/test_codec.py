"""Frames go through unchanged, and nothing else gets in."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.errors import Cause, InternalError
from clustersim.wire import codec
from clustersim.wire.codec import Frame, Kind, Signature, WireOp, decode, encode


def frame(payload=b"12345678", shape=(2,), dtype="float32", **kwargs):
    signature = Signature(
        kind=Kind.ALL_REDUCE, op=WireOp.SUM, dtype=np.dtype(dtype), shape=shape, site="train.py:41"
    )
    values = {"call": 3, "chunk": 1, "offset": 0} | kwargs
    return Frame(signature=signature, payload=payload, **values)


@given(
    payload=st.binary(max_size=64),
    dtype=st.sampled_from(["float32", "int64", "bool"]),
    shape=st.lists(st.integers(0, 9), max_size=4).map(tuple),
    call=st.integers(0, 2**32 - 1),
    checksum=st.booleans(),
)
def test_a_frame_goes_through_unchanged(payload, dtype, shape, call, checksum):
    sent = frame(payload, shape, dtype, call=call)
    got = decode(encode(sent, checksum=checksum))
    assert got.signature == sent.signature
    assert (got.call, got.chunk, got.offset) == (sent.call, sent.chunk, sent.offset)
    assert bytes(got.payload) == payload


@given(data=st.binary(max_size=200))
def test_random_bytes_are_refused(data):
    with pytest.raises(InternalError):
        decode(data)


@given(data=st.data())
def test_a_damaged_frame_is_refused_or_reads_the_same_payload(data):
    good = bytearray(encode(frame(), checksum=True))
    position = data.draw(st.integers(0, len(good) - 1))
    good[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        got = decode(bytes(good))
    except InternalError:
        return
    # What the payload's checksum does not cover is compared by the communicator, field by field.
    assert bytes(got.payload) == b"12345678"


@pytest.mark.parametrize("cut", [0, 1, 39, 40, 50, -1])
def test_a_truncated_frame_is_refused(cut):
    with pytest.raises(InternalError, match="CSE505") as caught:
        decode(encode(frame())[:cut])
    assert caught.value.cause is Cause.DATA_CORRUPT


def test_lengths_that_lie_are_refused_before_anything_is_allocated():
    lie = bytearray(encode(frame()))
    struct.pack_into("<Q", lie, 40, 2**63)  # the shape
    with pytest.raises(InternalError, match="shape"):
        decode(bytes(lie))


def test_a_wrong_checksum_is_refused():
    data = bytearray(encode(frame(), checksum=True))
    data[-1] ^= 1
    with pytest.raises(InternalError, match="checksum"):
        decode(bytes(data))


def test_what_cannot_travel_is_refused_with_what_can():
    with pytest.raises(ValueError, match=r"complex64 cannot travel.*float32"):
        encode(frame(dtype="complex64"))
    with pytest.raises(ValueError, match="at most"):
        encode(frame(payload=bytes(codec.MAX_PAYLOAD_BYTES + 1)))


def test_a_signature_reads_like_the_call():
    assert str(frame(shape=(3, 4)).signature) == "all_reduce(SUM, float32 [3, 4]) at train.py:41"


def test_an_abort_is_known_without_decoding():
    data = codec.abort_frame(b"why", call=7)
    assert codec.is_abort(data)
    assert not codec.is_abort(encode(frame()))
    assert bytes(decode(data).payload) == b"why"
