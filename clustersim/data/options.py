"""`tf.data.Options`: how a dataset may be distributed, and hints that have no effect here.

Source: tensorflow/python/data/ops/options.py, 2.21.
"""

import copy
import enum
from typing import Any


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided between the workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class _Typed:
    """Attributes of known names and types only."""

    _types: dict[str, tuple[type, ...]] = {}  # noqa: RUF012  # a table of the class

    def __setattr__(self, name: str, value: Any) -> None:
        kinds = self._types.get(name)
        if kinds is None:
            raise AttributeError(
                f"{type(self).__name__} has no option {name!r}. It has {sorted(self._types)}."
            )
        if not isinstance(value, kinds):
            raise TypeError(
                f"Option {name} must be {' or '.join(k.__name__ for k in kinds)}, not {value!r}."
            )
        object.__setattr__(self, name, value)


class DistributeOptions(_Typed):
    """How a dataset is divided."""

    _types = {"auto_shard_policy": (AutoShardPolicy,), "num_devices": (int, type(None))}  # noqa: RUF012

    def __init__(self) -> None:
        self.auto_shard_policy = AutoShardPolicy.AUTO
        self.num_devices: int | None = None


class Options(_Typed):
    """Options of a dataset; later transformations inherit them."""

    _types = {  # noqa: RUF012
        "experimental_distribute": (DistributeOptions,),
        "deterministic": (bool, type(None)),
        "experimental_slack": (bool, type(None)),
        "experimental_warm_start": (bool, type(None)),
    }

    def __init__(self) -> None:
        self.experimental_distribute = DistributeOptions()
        self.deterministic: bool | None = None
        self.experimental_slack: bool | None = None
        self.experimental_warm_start: bool | None = None

    def merge(self, options: "Options") -> "Options":
        """Returns the options with what `options` sets differently from the default laid over."""
        merged = copy.deepcopy(self)
        policy = options.experimental_distribute.auto_shard_policy
        if policy is not AutoShardPolicy.AUTO:
            merged.experimental_distribute.auto_shard_policy = policy
        for name in ("deterministic", "experimental_slack", "experimental_warm_start"):
            if getattr(options, name) is not None:
                setattr(merged, name, getattr(options, name))
        return merged
