"""Points in tiles, T × d × L, in each of which the values of a feature lie side by side: distances, and Gaussians.

Point s of a learner that looks at all of its points lies in tile s / L, in place s % L of it. A processor measures
eight points at a time. Loops over features are written out, eight or four of them, so that a sum stays in a register.
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LANES = 64
D_SQUARES, D_ABSOLUTE, D_GREATEST, D_UNEQUAL = range(4)
"""How differences are put together: the sum of squares, the sum, the greatest, how many are not 0."""
G_SPREAD, G_SPREADS = 0, 1
"""The first columns of ``gauge``: mean squared distance from rows to points, of how many rows."""

LOG2E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
MAGIC = 6755399441055744.0  # 1.5 · 2^52: what is added to it is rounded, and stands in its lowest bits
FIFTY_TWO = np.int64(52)
C2, C3, C4, C5, C6 = 1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0
C7, C8, C9, C10 = 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362880.0, 1.0 / 3628800.0


def tiles_of(n: str) -> str:
    """Say in a declaration how many tiles so many points take."""
    return f"({n} + {LANES - 1}) // {LANES}"


# -- distances --------------------------------------------------------------------------------------------------------


@inlined
def least_of(bits: Ints) -> int:
    """Give the least of a tile's numbers, as bits."""
    m = bits[0]
    for i in range(LANES):
        m = min(m, bits[i])
    return int(m)


@inlined
def add_eight_squares(sums: Floats, tile: Floats, x: Floats, f: int) -> None:
    """Add (x - z)² of eight features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    z4, z5, z6, z7 = tile[f + 4], tile[f + 5], tile[f + 6], tile[f + 7]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    x4, x5, x6, x7 = x[f + 4], x[f + 5], x[f + 6], x[f + 7]
    for i in range(LANES):
        s = sums[i]
        s += (x0 - z0[i]) * (x0 - z0[i])
        s += (x1 - z1[i]) * (x1 - z1[i])
        s += (x2 - z2[i]) * (x2 - z2[i])
        s += (x3 - z3[i]) * (x3 - z3[i])
        s += (x4 - z4[i]) * (x4 - z4[i])
        s += (x5 - z5[i]) * (x5 - z5[i])
        s += (x6 - z6[i]) * (x6 - z6[i])
        s += (x7 - z7[i]) * (x7 - z7[i])
        sums[i] = s


@inlined  # like the one above: a loop over the features would not stay in registers
def add_four_squares(sums: Floats, tile: Floats, x: Floats, f: int) -> None:
    """Add (x - z)² of four features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    for i in range(LANES):
        s = sums[i]
        s += (x0 - z0[i]) * (x0 - z0[i])
        s += (x1 - z1[i]) * (x1 - z1[i])
        s += (x2 - z2[i]) * (x2 - z2[i])
        s += (x3 - z3[i]) * (x3 - z3[i])
        sums[i] = s


@inlined
def add_four(sums: Floats, tile: Floats, x: Floats, f: int) -> None:
    """Add |x - z| of four features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    for i in range(LANES):
        s = sums[i]
        s += abs(x0 - z0[i])
        s += abs(x1 - z1[i])
        s += abs(x2 - z2[i])
        s += abs(x3 - z3[i])
        sums[i] = s


@hot
def measure_any(tile: Floats, x: Floats, sums: Floats, nominal: Ints, metric: int) -> None:
    """Add the differences of all features, whatever they are."""
    for f in range(tile.shape[0]):
        values, v = tile[f], x[f]
        if metric == D_UNEQUAL or nominal[f] != 0:
            for i in range(LANES):
                gap = 1.0 if values[i] != v else 0.0
                sums[i] = max(sums[i], gap) if metric == D_GREATEST else sums[i] + gap
        elif metric == D_GREATEST:
            for i in range(LANES):
                sums[i] = max(sums[i], abs(v - values[i]))
        elif metric == D_SQUARES:
            for i in range(LANES):
                sums[i] += (v - values[i]) * (v - values[i])
        else:
            for i in range(LANES):
                sums[i] += abs(v - values[i])


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
        measure_any(tile, x, far, nominal, D_SQUARES)
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


@inlined
def keep_nearest(far: Floats, s: int, held: int, top: Ints) -> int:
    """Let point s take its place among the nearest so far, in order; ``held`` are there. Give how many are then."""
    v, j = far[s], held
    if held == len(top):
        j -= 1
        if v >= far[top[j]]:
            return held
    while j > 0 and far[top[j - 1]] > v:
        top[j] = top[j - 1]
        j -= 1
    top[j] = s
    return min(held + 1, len(top))


# -- Gaussians --------------------------------------------------------------------------------------------------------


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


@inlined
def track_spread(gauge: Floats, far: Floats, n: int) -> None:
    """Let the mean squared distance from rows to points take the n distances of one more row."""
    gauge[G_SPREADS] += 1.0
    gauge[G_SPREAD] += (mean_of(far, n) - gauge[G_SPREAD]) / gauge[G_SPREADS]
