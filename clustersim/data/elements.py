"""Elements of a dataset as rows: flat tuples of host arrays, and the spec that gives them shape.

Inside a pipeline an element is a row, so that no transformation pays for tensors; at its borders
(user functions, iteration) a row is packed into a nest of tensors on the host. Tuples and dicts are
nests here, lists are values, as in tf.data. A leaf can also be a dataset (`window`).

What user functions make of elements stands in `functions`, what generators yield in `generators`.

Source: tensorflow/python/data/util/structure.py and nest.py, 2.21.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from clustersim.devices.array import HostArray
from clustersim.devices.current import MACHINE, enter_device, leave_device
from clustersim.values import nest
from clustersim.values.dtypes import DType, to_host_array
from clustersim.values.shapes import TensorShape, TensorSpec
from clustersim.values.tensor import Tensor, convert

Row: TypeAlias = tuple[Any, ...]
"""The leaves of one element: host arrays (or datasets), in the order in which nests are walked."""


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """The spec of a leaf that is itself a dataset."""

    element_spec: Any


_PLAIN = (np.ndarray, np.generic, int, float, str, bytes)
"""What is no tensor and holds none."""


def normalized(value: Any) -> Any:
    """Returns a nest in which lists became host arrays and leaves are host arrays or datasets."""
    if isinstance(value, Mapping | tuple):
        children = (
            [value[key] for key in sorted(value)] if isinstance(value, Mapping) else list(value)
        )
        return nest.like(value, [normalized(child) for child in children])
    if hasattr(value, "element_spec"):
        return value
    return hosted(value)


def hosted(value: Any, dtype: DType | None = None) -> HostArray:
    """Returns the host array of what `convert` takes; not by way of the current device.

    Raises:
        TypeError: The value cannot be taken as `dtype`.
        ValueError: It is a tensor of another dtype, ragged, or nothing a tensor can hold.
    """
    if isinstance(value, _PLAIN):
        return to_host_array(value, dtype)
    token = enter_device(MACHINE.default_spec())
    try:
        return convert(value, dtype).host()
    finally:
        leave_device(token)


def row_of(value: Any) -> Row:
    """Returns the row of an element that a user's function made."""
    return tuple(nest.flatten(normalized(value)))


def spec_of(value: Any) -> Any:
    """Returns the spec of a normalized nest."""
    return nest.map_structure(_leaf_spec, value)


def _leaf_spec(leaf: Any) -> TensorSpec | DatasetSpec:
    if isinstance(leaf, np.ndarray):
        return TensorSpec(leaf.shape, leaf.dtype)
    return DatasetSpec(leaf.element_spec)


def element(spec: Any, row: Row) -> Any:
    """Returns the nest of tensors on the host that a program sees."""
    if len(row) == 1 and not nest.is_nested(spec):  # the common case, without walking
        return _tensor(row[0])
    return nest.pack_sequence_as(spec, [_tensor(leaf) for leaf in row])


def _tensor(leaf: Any) -> Any:
    return Tensor(leaf, MACHINE.host()) if isinstance(leaf, np.ndarray) else leaf


def rows_of_spec(spec: Any) -> int | None:
    """Returns how many rows each leaf of an element has, None if that is not known.

    Raises:
        ValueError: A leaf has no rows, or they have different numbers of them.
    """
    shapes = [getattr(leaf, "shape", TensorShape(())) for leaf in nest.flatten(spec)]
    if any(shape.rank == 0 for shape in shapes):
        raise ValueError(f"Cannot unbatch an input with scalar components: {spec!r}.")
    sizes = {shape[0] for shape in shapes} - {None}
    if len(sizes) > 1:
        raise ValueError(
            f"The parts of an element have different numbers of rows: {spec!r}. Give them the same."
        )
    return sizes.pop() if sizes else None


def map_shapes(spec: Any, change: Callable[[TensorShape], TensorShape]) -> Any:
    """Returns a spec with another shape on each tensor leaf."""
    return nest.map_structure(
        lambda leaf: (
            TensorSpec(change(leaf.shape), leaf.dtype) if isinstance(leaf, TensorSpec) else leaf
        ),
        spec,
    )


def joined_spec(one: Any, other: Any) -> Any:
    """Returns the spec of elements that have either spec.

    Raises:
        TypeError: They differ in structure or in a dtype.
    """
    try:
        nest.assert_same_structure(one, other)
    except (TypeError, ValueError) as error:
        raise _incompatible(one, other) from error
    for mine, its in zip(nest.flatten(one), nest.flatten(other), strict=True):
        if getattr(mine, "dtype", None) is not getattr(its, "dtype", None):
            raise _incompatible(one, other)
    return nest.map_structure(common_spec, one, other)


def _incompatible(one: Any, other: Any) -> TypeError:
    return TypeError(
        f"Incompatible dataset elements: {one!r} and {other!r}. Give both one structure and type."
    )


def common_spec(one: Any, other: Any) -> Any:
    """Returns the spec of a leaf that has either spec; their dtype is one."""
    if not isinstance(one, TensorSpec):
        return one
    return TensorSpec(one.shape.most_specific_compatible_shape(other.shape), one.dtype)


def column(array: HostArray, index: int) -> HostArray:
    """Returns one row of an array; of a vector an array without dimensions, not a scalar."""
    row: HostArray = array[index, ...]
    return row
