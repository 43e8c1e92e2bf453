"""`Variable`: a tensor that can be replaced, on one device.

`Variable(...)` inside a strategy's scope returns what that strategy makes of the request (a
`VariableRecipe`): see `distributed_variable` for those of many components.

Source: tensorflow/python/ops/resource_variable_ops.py, 2.21; cases `one_15`, `one_19`.
"""

# ruff: noqa: ARG002, FBT001, FBT002  # TensorFlow's signatures

import inspect
import operator
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Self, TypeVar

import numpy.typing as npt

from clustersim import errors
from clustersim.values import scope
from clustersim.values.dtypes import DType
from clustersim.values.recipe import VariableAggregation, VariableRecipe, VariableSynchronization
from clustersim.values.shapes import ShapeLike, TensorShape
from clustersim.values.tensor import (
    Function,
    Operators,
    Tensor,
    apply,
    convert,
    value_text,
)

_T = TypeVar("_T")


class _MadeByStrategy(type):
    """Lets the current strategy make what `Variable(...)` asks for."""

    def __call__(cls: type[_T], *args: Any, **kwargs: Any) -> _T:
        mode = scope.current()
        if cls is not Variable or mode is None:
            return super().__call__(*args, **kwargs)  # type: ignore[misc, no-any-return]
        made: _T = mode.replicas.create_variable(_recipe_of_call(args, kwargs))
        return made


class Variable(Operators, metaclass=_MadeByStrategy):
    """A tensor that can be replaced; all operators work on its present value.

    Args:
        initial_value: The first value, or a function that returns it. Fixes shape and dtype.
        trainable: Whether an optimizer should change it.
        name: What it is called; ':0' is appended.
        dtype: What the initial value is converted to.
        synchronization: Under a strategy of many replicas, when components are brought together.
        aggregation: Under such a strategy, how.
        shape: Which shapes may be assigned. Default: that of the initial value.
        validate_shape: Accepted, and without effect; so are the other arguments not named here.

    Raises:
        ValueError: As `VariableRecipe`, or the initial value is no tensor.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # so many
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: object = None,
        dtype: object = None,
        import_scope: object = None,
        constraint: object = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
    ) -> None:
        recipe = VariableRecipe.asked(
            initial_value=initial_value,
            trainable=trainable,
            name=name,
            dtype=dtype,
            synchronization=synchronization,
            aggregation=aggregation,
            shape=shape,
        )
        self._set_up(recipe, recipe.initial_tensor(), recipe.base_name)

    def _set_up(self, recipe: VariableRecipe, value: Tensor, name: str) -> None:
        self._recipe = recipe
        self._name = f"{name}:0"
        self._device = value.home
        self._lock = threading.Lock()  # guards the change from one _value to the next
        self._value = value
        self._shape = value.shape if recipe.shape is None else recipe.shape
        if not self._shape.is_compatible_with(value.shape):
            raise ValueError(
                f"The initial value of variable '{self._name}' has shape {value.shape}, which does not"
                f" fit the given shape {self._shape}. Leave `shape` out, or give one that it fits."
            )
        self._container: weakref.ref[Variable] | None = None

    # -- what it is -----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What it is called, with ':0' behind."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._value.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._shape

    @property
    def device(self) -> str:
        """The full name of the device it lives on."""
        return self._device.name

    @property
    def trainable(self) -> bool:
        """Whether an optimizer should change it."""
        return self._recipe.is_trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """When components are brought together."""
        return self._recipe.synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """How components are brought together."""
        return self._recipe.aggregation

    @property
    def container(self) -> "Variable | None":
        """The variable of which this one is a component, if it is one."""
        return None if self._container is None else self._container()

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope it was made, None outside of any."""
        return self._strategy

    def made_by(self, strategy: Any) -> None:
        """Notes in whose scope the variable was made."""
        self._strategy = strategy

    def belongs_to(self, container: "Variable") -> None:
        """Makes this variable a component of another, which owns it from now on."""
        self._container = weakref.ref(container)

    _strategy: Any = None

    # -- reading --------------------------------------------------------------------------------

    def __tensor__(self) -> Tensor:
        return self._value

    def value(self) -> Tensor:
        """Returns the present value."""
        return self._value

    def read_value(self) -> Tensor:
        """Returns the present value, on the current device."""
        return apply(lambda array: array, self.value())

    def get_shape(self) -> TensorShape:
        """Returns the shape."""
        return self.shape

    def numpy(self) -> Any:
        """Returns the present value as NumPy has it."""
        return self.value().numpy()

    def __array__(
        self,
        dtype: npt.DTypeLike | None = None,
        copy: bool | None = None,
    ) -> npt.NDArray[Any]:
        return self.value().__array__(dtype, copy)

    def __float__(self) -> float:
        return float(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __index__(self) -> int:
        return operator.index(self.value())

    def __bool__(self) -> bool:
        return bool(self.value())

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.read_value())

    # -- writing --------------------------------------------------------------------------------

    def assign(
        self,
        value: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Replaces the value; returns the variable as it is when that is used, None if not wanted.

        Raises:
            ValueError: The shape or the dtype of a tensor differs.
            TypeError: The value cannot be taken as this dtype.
        """
        return self._written(set_component, value, is_wanted=read_value)

    def assign_add(
        self,
        delta: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds to the value. Raises as `assign`."""
        return self._written(add_to_component, delta, is_wanted=read_value)

    def assign_sub(
        self,
        delta: object,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts from the value. Raises as `assign`."""
        return self._written(subtract_from_component, delta, is_wanted=read_value)

    def _written(self, change: "Change", value: object, *, is_wanted: bool) -> Any:
        written = self._write(change, value)
        return written if is_wanted else None

    def _write(self, change: "Change", value: object) -> Any:
        return UnreadVariable(change(self, value))

    def replace(self, value: object) -> Self:
        """Replaces this component's value; what `assign` comes down to."""
        tensor = self._fitting(value)
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable shape"
                f" {self._shape}, and the assigned value shape {tensor.shape} are incompatible."
            )
        on_device = Tensor(tensor.on(self._device), self._device)
        with self._lock:
            self._value = on_device
        return self

    def combine(self, function: Function, value: object) -> Self:
        """Replaces this component's value by `function` of it and `value`, as one step."""
        tensor = self._fitting(value)
        with self._lock:
            if tensor.dims != self._value.dims:
                raise errors.InvalidArgumentError(
                    f"Cannot update variable '{self.name}' with shape {self._value.shape} using a"
                    f" tensor with shape {tensor.shape}, shapes must be equal. Reshape or fill it"
                    " first."
                )
            self._value = apply(function, self._value, tensor, device=self._device)
        return self

    def _fitting(self, value: object) -> Tensor:
        return convert(value, self.dtype)

    def __repr__(self) -> str:
        shown = value_text(self.value().host())
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={shown}>"
        )


