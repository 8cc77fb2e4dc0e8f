"""The weights of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.door.arrays import UNREADABLE, as_array, floats
from thalweg.core.params import shown

HEAVIEST = 1e100
"""The largest weight of a row: sums of larger ones would overflow."""


def weights(w: Any, n: int) -> NDArray[np.float64]:
    """Turn sample weights into n numbers ≥ 0; None: all 1."""
    if w is None:
        return np.ones(n)
    array = np.full(n, w) if type(w) is float else _weights(w, n)
    if array.shape != (n,):
        raise ValueError(f"sample_weight must have one number for each of the {n} rows, got shape {array.shape}")
    good = (array >= 0.0) & (array <= HEAVIEST)
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(
            f"sample_weight must hold finite numbers ≥ 0 (and at most {HEAVIEST:g}), got {array[i]} at index {i}"
        )
    return array


def _weights(w: Any, n: int) -> NDArray[np.float64]:
    try:
        given = as_array(w)
        if given.dtype.kind not in "biufO":
            raise TypeError
        array = floats(given)
    except UNREADABLE:
        raise TypeError(f"sample_weight must hold numbers, got {shown(w)}") from None
    return array if array.ndim else np.full(n, float(array))
