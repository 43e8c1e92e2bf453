"""`Tensor`: an immutable array on a device, its operators, and what can become one.

Every operation goes through `apply`: it runs on the current device, takes its inputs there, and
turns the array library's complaint about shapes into TensorFlow's. Whatever is not a tensor but
stands for one (variables, per-replica values) has a method `__tensor__`, and inherits `Operators`.
Named functions are in `ops`.

Source: tensorflow/python/framework/ops.py and tensor_conversion.py, 2.21.
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from clustersim import errors
from clustersim.devices.array import NativeArray
from clustersim.devices.current import current_device, host_device
from clustersim.devices.device import Device
from clustersim.values import dtypes, nest
from clustersim.values.dtypes import DType
from clustersim.values.indexing import standard_key
from clustersim.values.shapes import TensorShape

# TensorFlow computes silently with infinities and wraps integers; NumPy would warn.
_QUIET: dict[str, Any] = {"all": "ignore"}

Function: TypeAlias = Callable[..., NativeArray]
"""From native arrays to a native array."""


class TensorLike:
    """Stands for a tensor: `__tensor__` returns the one that it is at this moment."""

    __slots__ = ()

    def __tensor__(self) -> "Tensor":
        """Returns the tensor; may raise ValueError where there is none."""
        raise NotImplementedError


class Operators(TensorLike):
    """Python's operators for whatever has `__tensor__`. The other side takes this side's dtype."""

    __slots__ = ()
    __array_priority__ = 100  # an ndarray on the left leaves the operation to us

    def __add__(self, other: object) -> "Tensor":
        return _binary(operator.add, self, other)

    def __radd__(self, other: object) -> "Tensor":
        return _reflected(operator.add, self, other)

    def __sub__(self, other: object) -> "Tensor":
        return _binary(operator.sub, self, other)

    def __rsub__(self, other: object) -> "Tensor":
        return _reflected(operator.sub, self, other)

    def __mul__(self, other: object) -> "Tensor":
        return _binary(operator.mul, self, other)

    def __rmul__(self, other: object) -> "Tensor":
        return _reflected(operator.mul, self, other)

    def __truediv__(self, other: object) -> "Tensor":
        return true_divide(*same_dtype(self, other))

    def __rtruediv__(self, other: object) -> "Tensor":
        return true_divide(*same_dtype(other, self))

    def __floordiv__(self, other: object) -> "Tensor":
        return floor_divide(*same_dtype(self, other))

    def __rfloordiv__(self, other: object) -> "Tensor":
        return floor_divide(*same_dtype(other, self))

    def __mod__(self, other: object) -> "Tensor":
        return floor_mod(*same_dtype(self, other))

    def __rmod__(self, other: object) -> "Tensor":
        return floor_mod(*same_dtype(other, self))

    def __pow__(self, other: object) -> "Tensor":
        return _binary(operator.pow, self, other)

    def __rpow__(self, other: object) -> "Tensor":
        return _reflected(operator.pow, self, other)

    def __matmul__(self, other: object) -> "Tensor":
        return matrix_product(*same_dtype(self, other))

    def __rmatmul__(self, other: object) -> "Tensor":
        return matrix_product(*same_dtype(other, self))

    def __and__(self, other: object) -> "Tensor":
        return _binary(operator.and_, self, other)

    def __or__(self, other: object) -> "Tensor":
        return _binary(operator.or_, self, other)

    def __xor__(self, other: object) -> "Tensor":
        return _binary(operator.xor, self, other)

    def __lt__(self, other: object) -> "Tensor":
        return _binary(operator.lt, self, other)

    def __le__(self, other: object) -> "Tensor":
        return _binary(operator.le, self, other)

    def __gt__(self, other: object) -> "Tensor":
        return _binary(operator.gt, self, other)

    def __ge__(self, other: object) -> "Tensor":
        return _binary(operator.ge, self, other)

    def __eq__(self, other: object) -> Any:
        return False if other is None else _compared(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return True if other is None else _compared(operator.ne, self, other)

    def __hash__(self) -> int:
        raise TypeError(f"{type(self).__name__} is unhashable. Instead, use its ref() as the key.")

    def __neg__(self) -> "Tensor":
        return apply(operator.neg, self.__tensor__())

    def __invert__(self) -> "Tensor":
        return apply(operator.invert, self.__tensor__())

    def __abs__(self) -> "Tensor":
        return apply(operator.abs, self.__tensor__())

    def __getitem__(self, key: object) -> "Tensor":
        tensor = self.__tensor__()
        if _is_mask(key):
            return _masked(tensor, convert(key))
        parts = key if isinstance(key, (list, tuple)) else (key,)
        index = standard_key([_part(part) for part in parts], tensor.dims)
        return apply(lambda array: array[index], tensor)

    def ref(self) -> "Reference":
        """Returns a hashable stand-in, equal to those of the same object."""
        return Reference(self)


class Reference:
    """A hashable stand-in for a tensor or a variable, which are not hashable themselves."""

    __slots__ = ("_object",)

    def __init__(self, referred: object) -> None:
        self._object = referred

    def deref(self) -> Any:
        """Returns the object."""
        return self._object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)


class Tensor(Operators):
    """An array that never changes, on one device.

    Args:
        array: A native array of the device's backend; the tensor owns it from now on.
        device: Where it lives; text lives on the host, whatever is given.
    """

    __slots__ = ("__weakref__", "_array", "_device")

    def __init__(self, array: NativeArray, device: Device) -> None:
        if (
            device.device_type != "CPU"
            and isinstance(array, np.ndarray)
            and array.dtype.kind == "O"
        ):
            device = host_device()
        self._array = array
        self._device = device
        if device.is_limited:
            device.hold(self, array)

    def __tensor__(self) -> "Tensor":
        return self

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtypes.of_numpy(self._device.backend.dtype_of(self._array))

    @property
    def shape(self) -> TensorShape:
        """The shape, fully known."""
        return TensorShape.of_array(self._array.shape)

    def get_shape(self) -> TensorShape:
        """Returns the shape."""
        return self.shape

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape as plain numbers."""
        dims: tuple[int, ...] = self._array.shape
        return dims

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self._array.ndim)

    @property
    def device(self) -> str:
        """The full name of the device."""
        return self._device.name

    @property
    def home(self) -> Device:
        """The device itself."""
        return self._device

    def numpy(self) -> Any:
        """Returns a NumPy array of its own; a NumPy scalar for a scalar, bytes for a string."""
        host = self.host()
        return host[()] if host.ndim == 0 else host.copy()

    def host(self) -> npt.NDArray[Any]:
        """Returns the array in host memory, which the caller must not change."""
        return self._device.give(self._array)

    def on(self, device: Device) -> NativeArray:
        """Returns the native array on `device`, which the caller must not change."""
        return self._array if device is self._device else device.fetch(self._array, self._device)

    def __array__(
        self,
        dtype: npt.DTypeLike | None = None,
        copy: bool | None = None,  # noqa: FBT001  # NumPy's
    ) -> npt.NDArray[Any]:
        host = self.host()
        if copy is False and dtype in {None, host.dtype}:
            return host
        return np.array(host, dtype=dtype)

    def __bool__(self) -> bool:
        return bool(self._array.size) and bool(self._only())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        return operator.index(self._number())

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("Scalar tensor has no `len()`.")
        return int(self._array.shape[0])

    def __iter__(self) -> Iterator["Tensor"]:
        if self.ndim == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(len(self)))

    def _number(self) -> Any:
        if self.ndim != 0:
            raise TypeError(
                f"Only a scalar tensor can become a number, and this one has shape {self.shape}. Take"
                " one element, or reduce it, for example with tf.reduce_sum."
            )
        return self._only()

    def _only(self) -> Any:
        host = self.host()
        if host.size != 1:
            raise ValueError(
                f"A tensor of shape {self.shape} has no single truth value or number. Reduce it"
                " first, for example with tf.reduce_sum."
            )
        return host.reshape(-1)[0]

    def __str__(self) -> str:
        text = str(self.host())
        start = "\n" if "\n" in text else ""
        return f"tf.Tensor({start}{text}, shape={self.shape}, dtype={self.dtype.name})"

    def __repr__(self) -> str:
        shown = value_text(self.host())
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={shown}>"


