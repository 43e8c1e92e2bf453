"""How a strategy is asked to run and to communicate: TensorFlow's option values.

They change no result, except that `timeout_seconds` ends a collective that waits for too long.

Source: tensorflow/python/distribute/collective_util.py and distribute_lib.py, 2.21.
"""

import enum
from dataclasses import dataclass
from typing import NamedTuple


class CommunicationImplementation(enum.Enum):
    """Which library TensorFlow would use; clustersim has one, so all mean the same."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@dataclass(frozen=True, slots=True)
class CommunicationOptions:
    """Options of one collective, or of all those of a strategy.

    Raises:
        ValueError: A negative `bytes_per_pack`, or an implementation that does not exist.
    """

    bytes_per_pack: int = 0
    """Upper bound for what is sent in one piece; 0 leaves it to us. Never changes a result."""

    timeout_seconds: float | None = None
    """How long one collective may last. None: for ever, as in TensorFlow."""

    implementation: CommunicationImplementation | str = CommunicationImplementation.AUTO
    """A member, or its name in any case."""

    def __post_init__(self) -> None:
        if self.bytes_per_pack < 0:
            raise ValueError(
                f"bytes_per_pack is {self.bytes_per_pack!r}. Give 0 (we choose) or more bytes."
            )
        if isinstance(self.implementation, str):
            name = self.implementation.upper()
            if name not in CommunicationImplementation.__members__:
                raise ValueError(
                    f"implementation is {self.implementation!r}. Give one of"
                    f" {list(CommunicationImplementation.__members__)}."
                )
            # A frozen value is completed once, while it is made.
            object.__setattr__(self, "implementation", CommunicationImplementation[name])


class RunOptions(NamedTuple):
    """Options of `Strategy.run`; accepted and without effect, as for CPU replicas in TensorFlow."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: object = None
