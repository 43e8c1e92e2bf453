"""Element types, with TensorFlow's names, and its rules for what may become what.

    python bool, int, float, str    ->  bool, int32 (int64 if it does not fit), float32, string
    NumPy arrays and scalars        ->  keep their dtype
    lists of these                  ->  as Python's numbers, but a first NumPy float keeps its dtype

Where a dtype is asked for, Python's numbers become it if they need not be cut off: integers any number,
floats a float, truth values a number; all else is a TypeError. NumPy's numbers become any number, cut off
without a word, as in TensorFlow.

Source: tensorflow/python/framework/dtypes.py and eager/pywrap_tensor.cc (EagerCast), 2.21.
"""

from typing import Any

import numpy as np
import numpy.typing as npt


class DType:
    """An element type. Equal to its NumPy dtype, its name and its number, as in TensorFlow."""

    __slots__ = (
        "_name", "_numpy", "as_datatype_enum", "is_bool", "is_complex", "is_floating", "is_integer",
        "is_quantized", "is_unsigned", "size",
    )  # fmt: skip

    def __init__(self, name: str, number: int, numpy: type[Any] | None) -> None:
        self._name, self._numpy, self.as_datatype_enum = name.encode(), numpy, number
        kind = "" if numpy is None else np.dtype(numpy).kind
        self.size = 1 if kind in {"", "O"} else np.dtype(numpy).itemsize
        self.is_floating, self.is_complex = kind == "f" or name == "bfloat16", kind == "c"
        self.is_integer, self.is_unsigned, self.is_bool = (
            kind in set("iu"),
            kind == "u",
            kind == "b",
        )
        self.is_quantized = name.startswith(("qint", "quint"))

    @property
    def name(self) -> str:
        """The name: new text at each call, as in TensorFlow, where `run` therefore wraps it."""
        return self._name.decode()

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """NumPy's type.

        Raises:
            TypeError: NumPy has none, so that no tensor here can be of this type.
        """
        if self._numpy is None:
            raise TypeError(
                f"Tensors here are NumPy's arrays, and NumPy has no {self.name}. Use another type,"
                " or TensorFlow itself."
            )
        return self._numpy

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number, which truth values and texts are not."""
        return self.is_floating or self.is_integer or self.is_complex or self.is_quantized

    @property
    def real_dtype(self) -> "DType":
        """The type of a complex number's parts; of other types, itself."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def limits(self) -> tuple[float, float]:
        """From where to where an image's values go: up to 1 for floats."""
        return (0, 1) if self.is_floating else (self.min, self.max)

    def is_compatible_with(self, other: object) -> bool:
        """Returns whether it is the same type."""
        return as_dtype(other) is self

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy can compute with it; strings are held as objects."""
        return self._numpy is not object

    @property
    def base_dtype(self) -> "DType":
        """The type itself; TensorFlow has reference types besides."""
        return self

    @property
    def min(self) -> Any:
        """The smallest value."""
        kind = np.dtype(self.as_numpy_dtype)
        return np.finfo(kind).min if self.is_floating else np.iinfo(kind).min

    @property
    def max(self) -> Any:
        """The largest value."""
        kind = np.dtype(self.as_numpy_dtype)
        return np.finfo(kind).max if self.is_floating else np.iinfo(kind).max

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        try:
            return other is not None and as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"


float32 = DType("float32", 1, np.float32)
float64 = DType("float64", 2, np.float64)
int32 = DType("int32", 3, np.int32)
uint8 = DType("uint8", 4, np.uint8)
int16 = DType("int16", 5, np.int16)
int8 = DType("int8", 6, np.int8)
string = DType("string", 7, object)
complex64 = DType("complex64", 8, np.complex64)
int64 = DType("int64", 9, np.int64)
bool_ = DType("bool", 10, np.bool_)
uint16 = DType("uint16", 17, np.uint16)
complex128 = DType("complex128", 18, np.complex128)
float16 = DType("float16", 19, np.float16)
uint32 = DType("uint32", 22, np.uint32)
uint64 = DType("uint64", 23, np.uint64)

# Names without arrays: programs ask about them, but no tensor here can be of these types.
qint8 = DType("qint8", 11, None)
quint8 = DType("quint8", 12, None)
qint32 = DType("qint32", 13, None)
bfloat16 = DType("bfloat16", 14, None)
qint16 = DType("qint16", 15, None)
quint16 = DType("quint16", 16, None)
resource = DType("resource", 20, None)
variant = DType("variant", 21, None)

QUANTIZED_DTYPES = frozenset({qint8, quint8, qint32, qint16, quint16})

_HELD = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
    float16, float32, float64, complex64, complex128, string,
)  # fmt: skip
_ALL = (*_HELD, qint8, quint8, qint32, bfloat16, qint16, quint16, resource, variant)
_BY_NAME = {dtype.name: dtype for dtype in _ALL} | {
    "half": float16,
    "float": float32,
    "double": float64,
}
_BY_NUMBER = {dtype.as_datatype_enum: dtype for dtype in _ALL}
_BY_NUMPY: dict[np.dtype[Any], DType] = {np.dtype(dtype.as_numpy_dtype): dtype for dtype in _HELD}
_BY_PYTHON: dict[object, DType] = {bool: bool_, int: int32, float: float32, str: string}


_PYTHONS = (bool, int, float, complex, list, tuple)
"""What has no type of its own; `np.float64` is a float, but comes as an array."""


def as_dtype(value: object) -> DType:
    """Returns the DType for a DType, a NumPy dtype, a name, a Python type or TensorFlow's number.

    Raises:
        TypeError: There is no such type.
    """
    if isinstance(value, DType):
        return value
    found = _BY_NAME.get(value) if isinstance(value, str) else None
    if isinstance(value, type):
        found = _BY_PYTHON.get(value)
    if isinstance(value, int | float | np.number):
        found = _BY_NUMBER.get(value)  # type: ignore[arg-type]  # 2.0 is found as 2 is
    if found is None:
        try:
            found = of_numpy(np.dtype(value))  # type: ignore[call-overload]  # it may not be one
        except TypeError:
            raise TypeError(
                f"Cannot convert {value!r} to a dtype. Give one of {sorted(_BY_NAME)}."
            ) from None
    return found


def of_numpy(dtype: np.dtype[Any]) -> DType:
    """Returns the DType of a NumPy dtype; TypeError if there is none."""
    found = _BY_NUMPY.get(dtype)
    if found is not None:
        return found
    if dtype.kind in "SU":
        return string
    native = _BY_NUMPY.get(dtype.newbyteorder("="))
    if native is None:
        raise TypeError(f"NumPy dtype {dtype} has no counterpart in TensorFlow.")
    return native


def can_become(have: DType, want: DType) -> bool:
    """Returns whether a value of type `have` may silently be taken as `want`."""
    if have is want:
        return True
    if have.is_integer:
        return want.is_integer or want.is_floating or want.is_complex
    return have.is_floating and (want.is_floating or want.is_complex)


def to_host_array(value: object, dtype: DType | None) -> npt.NDArray[Any]:
    """Returns a new array of a Python or NumPy value, by the rules above.

    Raises:
        TypeError: The value cannot be taken as `dtype`.
        ValueError: The value is ragged, or no tensor can hold it.
    """
    array = value if isinstance(value, np.ndarray | np.generic) else _of_python(value)
    if dtype is not None and dtype.is_floating and _is_python_numbers(value, array):
        array = np.asarray(value, dtype=dtype.as_numpy_dtype)  # not by way of float32
    have = of_numpy(np.asarray(array).dtype)
    if have is string:
        return _strings(np.asarray(array), value, dtype)
    want = have if dtype is None else dtype
    if not can_become(have, want) and not _is_taken_as(value, have, want):
        raise TypeError(
            f"Cannot convert {value!r} of type {have.name} to a tensor of type {want.name}. Cast"
            " it first, with tf.cast."
        )
    return np.array(array, dtype=want.as_numpy_dtype, order="C")


def _is_python_numbers(value: object, array: Any) -> bool:
    return not isinstance(value, np.ndarray | np.generic) and array.dtype.kind in "fib"


def _is_taken_as(value: object, have: DType, want: DType) -> bool:
    """Returns whether TensorFlow takes NumPy's numbers, or Python truth values, as another type."""
    if have is string or have.is_complex or want is string:
        return False
    return isinstance(value, np.ndarray | np.generic) or (have.is_bool and not want.is_bool)