Tensor.__name__ = "EagerTensor"  # what type(x).__name__ says in TensorFlow


def value_text(host: npt.NDArray[Any]) -> str:
    """Returns how TensorFlow prints a value inside a repr."""
    if host.ndim:
        text = repr(host)
        return f"\n{text}" if "\n" in text else text
    return repr(host[()]) if host.dtype.kind == "O" else repr(host.item())


def is_tensor(value: object) -> bool:
    """Returns whether `value` is a tensor or stands for one."""
    return isinstance(value, Operators)


def convert(value: object, dtype: DType | None = None) -> Tensor:
    """Returns `value` as a tensor; a tensor is returned as it is, anything else goes to the device.

    Args:
        value: A tensor, what stands for one, a Python or NumPy value, or a nested list of these.
        dtype: What the elements must be. None: what they are.

    Raises:
        TypeError: The value cannot be taken as `dtype`.
        ValueError: It is a tensor of another dtype, ragged, or nothing a tensor can hold.
    """
    if isinstance(value, TensorLike):
        tensor = value.__tensor__()
        if dtype is not None and tensor.dtype is not dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype"
                f" {tensor.dtype.name}: {tensor!r}. Cast it first, with tf.cast."
            )
        return tensor
    if isinstance(value, list | tuple) and _holds_tensor(value):
        return _stacked(value, dtype)
    if isinstance(value, TensorShape):
        value = list(value.known_dims())
        dtype = dtype if value or dtype else dtypes.int32  # a list of nothing would be of floats
    return make(dtypes.to_host_array(value, dtype))


