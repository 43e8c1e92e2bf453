"""Pure: which lines of the program made the calls that were combined with each other.

Calls are matched by their order alone. Tasks that branch by role may well make the same call at
different lines; but tasks of which one left out a call combine what does not belong together, and if
shapes and dtypes agree nothing fails. Two kinds of evidence are told apart:

    crossed      one line meets another, and both tasks have been at one of the two: a call was left
                 out, or made twice, on one of them
    persistent   the same two different lines met three times: branches that each make a call of their
                 own, which is right only if one sum is meant

The first is certain enough to be said at once. Both are said once for a pair of lines, and come back in
the text of an error that ends the group later, instead of a guess at uneven input.
"""

from collections import Counter
from dataclasses import dataclass

PERSISTENT = 3
"""How often two different lines must meet before it is worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One call that two tasks made at different lines."""

    call: int
    """The number of the call in its group, from 1."""
    task: str
    site: str
    """Where `task` made it, as `train.py:12`."""
    peer: str
    peer_site: str

    def __str__(self) -> str:
        return f"call {self.call}: {self.task} at {self.site}, {self.peer} at {self.peer_site}"


class Pairings:
    """Remembers where this task and the peers that it hears made their calls."""

    def __init__(self) -> None:
        self._own: set[str] = set()
        self._theirs: set[tuple[str, str]] = set()
        self._met: Counter[tuple[str, str, str]] = Counter()
        self._first: dict[tuple[str, str, str], Meeting] = {}
        self._said: list[Meeting] = []

    def note(self, meeting: Meeting) -> Meeting | None:
        """Takes note of a call that two tasks made; returns what is to be said of it, if anything.

        The two lines may be the same. What is returned is the first time that these two met.
        """
        self._own.add(meeting.site)
        self._theirs.add((meeting.peer, meeting.peer_site))
        if meeting.site == meeting.peer_site:
            return None
        pair = (meeting.site, meeting.peer, meeting.peer_site)
        self._met[pair] += 1
        first = self._first.setdefault(pair, meeting)
        is_crossed = meeting.peer_site in self._own or (meeting.peer, meeting.site) in self._theirs
        if first in self._said or not (is_crossed or self._met[pair] >= PERSISTENT):
            return None
        self._said.append(first)
        return first

    def suspects(self) -> Meeting | None:
        """Returns the first call that two tasks made at different lines, None if there was none."""
        return min(self._first.values(), key=lambda one: one.call, default=None)
