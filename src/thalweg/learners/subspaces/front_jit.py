"""Rows in a few directions: less a centre, turned, and cut where they are far out."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled
from thalweg.learners.subspaces.patches_jit import LARGEST

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def project(
    A: Floats, which: Ints, centre: Floats, directions: Floats, most: float, places: Ints, out: Floats
) -> None:  # fmt: skip
    """Write row A[which[j]], less the centre, in these directions (one in each column), to out[places[j]]."""
    Q, p = directions.shape
    for j in range(len(which)):
        row, given = out[places[j]], A[which[j]]
        row[:] = 0.0
        for i in range(Q):
            d = min(max(given[i], -LARGEST), LARGEST) - centre[i]
            if d != 0.0:
                for r in range(p):
                    row[r] += d * directions[i, r]
        for r in range(p):
            row[r] = min(max(row[r], -most), most)