class UnreadVariable(Variable):
    """What an assignment returns: the variable, under another name, read when it is used.

    Args:
        variable: What was assigned to.
    """

    def __init__(self, variable: Variable) -> None:
        self._variable = variable
        self._recipe = variable._recipe  # noqa: SLF001  # its own module
        self._strategy = variable.distribute_strategy
        self._container = None

    @property
    def name(self) -> str:
        """Not the variable's own, as in TensorFlow."""
        return "UnreadVariable"

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._variable.shape

    @property
    def device(self) -> str:
        """The full name of the variable's device."""
        return self._variable.device

    def is_of(self, variable: object) -> bool:
        """Returns whether it was that variable that was assigned to."""
        return self._variable is variable

    def __tensor__(self) -> Tensor:
        return self._variable.value()

    def value(self) -> Tensor:
        """Returns the present value."""
        return self._variable.value()

    def _write(self, change: "Change", value: object) -> Any:
        return self._variable._write(change, value)  # noqa: SLF001  # its own module


# What type(x).__name__ says in TensorFlow.
Variable.__name__ = "ResourceVariable"
UnreadVariable.__name__ = "_UnreadVariable"

Change = Callable[[Variable, object], Variable]
"""One write to one component."""


def set_component(component: Variable, value: object) -> Variable:
    """Replaces the value."""
    return component.replace(value)


def add_to_component(component: Variable, delta: object) -> Variable:
    """Adds to the value."""
    return component.combine(operator.add, delta)


def subtract_from_component(component: Variable, delta: object) -> Variable:
    """Subtracts from the value."""
    return component.combine(operator.sub, delta)


def plain_variable(
    recipe: VariableRecipe, *, value: Tensor | None = None, name: str = ""
) -> Variable:
    """Returns a variable of one component on the current device, whatever strategy is entered.

    Args:
        recipe: What was asked for.
        value: The first value. None: the recipe's.
        name: Replaces the recipe's name.
    """
    made = Variable.__new__(Variable)
    first = recipe.initial_tensor() if value is None else apply(lambda array: array, value)
    made._set_up(recipe, first, name or recipe.base_name)  # noqa: SLF001  # its own module
    return made


def _recipe_of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> VariableRecipe:
    """Returns the recipe for `Variable(*args, **kwargs)`, without making a variable."""
    given = inspect.signature(Variable.__init__).bind(None, *args, **kwargs).arguments
    names = {field.name for field in fields(VariableRecipe)} & set(given)
    return VariableRecipe.asked(**{"initial_value": None} | {name: given[name] for name in names})
