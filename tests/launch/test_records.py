"""Reports between what a program writes on its stderr, however the reads cut it."""

from hypothesis import given
from hypothesis import strategies as st

from clustersim.launch.records import RecordSieve
from clustersim.runtime.report import RECORD_MARK

REPORT = b'{"ev":"step","step":1}'

PIECES = st.one_of(
    st.sampled_from([REPORT, b'{"ev":"joined"}']).map(lambda one: ("record", one)),
    st.binary(max_size=20).map(lambda one: ("text", one.replace(RECORD_MARK, b""))),
)


def sifted(data, cuts=()):
    sieve, text, records = RecordSieve(), b"", []
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        part, found = sieve.feed(data[begin:end])
        text += part
        records += found
    return text + sieve.rest(), records


@given(st.lists(PIECES, max_size=8), st.data())
def test_text_and_records_come_apart_wherever_a_read_ends(pieces, data):
    stream = b"".join(
        RECORD_MARK + one + b"\n" if kind == "record" else one for kind, one in pieces
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    text, records = sifted(stream, cuts)
    assert text == b"".join(one for kind, one in pieces if kind == "text")
    assert records == [one for kind, one in pieces if kind == "record"]


def test_a_record_in_the_middle_of_a_line_leaves_the_line_whole():
    assert sifted(b"50 %" + RECORD_MARK + REPORT + b"\n\r60 %\n") == (b"50 %\r60 %\n", [REPORT])


def test_the_programs_own_mark_is_text():
    own = RECORD_MARK + b"mine\n" + RECORD_MARK + RECORD_MARK + b"\n"
    assert sifted(own) == (own, [])


def test_a_record_that_was_cut_off_by_the_end_is_text():
    assert sifted(RECORD_MARK + b'{"ev":') == (RECORD_MARK + b'{"ev":', [])


def test_what_is_too_long_for_a_record_is_not_held_back():
    sieve = RecordSieve()
    text, records = sieve.feed(RECORD_MARK + b"{" * 5000)
    assert (len(text), records) == (5001, [])
