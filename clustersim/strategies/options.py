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
        if not isinstance(self.implementation, CommunicationImplementation):
            raise ValueError(  # noqa: TRY004  # TensorFlow's error
                f"implementation is {self.implementation!r}. Give one of"
                f" {list(CommunicationImplementation.__members__)}."
            )

    def __str__(self) -> str:
        return (
            f"Options(bytes_per_pack={self.bytes_per_pack},timeout_seconds={self.timeout_seconds},"
            f" implementation={self.implementation})"
        )


class RunOptions(NamedTuple):
    """Options of `Strategy.run`; accepted and without effect, as for CPU replicas in TensorFlow."""

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: object = None


class CrossDeviceOps:
    """How values of several devices are combined. All kinds give the same numbers here."""


class ReductionToOneDevice(CrossDeviceOps):
    """Copies all values to one device, combines them there and copies the result back.

    Args:
        reduce_to_device: That device. Default: the first destination.
        accumulation_fn: Accepted, and without effect: values are summed.
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: object = None) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn


class AllReduceCrossDeviceOps(CrossDeviceOps):
    """Combines values on all devices at once.

    Args:
        num_packs: How many packs the values travel in; never changes a result.

    Raises:
        ValueError: `num_packs` is negative.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs < 0:
            raise ValueError(f"num_packs is {num_packs!r}. Give 0 (no packing) or more.")
        self.num_packs = num_packs


class NcclAllReduce(AllReduceCrossDeviceOps):
    """What TensorFlow does with NVIDIA's library."""


class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """What TensorFlow does by copying within groups of GPUs."""