def make(host: npt.NDArray[Any]) -> Tensor:
    """Returns a tensor on the current device of a host array that nobody else will change."""
    device = current_device()
    return Tensor(device.receive(host), device)


def apply(function: Function, *inputs: Tensor, device: Device | None = None) -> Tensor:
    """Returns the tensor of `function` of the inputs' arrays, computed on the current device or `device`.

    Raises:
        InvalidArgumentError: The array library refuses the shapes or the types.
    """
    device = device or current_device()
    if device.device_type != "CPU" and any(tensor.dtype is dtypes.string for tensor in inputs):
        device = host_device()
    arrays = [tensor.on(device) for tensor in inputs]
    try:
        with np.errstate(**_QUIET):
            if device.is_plain:
                result = device.backend.xp.asarray(function(*arrays))
            else:
                result = device.compute(function, arrays)
    except ValueError as error:
        shapes = " and ".join(str(tensor.shape) for tensor in inputs)
        raise errors.InvalidArgumentError(f"Incompatible shapes {shapes}: {error}.") from error
    except TypeError as error:
        names = " and ".join(tensor.dtype.name for tensor in inputs)
        raise errors.InvalidArgumentError(
            f"This operation does not take tensors of type {names}: {error}. Cast them first, with"
            " tf.cast."
        ) from error
    return Tensor(result, device)


def namespace() -> Any:
    """Returns the array functions of the current device, by the array API standard's names."""
    return current_device().backend.xp


def native_dtype(dtype: DType) -> Any:
    """Returns what the functions of `namespace()` take for a dtype."""
    return current_device().backend.native_dtype(np.dtype(dtype.as_numpy_dtype))


def astype(tensor: Tensor, dtype: DType) -> Tensor:
    """Returns the elements as another dtype: floats are cut off towards zero, complex to their real part."""
    xp, native = namespace(), native_dtype(dtype)
    if tensor.dtype.is_complex and not dtype.is_complex:
        tensor = apply(xp.real, tensor)
    return apply(lambda array: xp.astype(array, native), tensor)


def same_dtype(x: object, y: object) -> tuple[Tensor, Tensor]:
    """Returns both as tensors of one dtype: that of the first that is a tensor.

    Raises:
        InvalidArgumentError: Both are tensors, of different dtypes, or the other value cannot be
            taken as that dtype.
    """
    if not isinstance(x, TensorLike) and isinstance(y, TensorLike):
        second = convert(y)
        return _taken_as(x, second.dtype), second
    first = convert(x)
    if not isinstance(y, TensorLike):
        return first, _taken_as(y, first.dtype)
    second = convert(y)
    if first.dtype is not second.dtype:
        raise errors.InvalidArgumentError(
            f"Cannot combine a tensor of type {first.dtype.name} with one of type"
            f" {second.dtype.name}. Cast one of them, with tf.cast."
        )
    return first, second


def _taken_as(value: object, dtype: DType) -> Tensor:
    try:
        return convert(value, dtype)
    except TypeError as error:
        raise errors.InvalidArgumentError(str(error)) from error


