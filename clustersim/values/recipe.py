"""What a program asks for when it writes `tf.Variable(...)`, before it is known who makes it.

A strategy makes one component for each replica of it; without one it becomes a plain variable.

Source: tensorflow/python/ops/variables.py, 2.21; cases `mirrored_16`, `one_15`.
"""

import enum
from dataclasses import dataclass
from typing import Any

from clustersim.values.dtypes import DType, as_dtype
from clustersim.values.shapes import ShapeLike, TensorShape
from clustersim.values.tensor import Tensor, apply, convert


class VariableSynchronization(enum.Enum):
    """When the components of a variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How what the replicas have becomes one value."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableRecipe:
    """What a program asked for when it wrote `tf.Variable(...)`.

    Raises:
        ValueError: There is no initial value, or a setting is no member of its enum.
    """

    initial_value: Any
    """A value, or a function without arguments that returns it."""
    trainable: bool | None = None
    name: str | None = None
    dtype: DType | None = None
    synchronization: VariableSynchronization = VariableSynchronization.AUTO
    aggregation: VariableAggregation = VariableAggregation.NONE
    shape: TensorShape | None = None

    @classmethod
    def asked(
        cls, *, dtype: object = None, shape: ShapeLike = None, **more: Any
    ) -> "VariableRecipe":
        """Returns the recipe for TensorFlow's arguments, whose dtype and shape take many forms."""
        return cls(
            dtype=None if dtype is None else as_dtype(dtype),
            shape=None if shape is None else TensorShape(shape),
            **more,
        )

    def __post_init__(self) -> None:
        if self.initial_value is None:
            raise ValueError("A variable needs an `initial_value`, a value or a function.")
        if self.name is not None and not isinstance(self.name, str):
            raise ValueError(  # TensorFlow's error
                f"A variable's name must be a string, not {self.name!r}. Leave it out, or write name='w'."
            )
        for field, kind in (
            ("synchronization", VariableSynchronization),
            ("aggregation", VariableAggregation),
        ):
            value = getattr(self, field)
            value = kind(0) if value is None else value
            if value not in set(kind) and value not in {member.value for member in kind}:
                name = kind.__name__.removesuffix("V2")
                raise ValueError(
                    f"Invalid variable {field}: {value!r}. Give one of"
                    f" {[f'tf.{name}.{member.name}' for member in kind]}."
                )
            # A frozen value is completed once, while it is made: the enum's number is as good.
            object.__setattr__(self, field, kind(value))

    def initial_tensor(self) -> Tensor:
        """Returns the initial value on the current device; calls it if it is a function."""
        value = self.initial_value() if callable(self.initial_value) else self.initial_value
        return apply(lambda array: array, convert(value, self.dtype))

    @property
    def base_name(self) -> str:
        """The name, without ':0'."""
        return "Variable" if self.name is None else self.name

    @property
    def is_trainable(self) -> bool:
        """Whether the variable counts as trainable: yes, unless said or synchronized on read."""
        if self.trainable is None:
            return self.synchronization is not VariableSynchronization.ON_READ
        return self.trainable


VariableAggregation.__name__ = "VariableAggregationV2"  # what str(member) says in TensorFlow
