"""Pure: what an algorithm prescribes: rounds of aligned (source, target, chunk), and a checker.

    schedule   the rounds of one collective among P ranks, in order
    round      steps that may run together; each rank sends and receives at most once in it
    step       one chunk from one rank to one other
    chunk      a slice of the buffer, numbered

A schedule is data, so the same text can be executed, priced, checked and drawn. `contributions`
follows who has whose data; `check_all_reduce` proves that every contribution arrives exactly once.
Knows nothing of bytes, time or transports.
"""

import enum
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ranks = npt.NDArray[np.int64]


class ReduceOp(enum.Enum):
    """How values are reduced; the names and values are TensorFlow's."""

    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def from_variable_aggregation(cls, aggregation: enum.Enum) -> "ReduceOp":
        """Returns the op for a VariableAggregation of SUM or MEAN, by name.

        Raises:
            ValueError: The aggregation is another one.
        """
        if aggregation.name not in cls.__members__:
            raise ValueError(f"{aggregation!r} is not a reduction. Use SUM or MEAN.")
        return cls[aggregation.name]


class Move(enum.Enum):
    """What a receiver does with a chunk."""

    REDUCE = "reduce"
    COPY = "copy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Steps that may run together: step i moves `chunk[i]` from `source[i]` to `target[i]`.

    The three arrays are `[steps] int64` and belong to the round.
    """

    source: Ranks
    target: Ranks
    chunk: Ranks
    move: Move


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStep:
    """One rank's part of a round; None where it does not send or receive."""

    move: Move
    send_to: int | None = None
    send_chunk: int = 0
    receive_from: int | None = None
    receive_chunk: int = 0


def steps_of(rounds: Iterable[Round], rank: int) -> list[RankStep]:
    """Returns what `rank` does in each round, in order."""
    return [_step_of(one, rank) for one in rounds]


def _step_of(one: Round, rank: int) -> RankStep:
    sends = np.flatnonzero(one.source == rank)
    receives = np.flatnonzero(one.target == rank)
    if len(sends) > 1 or len(receives) > 1:
        raise ValueError(f"Rank {rank} sends or receives more than once in one round.")
    return RankStep(
        move=one.move,
        send_to=int(one.target[sends[0]]) if len(sends) else None,
        send_chunk=int(one.chunk[sends[0]]) if len(sends) else 0,
        receive_from=int(one.source[receives[0]]) if len(receives) else None,
        receive_chunk=int(one.chunk[receives[0]]) if len(receives) else 0,
    )


def chunk_bounds(num_elements: int, num_chunks: int) -> list[tuple[int, int]]:
    """Returns the slices of a buffer: as even as can be, the longer ones spread."""
    edges = [i * num_elements // num_chunks for i in range(num_chunks + 1)]
    return list(itertools.pairwise(edges))


Contributions = list[list[Counter[int]]]
"""`[rank][chunk]`: whose data is in it, and how often."""


def contributions(
    rounds: Iterable[Round], start: Sequence[Sequence[Counter[int]]]
) -> Contributions:
    """Returns where each rank's data is after all rounds, beginning with `start`."""
    state = [[Counter(chunk) for chunk in rank] for rank in start]
    for one in rounds:
        moving = [
            (int(t), int(c), Counter(state[int(s)][int(c)]))
            for s, t, c in zip(one.source, one.target, one.chunk, strict=True)
        ]
        for target, chunk, data in moving:
            if one.move is Move.REDUCE:
                state[target][chunk] += data
            else:
                state[target][chunk] = data
    return state


def check_all_reduce(rounds: Iterable[Round], size: int, num_chunks: int) -> None:
    """Proves that every rank ends with every rank's contribution exactly once in every chunk.

    Raises:
        ValueError: It does not; the message names the first rank and chunk.
    """
    start = [[Counter({rank: 1}) for _ in range(num_chunks)] for rank in range(size)]
    whole = Counter(dict.fromkeys(range(size), 1))
    for rank, chunks in enumerate(contributions(rounds, start)):
        for chunk, have in enumerate(chunks):
            if have != whole:
                raise ValueError(f"Rank {rank} ends with {dict(have)} in chunk {chunk}.")
