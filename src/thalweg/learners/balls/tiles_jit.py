"""Points in tiles, T × d × L, in each of which the values of a feature lie side by side: all distances, and Gaussians.

Point s lies in tile s / L, in place s % L of it. For learners that look at all of their points.
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.ball_index_jit import LANES, SQUARES, add_eight_squares, add_four_squares, measure_any

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOG2E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
MAGIC = 6755399441055744.0  # 1.5 · 2^52: what is added to it is rounded, and stands in its lowest bits
FIFTY_TWO = np.int64(52)
C2, C3, C4, C5, C6 = 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0
C7, C8, C9, C10 = 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0


@inlined
def any_of(flags: Ints) -> int:
    """Give 1 where any flag is set."""
    found = 0
    for i in range(len(flags)):
        found |= flags[i]
    return found


@inlined
def put(tiles: Floats, s: int, x: Floats) -> None:
    """Write point s."""
    tile, lane = tiles[s // LANES], s % LANES
    for f in range(len(x)):
        tile[f, lane] = x[f]


@hot
def measure_tile(tile: Floats, x: Floats, far: Floats, nominal: Ints, mixed: int) -> None:
    """Write the squared distances of a row from the points of a tile."""
    d = tile.shape[0]
    for i in range(LANES):
        far[i] = 0.0
    if mixed != 0:
        measure_any(tile, x, far, nominal, SQUARES)
        return
    f = 0
    while f + 8 <= d:
        add_eight_squares(far, tile, x, f)
        f += 8
    if f + 4 <= d:
        add_four_squares(far, tile, x, f)
        f += 4
    while f < d:
        values, v = tile[f], x[f]
        for i in range(LANES):
            far[i] += (v - values[i]) * (v - values[i])
        f += 1


@inlined
def measure(tiles: Floats, n: int, x: Floats, far: Floats, nominal: Ints, mixed: int) -> None:
    """Write the squared distances of a row from n points."""
    for t in range((n + LANES - 1) // LANES):
        measure_tile(tiles[t], x, far[t * LANES : (t + 1) * LANES], nominal, mixed)


@hot
def weigh(far: Floats, by: float, near: Floats, whole: Floats, n: int) -> None:
    """exp(-far · by) but for powers of two: these stand in the lowest bits of ``whole``."""
    for i in range(n):
        v = -far[i] * by
        v = v if v > -700.0 else -700.0
        k = v * LOG2E + MAGIC
        whole[i] = k
        k = k - MAGIC
        r = v - k * LN2_HIGH - k * LN2_LOW
        p = ((((C10 * r + C9) * r + C8) * r + C7) * r + C6) * r + C5
        near[i] = ((((p * r + C4) * r + C3) * r + C2) * r + 1.0) * r + 1.0


@hot
def raise_powers(near_bits: Ints, whole_bits: Ints, n: int) -> None:
    """Put the powers of two in."""
    for i in range(n):
        near_bits[i] += whole_bits[i] << FIFTY_TWO


@hot
def mean_of(far: Floats, n: int) -> float:
    """The mean of n numbers, added up in eight sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    e, f, g, h = 0.0, 0.0, 0.0, 0.0
    by, i = 1.0 / n, 0
    while i + 8 <= n:
        a += far[i] * by
        b += far[i + 1] * by
        c += far[i + 2] * by
        d += far[i + 3] * by
        e += far[i + 4] * by
        f += far[i + 5] * by
        g += far[i + 6] * by
        h += far[i + 7] * by
        i += 8
    while i < n:
        a += far[i] * by
        i += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))