def _of_python(value: object) -> npt.NDArray[Any]:
    """Returns an array of a number, text or nested list, in TensorFlow's default type."""
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type to a tensor.")
    if isinstance(value, dict | set):
        raise ValueError(  # noqa: TRY004  # TensorFlow's error
            f"A {type(value).__name__} cannot become a tensor: {value!r}."
        )
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {value!r}. Give rows of"
            " equal length."
        ) from None
    if array.dtype == np.dtype(object):
        raise ValueError(
            f"Attempt to convert a value ({value!r}) with an unsupported type"
            f" ({type(value).__name__}) to a Tensor."
        )
    if array.dtype.kind in "SU":
        return _of_text(value)
    return _in_default_type(array, value) if isinstance(value, _PYTHONS) else array


def _in_default_type(array: npt.NDArray[Any], value: object) -> npt.NDArray[Any]:
    """Returns the numbers of a nested list in the type that TensorFlow gives it.

    Whole numbers become int32, int64 if they must, even NumPy's; floats become float32, unless the
    first is NumPy's and has another type.
    """
    first, kind = _first_leaf(value), array.dtype.kind
    if array.size == 0:
        return array.astype(np.float32)
    if (isinstance(first, bool | np.bool_) and kind != "b") or (
        kind == "c" and not isinstance(first, complex | np.complexfloating | np.ndarray)
    ):
        raise ValueError(
            f"Can't convert Python sequence with mixed types to Tensor: {value!r} starts with a"
            f" {type(first).__name__}. Write all of its numbers as one type."
        )
    if kind in "iu":
        if array.max() >= 2**63:
            raise ValueError(
                f"Can't convert Python sequence with out-of-range integer to Tensor: {value!r}. Give"
                " numbers below 2**63, or a NumPy array of uint64."
            )
        fits = array.min() >= -(2**31) and array.max() < 2**31
        return array.astype(np.int32 if fits else np.int64)
    if kind == "f":
        own = getattr(first, "dtype", np.dtype(np.float32))
        return array.astype(own if own.kind == "f" else np.float32)
    return array.astype(np.complex128) if kind == "c" else array


