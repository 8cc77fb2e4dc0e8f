"""The header of an array in NumPy's format, from a file that may hold anything."""

import math
import struct
import tokenize
import zipfile
import zlib
from typing import IO, Any

import numpy as np

DAMAGE = (
    OSError, ValueError, TypeError, LookupError, EOFError, MemoryError, ArithmeticError, RuntimeError,
    zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, SyntaxError,
)  # fmt: skip
"""What reading damaged arrays may raise."""


def array_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Read shape, order and type of an array, and give how many bytes follow; refuse objects.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3)))
    >>> array_header(io.BytesIO(file.getvalue()))
    ((2, 3), False, dtype('float64'), 48)
    """
    first = np.lib.format.read_magic(file) == (1, 0)
    shape, columns_first, dtype = (
        np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    )(file)
    if dtype.hasobject or not dtype.itemsize or min(shape, default=0) < 0:
        raise ValueError
    return shape, columns_first, dtype, math.prod(shape) * dtype.itemsize
