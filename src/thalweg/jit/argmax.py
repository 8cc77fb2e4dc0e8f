"""The first of the greatest, which is how all learners choose between classes that are equally probable."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import inlined


@inlined
def first_greatest(values: NDArray[np.float64], n: int) -> int:
    """Find the greatest of the first n ≥ 1 values, the first of them among equals; NaN is passed over after place 0.

    >>> first_greatest(np.array([1.0, 3.0, 3.0, 9.0]), 3)
    1
    """
    best = 0
    for i in range(1, n):
        if values[i] > values[best]:
            best = i
    return best
