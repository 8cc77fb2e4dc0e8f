"""A sieve for wide rows: rough distances from a float32 shadow of the window, exact ones for the few that may count.

Numbers that differ little from the true ones cannot decide, but they can exclude: a row whose rough squared distance
is more than twice the largest error above the k-th least is not among the k nearest, nor equal to the k-th. All others
are measured exactly, in the order of sums of window_jit.py. So the sieve changes no bit of any answer; it belongs to
one call and is not kept.

With z' = (z - centre) by in float32: |x' - z'|² = |x'|² + |z'|² - 2 x'z', one product and one addition for each value
instead of four steps in float64. Where a query's own scale is another, because rows of its group were learned after
it, the features concerned are corrected in float64.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.neighbours.window_jit import (
    GREATEST,
    HELD,
    LEAST,
    NUMBER,
    SCALE,
    SIZE,
    Desk,
    K,
    Window,
    find_nearest,
    scale_of,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

REST, PAUSE = range(2)
STATUS = 2
"""What the status holds: groups that will still be measured without the sieve, and how many it will be next time."""
BLOCK = 256
"""Products that are added in float32; the sums of the blocks are added in float64."""
PAUSES = 16, 4096
ROUNDING = 2.0**-24
SLACK = 1e-8  # for all that is done in float64
LARGEST_ROUGH = 1e30  # beyond, products in float32 might overflow
LEAST_ROUGH = 1e-40  # for each feature: what underflow can cost


class Sieve(NamedTuple):
    """The tables of the sieve; T = 0 where there is none."""

    shadow: Singles
    """T × d × B: the rows, centred, scaled, rounded; 0 where a value is missing."""
    rows: NDArray[Any]
    """T B × d: the rows themselves, each in one piece."""
    norms: Floats
    """T B: the squared lengths of the rows of the shadow."""
    centre: Floats
    """d: what was subtracted."""
    by: Floats
    """d: what was multiplied; -1: this feature has no shadow yet."""
    query: Singles
    """Q × d: the queries, centred, scaled, rounded."""
    sums: Singles
    """Q × B: sums of products in one block."""
    errors: Floats
    """Q: how far a rough squared distance may be from the true one."""
    chosen: Ints
    """T B: the rows that must be measured exactly."""
    status: Ints
    """See STATUS."""


@called
def lay_down(window: Window, sieve: Sieve, X: NDArray[Any], r: int, slot: int) -> None:
    """Let the sieve take row r, which has been learned, at this slot."""
    B = sieve.shadow.shape[2]
    tile, lane, row = sieve.shadow[slot // B], slot % B, sieve.rows[slot]
    norm = 0.0
    for f in range(tile.shape[0]):
        row[f] = X[r, f]
        z = shade(float(X[r, f]), sieve.centre[f], sieve.by[f])
        tile[f, lane] = z
        norm += float(z) * float(z)
    sieve.norms[slot] = norm


@inlined
def shade(v: float, centre: float, by: float) -> Any:
    """Centre, scale and round a value."""
    return np.float32(0.0) if math.isnan(v) or by <= 0.0 else np.float32((v - centre) * by)


@called
def refresh(window: Window, sieve: Sieve, rules: Ints) -> bool:
    """Give every feature whose scale has changed a new shadow; False: too many have, so it does not pay."""
    changed, d, n = 0, len(sieve.by), window.head[SIZE]
    for f in range(d):
        if sieve.by[f] >= 0.0 and sieve.by[f] != scale_of(window.spans[f], rules[SCALE]):
            changed += 1
    if 4 * changed > d:
        return False
    for f in range(d):
        span = window.spans[f]
        by = scale_of(span, rules[SCALE])
        if sieve.by[f] != by:
            sieve.by[f] = by
            sieve.centre[f] = 0.5 * span[LEAST] + 0.5 * span[GREATEST] if span[LEAST] <= span[GREATEST] else 0.0
            darken(window.ring, sieve, f, n)
    for s in range(n):
        if math.isnan(sieve.norms[s]):
            add_up(sieve, s)
    return True


@called
def darken(ring: NDArray[Any], sieve: Sieve, f: int, n: int) -> None:
    """Make the shadow of one feature; NaN for the length of a row that lay far outside: little would be left of it."""
    B, centre, by = ring.shape[2], sieve.centre[f], sieve.by[f]
    for t in range((n + B - 1) // B):
        values, shadow, norms = ring[t, f], sieve.shadow[t, f], sieve.norms[t * B : t * B + B]
        for i in range(B):
            old = float(shadow[i])
            new = shade(float(values[i]), centre, by)
            shadow[i] = new
            norms[i] += float(new) * float(new) - old * old if old * old <= 1.0 else math.nan


@called
def add_up(sieve: Sieve, s: int) -> None:
    """Find the length of one row anew."""
    B = sieve.shadow.shape[2]
    tile, lane, norm = sieve.shadow[s // B], s % B, 0.0
    for f in range(tile.shape[0]):
        norm += float(tile[f, lane]) * float(tile[f, lane])
    sieve.norms[s] = norm


@called
def prepare(window: Window, desk: Desk, sieve: Sieve, queries: int) -> bool:
    """Write the queries for the sieve and bound their errors; False: they are not for it."""
    d, n = len(sieve.by), window.head[SIZE]
    longest = 0.0
    for s in range(n):
        if not sieve.norms[s] < LARGEST_ROUGH:
            return False
        longest = max(longest, sieve.norms[s])
    for q in range(queries):
        own, moved, changed = 0.0, 0.0, 0
        for f in range(d):
            if desk.kind[q, f] != NUMBER:
                return False
            x, by, now = desk.x[q, f], desk.by[q, f], sieve.by[f]
            z = np.float32((x - sieve.centre[f]) * now)
            sieve.query[q, f] = z
            own += float(z) * float(z)
            if by != now:
                changed += 1
                span = window.spans[f]
                if span[LEAST] <= span[GREATEST]:
                    reach = max(abs(x - span[LEAST]), abs(x - span[GREATEST])) * max(by, now)
                    moved += reach * reach
        both = math.sqrt(longest) + math.sqrt(own)
        both = both * both
        if 4 * changed > d or not both + moved < LARGEST_ROUGH:
            return False
        # products: BLOCK roundings of their sum ≤ both / 4, twice; two roundings of x' and z'; the rest is slack
        sieve.errors[q] = (0.625 * BLOCK * ROUNDING + SLACK) * both + SLACK * moved + d * LEAST_ROUGH
    return True


@called
def measure_roughly(window: Window, desk: Desk, sieve: Sieve, queries: int) -> None:
    """Measure the rough squared distance of each query from all rows."""
    d, B = sieve.shadow.shape[1:]
    for t in range((window.head[SIZE] + B - 1) // B):
        tile = sieve.shadow[t]
        for q in range(queries):
            totals = desk.sums[q, t * B : t * B + B]
            for i in range(B):
                totals[i] = 0.0
        for first in range(0, d, BLOCK):
            last = min(d, first + BLOCK)
            eight = last - (last - first) % 8
            for q in range(queries):
                sums = sieve.sums[q]
                for i in range(B):
                    sums[i] = np.float32(0.0)
            for f in range(first, eight, 8):
                for q in range(0, queries - 1, 2):
                    add_eight_twice(sieve.sums[q], sieve.sums[q + 1], tile, sieve.query[q], sieve.query[q + 1], f, B)
                if queries % 2 == 1:
                    add_eight(sieve.sums[queries - 1], tile, sieve.query[queries - 1], f, B)
            for q in range(queries):
                sums, totals = sieve.sums[q], desk.sums[q, t * B : t * B + B]
                for f in range(eight, last):
                    add_one(sums, tile[f], sieve.query[q, f], B)
                for i in range(B):
                    totals[i] += sums[i]
    for q in range(queries):
        complete(window, desk, sieve, q)


@inlined
def add_eight(sums: Singles, tile: Singles, x: Singles, f: int, n: int) -> None:
    """Add the products of eight features."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    z4, z5, z6, z7 = tile[f + 4], tile[f + 5], tile[f + 6], tile[f + 7]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    x4, x5, x6, x7 = x[f + 4], x[f + 5], x[f + 6], x[f + 7]
    for i in range(n):
        s = sums[i]
        s += x0 * z0[i]
        s += x1 * z1[i]
        s += x2 * z2[i]
        s += x3 * z3[i]
        s += x4 * z4[i]
        s += x5 * z5[i]
        s += x6 * z6[i]
        s += x7 * z7[i]
        sums[i] = s


