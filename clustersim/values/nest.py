"""Nests: lists, tuples, named tuples and dicts around leaves, and how to walk them.

A dict is walked in the order of its sorted keys, as in TensorFlow. Whatever is none of these is a
leaf, None included. A nest that contains itself is refused. Knows nothing of tensors.

Source: tensorflow/python/util/nest.py, 2.21.
"""

# ruff: noqa: ARG001, FBT001, FBT002  # TensorFlow's signatures: `expand_composites`, booleans

import copy
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

DEEPEST = 100
"""Deeper than any nest that was meant. One that contains itself has no end."""


def deeper(depth: int, structure: object) -> int:
    """Returns the depth of the parts of `structure`, which is `depth` deep itself.

    Raises:
        ValueError: That is deeper than any nest is meant to be.
    """
    if depth >= DEEPEST:
        raise ValueError(
            f"A structure is nested more than {DEEPEST} deep, or contains itself: {structure!r}. Give"
            " one that ends."
        )
    return depth + 1


def is_nested(structure: object) -> bool:
    """Returns whether `structure` is a list, tuple or mapping."""
    return isinstance(structure, list | tuple | Mapping)


def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """Returns the leaves, in order."""
    return list(_leaves(structure))


def pack_sequence_as(
    structure: object, flat_sequence: Sequence[object], expand_composites: bool = False
) -> Any:
    """Returns a nest like `structure` with other leaves.

    Raises:
        ValueError: There are more or fewer leaves than `structure` has.
        TypeError: The leaves are in no list.
    """
    if not hasattr(flat_sequence, "__len__") or isinstance(flat_sequence, Mapping):
        raise TypeError(
            f"The leaves of a nest come in a list, not as {flat_sequence!r}. Flatten them first."
        )
    expected = len(flatten(structure))
    if expected != len(flat_sequence):
        raise ValueError(
            f"{structure!r} has {expected} leaves, but {len(flat_sequence)} were given."
        )
    return _packed(structure, iter(flat_sequence))


def map_structure(func: Callable[..., object], *structure: object, **kwargs: Any) -> Any:
    """Returns a nest, as the first one, of `func` of the leaves of nests of equal structure.

    Args:
        func: Takes one leaf of each.
        structure: The nests.
        kwargs: `check_types`, by default True: whether the nests' types and keys must agree;
            `expand_composites`, without effect.

    Raises:
        TypeError: `func` is not callable, or the nests' types differ.
        ValueError: No nest was given, or the nests' lengths or keys differ.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, not {func!r}.")
    if not structure:
        raise ValueError("map_structure needs at least one structure.")
    if unknown := sorted(set(kwargs) - {"check_types", "expand_composites"}):
        raise ValueError(
            f"Only `check_types` and `expand_composites` are keyword arguments, not {unknown}."
        )
    first, *others = structure
    for other in others:
        assert_same_structure(first, other, kwargs.get("check_types", True))
    leaves = zip(*(flatten(one) for one in structure), strict=True)
    return _packed(first, iter([func(*each) for each in leaves]))


def map_structure_up_to(shallow: object, func: Callable[[Any], object], deep: object) -> Any:
    """Returns a nest like `shallow` of `func` of what `deep` has in the place of its leaves.

    Raises:
        ValueError: `deep` does not begin as `shallow` does.
    """
    if not is_nested(shallow):
        return func(deep)
    if not is_nested(deep):
        raise ValueError(f"{deep!r} does not nest as {shallow!r} does.")
    ours, theirs = list(_children(shallow)), list(_children(deep))
    if len(ours) != len(theirs):
        raise ValueError(f"{deep!r} has {len(theirs)} parts, where {shallow!r} has {len(ours)}.")
    parts = zip(ours, theirs, strict=True)
    return like(shallow, [map_structure_up_to(one, func, other) for one, other in parts])


def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises ValueError or TypeError unless both nests have the same types, lengths and keys.

    Without `check_types` only their lengths must be the same.
    """
    _check_same(nest1, nest2, 0, check_types=check_types)


def _check_same(nest1: object, nest2: object, depth: int, *, check_types: bool) -> None:
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(f"The two structures do not nest alike: {nest1!r} and {nest2!r}.")
    if not is_nested(nest1):
        return
    if not check_types:
        pass
    elif isinstance(nest1, Mapping) and isinstance(nest2, Mapping):
        if set(nest1) != set(nest2):
            raise ValueError(f"The keys differ: {sorted(nest1)} and {sorted(nest2)}.")
    elif type(nest1) is not type(nest2):
        raise TypeError(f"The types differ: {type(nest1).__name__} and {type(nest2).__name__}.")
    ours, theirs = list(_children(nest1)), list(_children(nest2))
    if len(ours) != len(theirs):
        raise ValueError(f"The lengths differ: {len(ours)} and {len(theirs)}.")
    depth = deeper(depth, nest1)
    for one, other in zip(ours, theirs, strict=True):
        _check_same(one, other, depth, check_types=check_types)


def like(structure: Any, children: Sequence[object]) -> Any:
    """Returns a nest of the same type with other direct children, in walking order."""
    if isinstance(structure, Mapping):
        by_key = dict(zip(sorted(structure), children, strict=True))
        if not isinstance(structure, MutableMapping):
            return type(structure)({key: by_key[key] for key in structure})  # type: ignore[call-arg]
        made = copy.copy(structure)  # keeps what else a kind of dict holds, as a default factory
        for key, child in by_key.items():
            made[key] = child
        return made
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        make: Callable[..., object] = type(structure)
        return make(*children)
    return list(children) if isinstance(structure, list) else tuple(children)


def _children(structure: object) -> Iterator[object]:
    if isinstance(structure, Mapping):
        return (structure[key] for key in sorted(structure))
    assert isinstance(structure, list | tuple)  # noqa: S101  # callers asked `is_nested`
    return iter(structure)


def _leaves(structure: object, depth: int = 0) -> Iterator[object]:
    if not is_nested(structure):
        yield structure
        return
    depth = deeper(depth, structure)
    for child in _children(structure):
        yield from _leaves(child, depth)


def _packed(structure: object, leaves: Iterator[object]) -> object:
    if not is_nested(structure):
        return next(leaves)
    return like(structure, [_packed(child, leaves) for child in _children(structure)])
