"""Element types, with TensorFlow's names, and its rules for what may become what.

    python bool, int, float, str    ->  bool, int32 (int64 if it does not fit), float32, string
    NumPy arrays and scalars        ->  keep their dtype

Where a dtype is asked for, Python's numbers become it if they need not be cut off: integers any number,
floats a float, truth values a number; all else is a TypeError. NumPy's numbers become any number, cut off
without a word, as in TensorFlow.

Source: tensorflow/python/framework/dtypes.py and eager/pywrap_tensor.cc (EagerCast), 2.21.
"""

from typing import Any

import numpy as np
import numpy.typing as npt


class DType:
    """An element type. Equal to its NumPy dtype and to its name, as in TensorFlow."""

    __slots__ = (
        "_name", "as_numpy_dtype", "is_bool", "is_complex", "is_floating", "is_integer", "size",
    )  # fmt: skip

    def __init__(self, name: str, as_numpy_dtype: type[Any]) -> None:
        self._name = name.encode()
        self.as_numpy_dtype = as_numpy_dtype
        numpy_dtype = np.dtype(as_numpy_dtype)
        self.size = 1 if numpy_dtype == np.dtype(object) else numpy_dtype.itemsize
        self.is_floating = np.issubdtype(numpy_dtype, np.floating)
        self.is_integer = np.issubdtype(numpy_dtype, np.integer)
        self.is_complex = np.issubdtype(numpy_dtype, np.complexfloating)
        self.is_bool = numpy_dtype == np.dtype(np.bool_)

    @property
    def name(self) -> str:
        """The name: new text at each call, as in TensorFlow, where `run` therefore wraps it."""
        return self._name.decode()

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether NumPy can compute with it; strings are held as objects."""
        return self.as_numpy_dtype is not object

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


bool_ = DType("bool", np.bool_)
uint8 = DType("uint8", np.uint8)
uint16 = DType("uint16", np.uint16)
uint32 = DType("uint32", np.uint32)
uint64 = DType("uint64", np.uint64)
int8 = DType("int8", np.int8)
int16 = DType("int16", np.int16)
int32 = DType("int32", np.int32)
int64 = DType("int64", np.int64)
float16 = DType("float16", np.float16)
float32 = DType("float32", np.float32)
float64 = DType("float64", np.float64)
complex64 = DType("complex64", np.complex64)
complex128 = DType("complex128", np.complex128)
string = DType("string", object)

_ALL = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
    float16, float32, float64, complex64, complex128, string,
)  # fmt: skip
_BY_NAME = {dtype.name: dtype for dtype in _ALL} | {"double": float64, "float": float32}
_BY_NUMPY: dict[np.dtype[Any], DType] = {np.dtype(dtype.as_numpy_dtype): dtype for dtype in _ALL}
_BY_PYTHON: dict[object, DType] = {bool: bool_, int: int32, float: float32, str: string}


def as_dtype(value: object) -> DType:
    """Returns the DType for a DType, a NumPy dtype, a name or a Python type.

    Raises:
        TypeError: There is no such type.
    """
    if isinstance(value, DType):
        return value
    found = _BY_NAME.get(value) if isinstance(value, str) else None
    if found is None and isinstance(value, type):
        found = _BY_PYTHON.get(value)
    if found is None:
        try:
            found = of_numpy(np.dtype(value))  # type: ignore[call-overload]  # it may not be one
        except TypeError:
            raise TypeError(
                f"Cannot convert {value!r} to a dtype. Give one of {[d.name for d in _ALL]}."
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
    if array.size == 0 and array.dtype == np.float64 and not _holds_numpy(value):
        return array.astype(np.float32)
    if array.dtype == np.float64 and not _holds_numpy(value):
        return array.astype(np.float32)
    if array.dtype == np.int64 and not _holds_numpy(value):
        fits = array.size == 0 or (abs(array.min()) < 2**31 and array.max() < 2**31)
        return array.astype(np.int32) if fits else array
    return array


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


def _holds_numpy(value: object) -> bool:
    while isinstance(value, list | tuple):
        if not value:
            return False
        value = value[0]
    return isinstance(value, np.generic | np.ndarray) or hasattr(value, "__array__")


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
