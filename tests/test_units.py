"""Text to numbers and back."""

import pytest

from clustersim import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10ms", 0.01), ("5", 5), ("1.5s", 1.5), ("2min", 120), ("1h", 3600), (" 3 us ", 3e-6)],
)
def test_durations(text, seconds):
    assert units.parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4", 4), ("64k", 65536), ("1MiB", 2**20), ("10MB", 10**7), ("2GB", 2 * 10**9)],
)
def test_sizes(text, size):
    assert units.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "ms", "-1s", "1 parsec", "1e3s", "nan"])
def test_what_is_no_duration_is_refused_with_examples(text):
    with pytest.raises(ValueError, match=r"is not a duration.*500ms"):
        units.parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (5e-5, "50 us"),
        (0.003, "3 ms"),
        (12.84, "12.8 s"),
        (125, "2 min 5 s"),
        (float("inf"), "no limit"),
    ],
)
def test_durations_as_text(seconds, text):
    assert units.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(4, "4 B"), (1536, "1.5 KiB"), (2**20, "1 MiB"), (5 * 2**30, "5.0 GiB")]
)
def test_sizes_as_text(size, text):
    assert units.format_size(size) == text


def test_counts():
    assert [units.parse_count(text, 4096) for text in ("1", "4096", "007")] == [1, 4096, 7]


@pytest.mark.parametrize("text", ["", "0", "4097", "-1", "+1", "1.0", "x", "\u0661", "9" * 5000])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(ValueError, match="is no number from 1 to 4096"):
        units.parse_count(text, 4096)


def test_more_than_a_number_holds_is_refused():
    with pytest.raises(ValueError, match="400 digits is too much"):
        units.parse_size("9" * 400)
