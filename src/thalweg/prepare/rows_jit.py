"""What every transformer does first: the row is copied, and what changes is written over it."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@inlined
def keep(x: Floats, z: Floats) -> None:
    """Copy a row."""
    for f in range(len(x)):
        z[f] = x[f]


@inlined
def carry_over(x: Floats, z: Floats, places: Ints) -> None:
    """Copy a row, each column to its place."""
    for f in range(len(x)):
        z[places[f]] = x[f]
