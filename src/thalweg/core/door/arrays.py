"""Arrays and whatever NumPy makes one of: lists, masked arrays, objects that hold numbers."""

import numbers
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.door.sparse import is_sparse
from thalweg.core.params import shown

WHAT = "X must be rows of numbers (an array, a frame, an Arrow table)"
MISSING = float("nan")
UNREADABLE = (TypeError, ValueError, ArithmeticError)
"""What Python and NumPy raise where an object is no number."""


def from_anything(X: Any) -> NDArray[np.float64]:
    """Turn what is neither frame nor sparse into rows, or into tensors."""
    if is_sparse(X):
        raise TypeError("X must be dense for this learner, got a sparse matrix: pass X.toarray()")
    if isinstance(X, (str, bytes, Mapping)) or X is None:
        raise TypeError(f"{WHAT}, got {'None' if X is None else type(X).__name__}")
    try:
        array = as_array(X)
    except ValueError:
        raise ValueError("X must have rows of one width, got rows of different widths") from None
    except TypeError:
        raise TypeError(f"{WHAT}, got {shown(X)}") from None
    if array.ndim == 0 and array.dtype.kind == "O":
        raise TypeError(f"{WHAT}, got {shown(X)}")
    if array.dtype.kind == "c":
        raise ValueError(f"X must hold real numbers, got Complex data not supported ({array.dtype})")
    if array.dtype.kind not in "biuf":
        if array.dtype.kind != "O":
            raise ValueError(f"X must hold numbers, got {array.dtype} (for nominal values pass a frame or codes)")
        array = _numbers(array)
    refuse_shape(array, tensors=True)
    return floats(array)


def refuse_shape(X: Any, *, tensors: bool = False) -> None:
    """Refuse what is not two-dimensional; tensors may have more."""
    if len(X.shape) != 2 and not (tensors and len(X.shape) > 2):
        raise ValueError(
            f"X must have two dimensions (rows × features), got {len(X.shape)}. "
            "Reshape your data: X.reshape(1, -1) is a single row"
        )


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    """Read numbers, texts that read as numbers, and None for missing, one by one."""
    found = np.empty(array.size)
    for i, v in enumerate(array.ravel()):
        try:
            found[i] = MISSING if v is None else float(v) if isinstance(v, str) else number(v)
        except OverflowError:
            raise ValueError(f"X must hold numbers that float64 can hold, got {shown(v)}") from None
        except UNREADABLE:
            raise TypeError(
                "X must hold numbers (an argument must be a string that reads as a number, or a number), "
                f"got {shown(v)}"
            ) from None
    return found.reshape(array.shape)


def number(v: Any) -> float:
    """Read one number; a text is none."""
    if isinstance(v, (numbers.Real, np.bool_, Decimal)) and not isinstance(v, np.timedelta64):
        return float(v)
    raise TypeError


def floats(array: NDArray[Any]) -> NDArray[np.float64]:
    """Copy to float64; what is too large for it becomes infinite, and is refused as such. No number is complex."""
    if array.dtype.kind == "O" and any(isinstance(value, np.complexfloating) for value in array.flat):
        raise TypeError
    with np.errstate(over="ignore"):
        return np.array(array, dtype=np.float64, order="C")


def as_array(x: Any) -> NDArray[Any]:
    """Make an array of anything; a ValueError or a TypeError where there is no way."""
    try:
        return _unmasked(x) if isinstance(x, np.ma.MaskedArray) else np.asarray(x)
    except ValueError:
        raise
    except Exception as error:  # NumPy runs the code of someone else's container, which may raise whatever it likes
        raise TypeError(str(error)) from None


def _unmasked(array: Any) -> NDArray[Any]:
    """Give a masked array as a plain one; a masked value is a missing value."""
    if not np.ma.is_masked(array):
        return np.asarray(array)
    plain = np.array(array.data, dtype=object if array.dtype.kind == "O" else np.float64)
    plain[np.ma.getmaskarray(array)] = MISSING
    return plain
