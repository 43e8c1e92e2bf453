"""JSON read with positions, going on after a fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustersim.cluster.scan import Kind, line_and_column, scan

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="$<{%_")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc~/"), inner, max_size=3)
    ),
    max_leaves=12,
)

CLUSTER = {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 0}}


@given(JSON, st.sampled_from([None, 1]))
def test_what_is_json_is_read_as_json_does(value, indent):
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return  # taken for JSON that was encoded twice
    text = json.dumps(value, indent=indent)
    scanned = scan(text)
    assert scanned.faults == ()
    assert scanned.value == value


@given(st.text())
def test_no_text_makes_it_crash_or_loop(text):
    scan(text)


@given(st.text(alphabet="{}[],:'\"\\abc1 \n/$#", max_size=60))
def test_no_text_of_json_like_pieces_makes_it_crash_or_loop(text):
    scan(text)


@pytest.mark.parametrize(
    ("text", "kind", "offset", "value"),
    [
        ('{"a": [1, 2,]}', Kind.TRAILING_COMMA, 11, {"a": [1, 2]}),
        ('{"a": 1,}', Kind.TRAILING_COMMA, 7, {"a": 1}),
        ('{"a": 1 "b": 2}', Kind.MISSING_COMMA, 8, {"a": 1, "b": 2}),
        ('{"a" 1}', Kind.MISSING_COLON, 5, {"a": 1}),
        ("{'a': 1}", Kind.SINGLE_QUOTES, 1, {"a": 1}),
        ("{“a”: 1}", Kind.CURLY_QUOTES, 1, {"a": 1}),
        ("{a: 1}", Kind.BARE_WORD, 1, {"a": 1}),
        ('{"a": worker}', Kind.BARE_WORD, 6, {"a": "worker"}),
        ('{"a": 10.0.0.5:22}', Kind.BARE_WORD, 6, {"a": "10.0.0.5:22"}),
        ('{"a": True}', Kind.PYTHON_WORD, 6, {"a": True}),
        ('{u"a": 1}', Kind.PYTHON_PREFIX, 1, {"a": 1}),
        ('{"a": 7L}', Kind.PYTHON_WORD, 6, {"a": 7}),
        ('{"a": (1, 2)}', Kind.PYTHON_TUPLE, 6, {"a": [1, 2]}),
        ('A={"a": 1}', Kind.ASSIGNMENT, 0, {"a": 1}),
        ('{"a": 1 // one\n}', Kind.COMMENT, 8, {"a": 1}),
        ('{"a": [1}', Kind.MISSING_END, 8, {"a": [1]}),
        ('{"a": 1', Kind.MISSING_END, 7, {"a": 1}),
        ("'{\"a\": 1}'", Kind.OUTER_QUOTES, 0, {"a": 1}),
        ('{\\"a\\": 1}', Kind.ESCAPED_QUOTES, 2, {"a": 1}),
        ('"{\\"a\\": 1}"', Kind.DOUBLE_ENCODED, 0, {"a": 1}),
        ('\ufeff{"a": 1}', Kind.BOM, 0, {"a": 1}),
    ],
)
def test_a_fault_with_one_correction_is_corrected_where_it_stands(text, kind, offset, value):
    scanned = scan(text)
    assert [(f.kind, f.offset, f.is_fixable) for f in scanned.faults] == [(kind, offset, True)]
    assert scanned.value == value


@pytest.mark.parametrize(
    ("text", "kind", "unknown"),
    [
        ('{"a": }', Kind.MISSING_VALUE, "/a"),
        ('{"a": $HOSTS}', Kind.TEMPLATE, "/a"),
        ('{"a": {"b": "__INDEX__"}}', Kind.TEMPLATE, "/a/b"),
        ('{"a": {{ index }}}', Kind.TEMPLATE, "/a"),
        ('{"a": ...}', Kind.ELISION, "/a"),
        ('{"a": 01}', Kind.BAD_NUMBER, "/a"),
        ('{"a": NaN}', Kind.BAD_NUMBER, "/a"),
        ('{"a": "b}', Kind.BAD_STRING, "/a"),
    ],
)
def test_a_part_that_cannot_be_known_is_said(text, kind, unknown):
    scanned = scan(text)
    assert scanned.faults[0].kind is kind
    assert not scanned.faults[0].is_fixable
    assert unknown in scanned.unknown


def test_nesting_without_end_is_not_read():
    assert scan("[" * 100_000).faults[0].kind is Kind.TOO_DEEP


def test_positions_are_those_of_the_text():
    text = json.dumps(CLUSTER, indent=2)
    scanned = scan(text)
    assert line_and_column(text, scanned.offsets["/task/index"]) == (10, 14)
    assert scanned.offsets["/cluster/worker/1"] == text.index('"b:2"')


def test_of_many_faults_only_some_are_kept():
    assert len(scan("'" * 10_000).faults) <= 50