def _of_text(value: object) -> npt.NDArray[Any]:
    if not _is_all_text(value):
        raise ValueError(
            f"Text and numbers cannot be elements of one tensor: {value!r}. Give one kind."
        )
    return np.array(value, dtype=object)  # NumPy's own text would end before its last zero bytes


def _is_all_text(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_all_text, value))
    return isinstance(value, str | bytes | np.ndarray)


def _first_leaf(value: object) -> object:
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return value


def _strings(array: npt.NDArray[Any], value: object, dtype: DType | None) -> npt.NDArray[Any]:
    if dtype is not None and dtype is not string:
        raise TypeError(
            f"Cannot convert {value!r} of type string to a tensor of type {dtype.name}."
        )
    odd = next((i for i in array.reshape(-1).tolist() if not isinstance(i, str | bytes)), None)
    if odd is not None:
        raise ValueError(
            f"An array of objects can hold text only, and one element is {odd!r} of type"
            f" {type(odd).__name__}."
        )
    try:
        encoded = [
            item.encode() if isinstance(item, str) else item for item in array.reshape(-1).tolist()
        ]
    except UnicodeEncodeError as error:
        raise ValueError(f"{value!r} is no text that UTF-8 can encode: {error.reason}.") from None
    result = np.empty(array.size, dtype=object)
    result[:] = encoded
    return result.reshape(array.shape)
