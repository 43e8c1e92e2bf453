"""What a user's functions make of elements: how they are called, and what they are found to return.

TensorFlow traces such a function once, symbolically, when the dataset is built. Here it is called for
each element, and before that on made-up ones, to learn dtypes and shapes; so its errors come when the
dataset is built, as in TensorFlow, and what it does besides returning is done then, too.

Source: tensorflow/python/data/ops/structured_function.py, 2.21.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from clustersim import errors
from clustersim.data.elements import (
    DatasetSpec,
    Row,
    common_spec,
    element,
    normalized,
    spec_of,
)
from clustersim.devices.current import MACHINE, enter_device, leave_device
from clustersim.values import nest
from clustersim.values.dtypes import bool_, string
from clustersim.values.shapes import TensorSpec

_SIZES = (2, 3, 4, 1, 6, 8)
"""What is tried for a size that is not known, until two have worked."""

_FILLERS = (1, 2)
"""What made-up elements are filled with; the second if the first makes the function fail."""


def arguments(value: Any) -> tuple[Any, ...]:
    """Returns how an element is passed to a function: a tuple as several, a named tuple as one."""
    return value if type(value) is tuple else (value,)


def probed(func: Callable[..., Any], spec: Any, dataset_of: Callable[[Any, Row], Any]) -> Any:
    """Returns what `func` returns for made-up elements of `spec`, normalized, and its spec.

    TensorFlow traces the function once when the dataset is built; we call it on ones. Where a size
    is not known it is called with two sizes, and what then differs is not known either.

    Raises:
        ValueError: It is no function, or refuses the shapes.
        TypeError: It refuses the types, or the number of arguments.
    """
    if not callable(func):
        raise ValueError(  # noqa: TRY004  # TensorFlow's error
            f"A dataset needs a function of its elements, not {func!r}."
        )
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
    return first if not others else nest.map_structure(common_spec, first, others[0])


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


def check_predicate(spec: Any) -> None:
    """Checks what a predicate returns.

    Raises:
        ValueError: It is not one truth value.
    """
    if not isinstance(spec, TensorSpec) or spec.dtype is not bool_ or spec.shape.rank != 0:
        raise ValueError(
            f"The predicate must return one truth value, a bool scalar, but it returns {spec!r}."
        )


def probed_dataset(
    func: Callable[..., Any], spec: Any, dataset_of: Callable[[Any, Row], Any]
) -> tuple[Any, Any]:
    """Returns a dataset like those that a function returns, and their element spec.

    Raises:
        TypeError: It returns a tuple, list or dict.
        AttributeError: It returns a tensor.
    """
    made: list[Any] = []

    def noted(*values: Any) -> Any:
        made[:] = [func(*values)]
        return made[0]

    found = probed(noted if callable(func) else func, spec, dataset_of)
    if not isinstance(found, DatasetSpec):
        kind = TypeError if nest.is_nested(found) else AttributeError  # as TensorFlow
        raise kind(f"The function must return a Dataset, but it returned {found!r}.")
    return made[0], found.element_spec


def check_state(initial: Any, new: Any) -> None:
    """Checks the state that a function of `reduce` returns against the initial one.

    Raises:
        InvalidArgumentError: It has more or fewer leaves.
        TypeError: A leaf has another dtype.
    """
    before, after = nest.flatten(initial), nest.flatten(new)
    if len(before) != len(after):
        raise errors.InvalidArgumentError(
            f"The initial state is {initial!r}, but the function returns {new!r}. Return as many"
            " tensors as there are in the state."
        )
    if [leaf.dtype for leaf in before] != [leaf.dtype for leaf in after]:
        raise TypeError(
            f"The initial state is {initial!r}, but the function returns {new!r}. Cast one of them,"
            " so that the dtypes are the same."
        )