def true_divide(x: Tensor, y: Tensor) -> Tensor:
    """Divides; small integers as float32, the other integers as float64."""
    if x.dtype.is_integer:
        wide = dtypes.float32 if x.dtype.size < 4 else dtypes.float64
        x, y = astype(x, wide), astype(y, wide)
    return apply(operator.truediv, x, y)


def floor_divide(x: Tensor, y: Tensor) -> Tensor:
    """Divides and rounds down; integers must not be divided by zero."""
    _refuse_zero(y)
    return apply(operator.floordiv, x, y)


def floor_mod(x: Tensor, y: Tensor) -> Tensor:
    """Returns the rest of `floor_divide`."""
    _refuse_zero(y)
    return apply(operator.mod, x, y)


def matrix_product(
    x: Tensor, y: Tensor, *, is_transposed: tuple[bool, bool] = (False, False)
) -> Tensor:
    """Returns the product of matrices `[..., n, k]` and `[..., k, m]`, each transposed first if asked.

    Raises:
        InvalidArgumentError: One is no matrix, or the shapes do not fit.
    """
    if min(x.ndim, y.ndim) < 2:
        raise errors.InvalidArgumentError(
            f"matmul needs matrices, but the shapes are {x.shape} and {y.shape}. Reshape vectors to"
            " [1, n] or [n, 1]."
        )
    xp = namespace()

    def product(left: NativeArray, right: NativeArray) -> NativeArray:
        left = xp.matrix_transpose(left) if is_transposed[0] else left
        return left @ (xp.matrix_transpose(right) if is_transposed[1] else right)

    return apply(product, x, y)


def _refuse_zero(divisor: Tensor) -> None:
    xp = namespace()
    if divisor.dtype.is_integer and not apply(lambda array: xp.all(array != 0), divisor):
        raise errors.InvalidArgumentError("Integer division by zero.")


def _binary(function: Function, x: object, y: object) -> Tensor:
    return apply(function, *same_dtype(x, y))


def _compared(function: Function, x: object, y: object) -> Tensor:
    """Returns where both are equal or not; one answer for all if their shapes do not fit."""
    first, second = same_dtype(x, y)
    sizes = zip(reversed(first.dims), reversed(second.dims), strict=False)
    if any(one not in {other, 1} and other != 1 for one, other in sizes):
        return make(np.asarray(function is operator.ne))
    return apply(function, first, second)


def _reflected(function: Function, x: object, y: object) -> Tensor:
    return apply(function, *same_dtype(y, x))


def _is_mask(key: object) -> bool:
    if isinstance(key, TensorLike):
        return convert(key).dtype.is_bool
    return isinstance(key, np.ndarray) and key.dtype.kind == "b"


def _masked(tensor: Tensor, mask: Tensor) -> Tensor:
    """Returns the elements, or slices, where a mask is true."""
    if mask.ndim == 0 or tensor.dims[: mask.ndim] != mask.dims:
        raise ValueError(
            f"A mask of shape {mask.shape} does not fit a tensor of shape {tensor.shape}. Give one"
            " truth value for each element, or for each slice along the first axes."
        )
    return apply(lambda array, where: array[where], tensor, mask)


def _part(part: Any) -> Any:
    """Returns one part of a key with numbers for scalar tensors."""
    if isinstance(part, slice):
        return slice(_bound(part.start), _bound(part.stop), _bound(part.step))
    return part if part is None or part is ... else _bound(part)


def _bound(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError(f"A truth value is no index: {value!r}. Give a number, or a mask.")  # noqa: TRY004
    try:
        return operator.index(value)
    except (TypeError, ValueError):
        raise TypeError(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/"
            f"tf.int64 tensors are valid indices, got {value!r}."
        ) from None


def _holds_tensor(value: object, depth: int = 0) -> bool:
    if isinstance(value, list | tuple):
        depth = nest.deeper(depth, value)
        return any(_holds_tensor(item, depth) for item in value)
    return isinstance(value, TensorLike)


def _first_dtype(value: object) -> DType | None:
    if isinstance(value, list | tuple):
        found = (_first_dtype(item) for item in value)
        return next((dtype for dtype in found if dtype is not None), None)
    return convert(value).dtype if isinstance(value, TensorLike) else None


def _stacked(values: list[Any] | tuple[Any, ...], dtype: DType | None) -> Tensor:
    want = dtype or _first_dtype(values)
    parts = [convert(value, want) for value in values]
    xp = namespace()
    return apply(lambda *arrays: xp.stack(arrays), *parts)
