"""A look at the values before a detector takes them."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled


@compiled
def first_unfit(values: NDArray[np.float64], least: float, most: float) -> int:
    """Find the first value that is no number, or outside of these bounds; -1: none."""
    for k in range(len(values)):
        if not least <= values[k] <= most:
            return k
    return -1
