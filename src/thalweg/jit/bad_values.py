"""The first value among rows that no learner may see."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled


@compiled
def first_bad(X: NDArray[np.float64], ceiling: NDArray[np.int64], allow_nan: bool) -> int:
    """Find the first cell (row-major) that no learner may see; -1: none.

    Infinity is never allowed, NaN only if asked for, and a nominal cell (ceiling ≥ 0) must hold a whole code from 0
    and below the ceiling.
    """
    n, d = X.shape
    for i in range(n):
        for f in range(d):
            v = X[i, f]
            if not math.isfinite(v):
                if not (allow_nan and v != v):
                    return int(i * d + f)
            elif ceiling[f] >= 0 and (v < 0.0 or v >= ceiling[f] or v != math.floor(v)):
                return int(i * d + f)
    return -1


@compiled
def first_bad_entry(
    data: NDArray[np.float64], indices: NDArray[np.int64], indptr: NDArray[np.int64]
) -> tuple[int, bool, bool]:
    """Find the first value of sparse rows that is not finite, or that repeats the feature before it; -1: none.

    Also: are there features that are not in order, and values that are 0?
    """
    bad, unsorted, zeros = -1, False, False
    for i in range(len(indptr) - 1):
        for e in range(indptr[i], indptr[i + 1]):
            v = data[e]
            if v == 0.0:
                zeros = True
            if e > indptr[i] and indices[e] < indices[e - 1]:
                unsorted = True
            twice = e > indptr[i] and indices[e] == indices[e - 1]
            if bad < 0 and (twice or not math.isfinite(v)):
                bad = int(e)
    return bad, unsorted, zeros
