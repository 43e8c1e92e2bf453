"""Pure: text to SI numbers and back: "10ms", "1GiB".

Used only where text enters or leaves (command line, environment, reports); inside, a number carries
its unit in its name (`timeout_s`, `size_bytes`).
"""

import math
import re

_DURATION_S = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZE_BYTES = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9,
    "kib": 2**10, "mib": 2**20, "gib": 2**30,
    "k": 2**10, "m": 2**20, "g": 2**30,
}  # fmt: skip
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*")


def parse_duration(text: str) -> float:
    """Returns the seconds that `text` means: "10ms", "1.5", "2min".

    Raises:
        ValueError: It is not a number with a known unit, or it is negative.
    """
    return _parse(text, _DURATION_S, what="duration", example="500ms, 5, 5s, 2min, 1h")


def parse_size(text: str) -> int:
    """Returns the bytes that `text` means: "1GiB", "64k" (binary), "10MB" (decimal).

    Raises:
        ValueError: It is not a number with a known unit, or it is negative.
    """
    return round(_parse(text, _SIZE_BYTES, what="size", example="4, 64k, 1MiB, 2GB"))


def parse_count(text: str, most: int) -> int:
    """Returns the whole number that `text` means.

    Raises:
        ValueError: It is not digits alone, or not from 1 to `most`.
    """
    is_short = text.isascii() and text.isdecimal() and len(text) <= len(str(most))
    if not is_short or not 1 <= int(text) <= most:
        raise ValueError(f"{text!r} is no number from 1 to {most}.")
    return int(text)


def format_duration(duration_s: float) -> str:
    """Returns a short text for a duration: "12.8 s", "3 ms", "2 min 5 s"."""
    if not math.isfinite(duration_s):
        return "no limit"
    if duration_s < 1e-3:
        return f"{duration_s * 1e6:.0f} us"
    if duration_s < 1:
        return f"{duration_s * 1e3:.0f} ms"
    if duration_s < 120:
        return f"{duration_s:.1f} s"
    return f"{int(duration_s // 60)} min {int(duration_s % 60)} s"


def format_size(size_bytes: float) -> str:
    """Returns a short text for a size, in binary units: "4 B", "1.5 MiB"."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if amount == int(amount) else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def _parse(
    text: str, factors: dict[str, float] | dict[str, int], *, what: str, example: str
) -> float:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    factor = factors.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"{text!r} is not a {what}. Write it like one of: {example}.")
    number = float(match[1]) * factor
    if not math.isfinite(number):
        raise ValueError(f"a {what} of {len(match[1])} digits is too much. Write fewer.")
    return number
