"""Values that differ between replicas: `PerReplica`, `Mirrored`, and how nests of them are handled.

`regroup` turns one nest per replica into one nest of values; `select_replica` is its inverse;
`local_results` lists what each replica of this process has.

Source: tensorflow/python/distribute/values.py and distribute_utils.py, 2.21.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clustersim.values import nest, scope
from clustersim.values.tensor import Tensor, TensorLike, convert


class DistributedValues(TensorLike):
    """One value for each replica of this process. No arithmetic: use it inside `Strategy.run`."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of the local replicas."""
        return self._values

    def __tensor__(self) -> Tensor:
        mode = scope.current()
        if mode is None or mode.replica is None:
            raise ValueError(
                f"A {type(self).__name__} has one value for each replica and cannot be used as one"
                " tensor here. Use it inside strategy.run, or reduce it with strategy.reduce."
            )
        return convert(self._values[mode.replica.local_index])

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def _text(self, shown: Callable[[object], str]) -> str:
        lines = ",\n".join(f"  {i}: {shown(value)}" for i, value in enumerate(self.values))
        return f"{type(self).__name__}:{{\n{lines}\n}}"


class PerReplica(DistributedValues):
    """Values that may differ."""


class Mirrored(DistributedValues):
    """Values that are meant to be equal."""


class Container(DistributedValues):
    """A variable of many components: handed to replicas whole, and recognised by `regroup`."""


def select_replica(index: int, structure: object, depth: int = 0) -> Any:
    """Returns a nest with each distributed value replaced by that of one local replica.

    Raises:
        ValueError: The nest contains itself.
    """
    if isinstance(structure, DistributedValues):
        return structure if isinstance(structure, Container) else structure.values[index]
    if isinstance(structure, dict):
        depth = nest.deeper(depth, structure)
        picked = {key: select_replica(index, value, depth) for key, value in structure.items()}
        return nest.like(structure, [picked[key] for key in sorted(picked)])
    if isinstance(structure, list | tuple):
        depth = nest.deeper(depth, structure)
        return nest.like(structure, [select_replica(index, value, depth) for value in structure])
    return structure


def regroup(
    values: Sequence[Any],
    wrap: type[DistributedValues] = PerReplica,
    *,
    is_always_wrapped: bool = False,
    depth: int = 0,
) -> Any:
    """Returns one nest of the nests that the replicas returned.

    A leaf that is the same object on all replicas stays bare unless `is_always_wrapped`; the
    components of one variable become that variable; all else is wrapped in `wrap`.

    Raises:
        AssertionError: The nests' types, lengths or keys differ (TensorFlow's error).
        ValueError: A nest contains itself.
    """
    first, *others = values
    if isinstance(first, (list, tuple)):
        _check(all(type(o) is type(first) and len(o) == len(first) for o in others), values)
        parts = [list(part) for part in zip(*values, strict=True)]
    elif isinstance(first, Mapping):
        _check(all(isinstance(o, Mapping) and set(o) == set(first) for o in others), values)
        parts = [[value[key] for value in values] for key in sorted(first)]
    else:
        return _regroup_leaf(values, wrap, is_always_wrapped=is_always_wrapped)
    depth = nest.deeper(depth, first)
    grouped = [
        regroup(part, wrap, is_always_wrapped=is_always_wrapped, depth=depth) for part in parts
    ]
    return nest.like(first, grouped)


def _regroup_leaf(
    values: Sequence[Any], wrap: type[DistributedValues], *, is_always_wrapped: bool
) -> Any:
    first = values[0]
    is_same = all(value is first for value in values)
    if is_same and isinstance(first, Container):
        return first
    container = getattr(first, "container", None)
    if container is not None:
        _check(all(getattr(v, "container", None) is container for v in values), values)
        return container
    return first if is_same and not is_always_wrapped else wrap(values)


def _check(holds: bool, values: Sequence[object]) -> None:  # noqa: FBT001  # a private predicate
    if not holds:
        raise AssertionError(
            f"The replicas returned different structures: {list(values)!r}. Return the same types,"
            " lengths and keys on each."
        )


def local_results(value: object, num_replicas: int) -> tuple[Any, ...]:
    """Returns what each local replica has: a tuple of values, or of nests for a nest."""
    if isinstance(value, DistributedValues):
        return value.values
    if nest.is_nested(value):
        return tuple(_component(index, value) for index in range(num_replicas))
    return (value,)


def _component(index: int, structure: object) -> Any:
    """Returns one replica's part of a nest; of a variable its component."""
    return nest.map_structure(
        lambda leaf: leaf.values[index] if isinstance(leaf, DistributedValues) else leaf, structure
    )
