"""Elements of a dataset as rows: flat tuples of host arrays, and the spec that gives them shape.

Inside a pipeline an element is a row, so that no transformation pays for tensors; at its borders
(user functions, iteration) a row is packed into a nest of tensors on the host. Tuples and dicts are
nests here, lists are values, as in tf.data. A leaf can also be a dataset (`window`).

Source: tensorflow/python/data/util/structure.py and nest.py, 2.21.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from clustersim import errors
from clustersim.devices.array import HostArray
from clustersim.devices.simulated import MACHINE, enter_device, leave_device
from clustersim.values import nest
from clustersim.values.dtypes import DType, string, to_host_array
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

_SIZES = (2, 3, 4, 1, 6, 8)
"""What is tried for a size that is not known, until two have worked."""

_FILLERS = (1, 2)
"""What made-up elements are filled with; the second if the first makes the function fail."""


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


def arguments(value: Any) -> tuple[Any, ...]:
    """Returns how an element is passed to a function: a tuple as several arguments."""
    return value if isinstance(value, tuple) else (value,)


def map_shapes(spec: Any, change: Callable[[TensorShape], TensorShape]) -> Any:
    """Returns a spec with another shape on each tensor leaf."""
    return nest.map_structure(
        lambda leaf: (
            TensorSpec(change(leaf.shape), leaf.dtype) if isinstance(leaf, TensorSpec) else leaf
        ),
        spec,
    )


def probed(func: Callable[..., Any], spec: Any, dataset_of: Callable[[Any, Row], Any]) -> Any:
    """Returns what `func` returns for made-up elements of `spec`, normalized, and its spec.

    TensorFlow traces the function once when the dataset is built; we call it on ones. Where a size
    is not known it is called with two sizes, and what then differs is not known either.
    """
    is_known = all(
        isinstance(leaf, TensorSpec) and leaf.shape.is_fully_defined()
        for leaf in nest.flatten(spec)
    )
    specs: list[Any] = []
    failures: list[errors.InvalidArgumentError] = []
    for size in (2,) if is_known else _SIZES:
        for filler in _FILLERS:
            try:
                row = _probe(spec, size, filler, dataset_of)
                specs.append(spec_of(normalized(called(func, spec, row))))
                break
            except errors.InvalidArgumentError as error:  # perhaps of this value or size only
                failures.append(error)
        if len(specs) == 2:
            break
    if not specs:
        # While it traces, TensorFlow calls a clash of types TypeError, and one of shapes ValueError.
        kind = TypeError if "of type" in str(failures[0]) else ValueError
        raise kind(str(failures[0])) from failures[0]
    first, *others = specs
    return first if not others else nest.map_structure(_common_spec, first, others[0])


def result_of(value: Any) -> Any:
    """Returns what a user's function returned as a nest: a list counts as a tuple."""
    return tuple(value) if isinstance(value, list) else value


def called(func: Callable[..., Any], spec: Any, row: Row) -> Any:
    """Returns what a user's function makes of an element, on the host, where pipelines run."""
    token = enter_device(MACHINE.default_spec())
    try:
        return result_of(func(*arguments(element(spec, row))))
    finally:
        leave_device(token)


def _probe(spec: Any, size: int, filler: int, dataset_of: Callable[[Any, Row], Any]) -> Row:
    return tuple(_probe_leaf(leaf, size, filler, dataset_of) for leaf in nest.flatten(spec))


def _probe_leaf(leaf: Any, size: int, filler: int, dataset_of: Callable[[Any, Row], Any]) -> Any:
    if isinstance(leaf, DatasetSpec):
        return dataset_of(leaf.element_spec, _probe(leaf.element_spec, size, filler, dataset_of))
    dims = [size if dim is None else dim for dim in leaf.shape] if leaf.shape.dims else []
    if leaf.dtype is string:
        return np.full(dims, b"", dtype=object)
    return np.full(dims, filler, leaf.dtype.as_numpy_dtype)


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
    return nest.map_structure(_common_spec, one, other)


def _incompatible(one: Any, other: Any) -> TypeError:
    return TypeError(
        f"Incompatible dataset elements: {one!r} and {other!r}. Give both one structure and type."
    )


def _common_spec(one: Any, other: Any) -> Any:
    if not isinstance(one, TensorSpec):
        return one
    if one.shape.rank != other.shape.rank:
        return TensorSpec(None, one.dtype)
    dims = [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]
    return TensorSpec(dims, one.dtype)


def column(array: HostArray, index: int) -> HostArray:
    """Returns one row of an array; of a vector an array without dimensions, not a scalar."""
    row: HostArray = array[index, ...]
    return row


def checking(spec: Any) -> Callable[[Any], Row]:
    """Returns what makes a row of each value that a generator yielded.

    That raises InvalidArgumentError for a value that does not fit the signature.
    """
    leaves = nest.flatten(spec)
    is_one = not nest.is_nested(spec)

    def checked(value: Any) -> Row:
        values = [value] if is_one else nest.flatten(value)
        if len(values) != len(leaves):
            raise _misfit(value, spec)
        return tuple(_checked_leaf(one, leaf) for one, leaf in zip(values, leaves, strict=True))

    return checked


def _checked_leaf(value: Any, spec: TensorSpec) -> HostArray:
    try:
        array = hosted(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise _misfit(value, spec) from error
    if not spec.shape.is_compatible_with(array.shape):
        raise _misfit(value, spec)
    return array


def _misfit(value: Any, spec: Any) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(f"The generator yielded {value!r}, expected {spec!r}.")
