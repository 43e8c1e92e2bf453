"""Functions that layers are made of: activations and what a loss begins with, with TensorFlow's names.

Each takes anything `convert` takes, computes on the current device and returns a new tensor.

Source: tensorflow/python/ops/nn_ops.py and core/kernels/softmax_op.cc, 2.21.
"""

# ruff: noqa: ARG001  # TensorFlow's signatures: `name`

from clustersim.devices.array import NativeArray
from clustersim.values.arguments import axis_within
from clustersim.values.array_ops import zeros
from clustersim.values.math_ops import floating, maximum
from clustersim.values.tensor import Tensor, apply, convert, namespace


def relu(features: object, name: str | None = None) -> Tensor:
    """Returns the positive part."""
    tensor = convert(features)
    return maximum(tensor, zeros([], tensor.dtype))


def softmax(logits: object, axis: object = None, name: str | None = None) -> Tensor:
    """Returns exp(logits) / sum(exp(logits)) along an axis, without overflow.

    Raises:
        InvalidArgumentError: They are no floats, or there is no such axis (the last: None).
    """
    xp, tensor = namespace(), floating(logits)
    along = axis_within(-1 if axis is None else axis, tensor.ndim)

    def normalized(array: NativeArray) -> NativeArray:
        powers = xp.exp(array - xp.max(array, axis=along, keepdims=True))
        return powers / xp.sum(powers, axis=along, keepdims=True)

    return apply(normalized, tensor)


def log_softmax(logits: object, axis: object = None, name: str | None = None) -> Tensor:
    """Returns the logarithm of `softmax`, without overflow.

    Raises:
        InvalidArgumentError: They are no floats, or there is no such axis (the last: None).
    """
    xp, tensor = namespace(), floating(logits)
    along = axis_within(-1 if axis is None else axis, tensor.ndim)

    def normalized(array: NativeArray) -> NativeArray:
        shifted = array - xp.max(array, axis=along, keepdims=True)
        return shifted - xp.log(xp.sum(xp.exp(shifted), axis=along, keepdims=True))

    return apply(normalized, tensor)
