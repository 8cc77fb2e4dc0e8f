"""Sums over vectors in one fixed order, so that the result is the same on every machine."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import inlined

Floats = NDArray[np.float64]


@inlined
def add(a: Floats, f: float, v: Floats, n: int) -> None:
    """a += f v."""
    for j in range(n):
        a[j] += f * v[j]


@inlined
def dot(a: Floats, b: Floats, n: int) -> float:
    """Σ a b, in eight parts, so that no addition waits for the one before."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = n - n % 8
    for j in range(0, whole, 8):
        s0 += a[j] * b[j]
        s1 += a[j + 1] * b[j + 1]
        s2 += a[j + 2] * b[j + 2]
        s3 += a[j + 3] * b[j + 3]
        s4 += a[j + 4] * b[j + 4]
        s5 += a[j + 5] * b[j + 5]
        s6 += a[j + 6] * b[j + 6]
        s7 += a[j + 7] * b[j + 7]
    for j in range(whole, n):
        s0 += a[j] * b[j]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