@inlined
def add_eight_twice(sums: Singles, more: Singles, tile: Singles, x: Singles, y: Singles, f: int, n: int) -> None:
    """Add the products of eight features for two queries."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    z4, z5, z6, z7 = tile[f + 4], tile[f + 5], tile[f + 6], tile[f + 7]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    x4, x5, x6, x7 = x[f + 4], x[f + 5], x[f + 6], x[f + 7]
    y0, y1, y2, y3 = y[f], y[f + 1], y[f + 2], y[f + 3]
    y4, y5, y6, y7 = y[f + 4], y[f + 5], y[f + 6], y[f + 7]
    for i in range(n):
        s, t = sums[i], more[i]
        s += x0 * z0[i]
        t += y0 * z0[i]
        s += x1 * z1[i]
        t += y1 * z1[i]
        s += x2 * z2[i]
        t += y2 * z2[i]
        s += x3 * z3[i]
        t += y3 * z3[i]
        s += x4 * z4[i]
        t += y4 * z4[i]
        s += x5 * z5[i]
        t += y5 * z5[i]
        s += x6 * z6[i]
        t += y6 * z6[i]
        s += x7 * z7[i]
        t += y7 * z7[i]
        sums[i], more[i] = s, t


@inlined
def add_one(sums: Singles, values: Singles, x: Any, n: int) -> None:
    """Add the products of one feature."""
    for i in range(n):
        sums[i] += x * values[i]


@called
def complete(window: Window, desk: Desk, sieve: Sieve, q: int) -> None:
    """Turn the products of query q into squared distances, with its own scale."""
    n, B = window.head[SIZE], window.ring.shape[2]
    sums, own = desk.sums[q], 0.0
    for f in range(len(sieve.by)):
        own += float(sieve.query[q, f]) * float(sieve.query[q, f])
    for s in range(n):
        sums[s] = own + sieve.norms[s] - 2.0 * sums[s]
    for f in range(len(sieve.by)):
        by, now, x = desk.by[q, f], sieve.by[f], desk.x[q, f]
        if by != now:
            for t in range((n + B - 1) // B):
                values, part = window.ring[t, f], sums[t * B : t * B + B]
                for i in range(B):
                    gap, other = (x - values[i]) * by, (x - values[i]) * now
                    part[i] += gap * gap - other * other


@called
def sift(window: Window, desk: Desk, sieve: Sieve, rules: Ints, q: int) -> bool:
    """Measure those rows exactly that may be among the nearest of query q, and put all others infinitely far.

    False: they are so many that the sieve does not pay.
    """
    n, sums, chosen = desk.moments[q, HELD], desk.sums[q], sieve.chosen
    if n == 0:
        return True
    find_nearest(sums, n, desk.nearest, min(n, rules[K]))
    limit, m = desk.nearest[0] + 2.0 * sieve.errors[q], 0
    for s in range(n):
        if sums[s] <= limit:
            chosen[m] = s
            m += 1
        else:
            sums[s] = math.inf
    x, by, rows, i = desk.x[q], desk.by[q], sieve.rows, 0
    while i + 4 <= m:
        z0, z1, z2, z3 = rows[chosen[i]], rows[chosen[i + 1]], rows[chosen[i + 2]], rows[chosen[i + 3]]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for f in range(len(x)):
            gap = (x[f] - z0[f]) * by[f]
            s0 += gap * gap
            gap = (x[f] - z1[f]) * by[f]
            s1 += gap * gap
            gap = (x[f] - z2[f]) * by[f]
            s2 += gap * gap
            gap = (x[f] - z3[f]) * by[f]
            s3 += gap * gap
        sums[chosen[i]], sums[chosen[i + 1]], sums[chosen[i + 2]], sums[chosen[i + 3]] = s0, s1, s2, s3
        i += 4
    while i < m:
        z0, s0 = rows[chosen[i]], 0.0
        for f in range(len(x)):
            gap = (x[f] - z0[f]) * by[f]
            s0 += gap * gap
        sums[chosen[i]] = s0
        i += 1
    return bool(8 * m <= n + 512)


@inlined
def pause(sieve: Sieve) -> None:
    """Do without the sieve for a while, each time for longer."""
    sieve.status[REST] = sieve.status[PAUSE]
    sieve.status[PAUSE] = min(2 * sieve.status[PAUSE], PAUSES[1])
    sieve.by[:] = -1.0
