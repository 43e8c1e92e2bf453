"""`tf.function`: a marked function that runs eagerly, each time, as written.

A mark is enough for those who ask for "a tf.function" (TPUStrategy.run, ClusterCoordinator.schedule).
What goes in and comes out is as in TensorFlow: arrays become tensors on the way in, and whatever a
tensor can hold, variables included, on the way out.

Source: tensorflow/python/eager/polymorphic_function/polymorphic_function.py, 2.21.
"""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from clustersim.values import nest
from clustersim.values.per_replica import DistributedValues
from clustersim.values.tensor import convert

_is_inside: ContextVar[bool] = ContextVar("clustersim_in_function", default=False)
"""Whether a `tf.function` runs, all its callees included: it only decides what is allowed."""


def is_in_function() -> bool:
    """Returns whether the running code was called by a `tf.function`."""
    return _is_inside.get()


P = ParamSpec("P")
R = TypeVar("R")


class Function(Generic[P, R]):
    """A function that was decorated with `tf.function`."""

    def __init__(self, python_function: Callable[P, R]) -> None:
        self._python_function = python_function
        functools.update_wrapper(self, python_function)

    @property
    def python_function(self) -> Callable[P, R]:
        """The function that was decorated."""
        return self._python_function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function; what it returns, in whatever nest, comes back as tensors.

        Raises:
            TypeError: It returns something that no tensor can hold.
        """
        given = {name: _taken(value) for name, value in kwargs.items()}
        token = _is_inside.set(True)
        try:
            result = self._python_function(*map(_taken, args), **given)
            returned: R = nest.map_structure(_returned, result)
            return returned
        finally:
            _is_inside.reset(token)

    def get_concrete_function(self, *args: object, **kwargs: object) -> "Function[P, R]":
        """Returns this function: there is nothing to trace."""
        del args, kwargs
        return self

    def __get__(self, instance: object, owner: type | None = None) -> "Function[..., R]":
        if instance is None:
            return self
        return Function(functools.partial(self._python_function, instance))  # type: ignore[arg-type]  # one argument fewer


def _taken(value: Any) -> Any:
    """Returns an argument as the function sees it: an array as a tensor, else as it is."""
    return convert(value) if isinstance(value, np.ndarray | np.generic) else value


def _returned(value: Any) -> Any:
    """Returns one leaf of a result as a tensor; None, datasets and per-replica values as they are."""
    if value is None or isinstance(value, DistributedValues) or hasattr(value, "element_spec"):
        return value
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "To be compatible with tf.function, Python functions must return zero or more Tensors or"
            f" what becomes one; this one returned {value!r}: {error}"
        ) from error


@overload
def function(func: Callable[P, R], **options: Any) -> Function[P, R]: ...
@overload
def function(func: None = None, **options: Any) -> Callable[[Callable[P, R]], Function[P, R]]: ...
def function(func: Any = None, **options: Any) -> Any:
    """Decorates a function, with or without options; they have no effect.

    Raises:
        TypeError: An option that TensorFlow does not have, or what is decorated is no function.
    """
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise TypeError(f"tf.function has no option {unknown}. It has {sorted(_OPTIONS)}.")
    if func is None:
        return Function
    if not callable(func):
        raise TypeError(f"{func!r} is no function: tf.function decorates one.")
    return Function(func)


_OPTIONS = frozenset(
    {
        "input_signature",
        "autograph",
        "jit_compile",
        "reduce_retracing",
        "experimental_implements",
        "experimental_autograph_options",
        "experimental_attributes",
        "experimental_relax_shapes",
        "experimental_compile",
        "experimental_follow_type_hints",
    }
)
