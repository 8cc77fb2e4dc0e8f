"""Two sieves for wide rows: rough distances from a float32 shadow of the window, exact ones for the few that may count.

Numbers that differ little from the true ones cannot decide, but they can exclude. The rows that seem nearest are
measured exactly: the k-th of them is a bound, and a row that is farther even by its rough distance less the largest
error is not among the k nearest, nor equal to the k-th. All others are measured exactly, in the order of sums of
window_jit.py, but no further than to the bound. So the sieves change no bit of any answer; they belong to one call and
are not kept.

With z' = (z - centre) by in float32: |x' - z'|² = |x'|² + |z'|² - 2 x'z', one product and one addition for each value
instead of four steps in float64.

The coarse sieve adds up every eighth feature only, which is never more than the whole: it is enough where rows lie in
clusters. Its scales may be a little out of date. The queries for which it leaves too many rows go through the fine
one, which takes all features. Where a query's own scale is another there, because rows of its group were learned after
it, the features concerned are corrected in float64.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.learners.windows.window_jit import (
    GREATEST,
    HELD,
    LEAST,
    NUMBER,
    SCALE,
    SEEN,
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

REST, PAUSE, REST_COARSE, PAUSE_COARSE = range(4)
STATUS = 4
"""What the status holds: groups that will still be measured without the sieves, and how many it will be next time; the
same for the coarse one alone."""
ALL, FEW = range(2)
"""Squared lengths: of all features, and of those that the coarse sieve takes."""
EVERY = 8
"""One feature of so many goes through the coarse sieve."""
BLOCK = 256
"""Products that are added in float32; the sums of the blocks are added in float64."""
PAUSES = 16, 4096
LEAST_SCALE = 0.9  # of a query for the coarse sieve, as a share of the shadow's: distances shrink by its square
STALE_SCALES = 0.95, 1.25  # beyond, a feature gets a new shadow
ROUNDING = 2.0**-24
SLACK = 1e-8  # for all that is done in float64
LARGEST_ROUGH = 1e30  # beyond, products in float32 might overflow
LEAST_ROUGH = 1e-40  # for each feature: what underflow can cost
STRETCH = 64  # features between two looks at the bound


class Sieve(NamedTuple):
    """The tables of the sieves; T = 0 where there are none."""

    shadow: Singles
    """T × d × B: the rows, centred, scaled, rounded; 0 where a value is missing."""
    rows: NDArray[Any]
    """(T B + G) × d: the rows themselves, each in one piece; then those pushed out by the group."""
    lengths: Floats
    """2 × T B: the squared lengths of the rows of the shadow, see ALL."""
    centre: Floats
    """d: what was subtracted."""
    by: Floats
    """d: what was multiplied; -1: this feature has no shadow yet."""
    query: Singles
    """Q × d: the queries, centred, scaled, rounded."""
    own: Floats
    """Q × 2: their squared lengths."""
    one: Singles
    """d: room for one row."""
    sums: Singles
    """Q × B: sums of products in one block."""
    errors: Floats
    """Q: how far a rough squared distance may be from the true one."""
    hard: Ints
    """Q: the queries that go through a sieve."""
    chosen: Ints
    """T B + G: the rows of one query that must be measured exactly ..."""
    exact: Floats
    """T B + G: ... and what came out; infinite where it is beyond the bound."""
    status: Ints
    """See STATUS."""


# -- the shadow -------------------------------------------------------------------------------------------------------


@called
def lay_down(sieve: Sieve, X: NDArray[Any], r: int, slot: int) -> None:
    """Let the sieves take row r, which has been learned, at this slot."""
    B, row, one = sieve.shadow.shape[2], sieve.rows[slot], sieve.one
    tile, lane = sieve.shadow[slot // B], slot % B
    for f in range(len(one)):
        row[f] = X[r, f]
        one[f] = shade(float(X[r, f]), sieve.centre[f], sieve.by[f])
    for f in range(len(one)):
        tile[f, lane] = one[f]
    sieve.lengths[FEW, slot], sieve.lengths[ALL, slot] = lengths_of(one)


@called
def set_aside(sieve: Sieve, slot: int, g: int) -> None:
    """Keep the row that the next one replaces, as the group's g-th."""
    B, T = sieve.shadow.shape[2], sieve.shadow.shape[0]
    row, kept = sieve.rows[slot], sieve.rows[T * B + g]
    for f in range(len(row)):
        kept[f] = row[f]


@called
def hand_over(desk: Desk, sieve: Sieve, pushed: int) -> None:
    """Give the rows set aside to those who measure without a sieve."""
    B, T = sieve.shadow.shape[2], sieve.shadow.shape[0]
    for g in range(pushed):
        for f in range(len(sieve.by)):
            desk.left[f, g] = sieve.rows[T * B + g, f]


@inlined
def shade(v: float, centre: float, by: float) -> Any:
    """Centre, scale and round a value."""
    return np.float32(0.0) if math.isnan(v) or by <= 0.0 else np.float32((v - centre) * by)


@inlined
def lengths_of(z: Singles) -> tuple[float, float]:
    """Give the squared length of a row: of every eighth feature, and of all."""
    few, rest, f, eight = 0.0, 0.0, 0, len(z) - len(z) % EVERY
    while f < eight:
        z0, z1, z2, z3 = float(z[f]), float(z[f + 1]), float(z[f + 2]), float(z[f + 3])
        z4, z5, z6, z7 = float(z[f + 4]), float(z[f + 5]), float(z[f + 6]), float(z[f + 7])
        few += z0 * z0
        rest += ((z1 * z1 + z2 * z2) + (z3 * z3 + z4 * z4)) + (z5 * z5 + (z6 * z6 + z7 * z7))
        f += EVERY
    while f < len(z):
        if f % EVERY == 0:
            few += float(z[f]) * float(z[f])
        else:
            rest += float(z[f]) * float(z[f])
        f += 1
    return few, few + rest


@called
def refresh(window: Window, sieve: Sieve, rules: Ints, least: float, greatest: float) -> None:
    """Give every feature a new shadow whose scale, as a share of the shadow's, is below or above these."""
    n, renewed = window.head[SIZE], False
    for f in range(len(sieve.by)):
        span = window.spans[f]
        by = scale_of(span, rules[SCALE])
        if is_stale(by, sieve.by[f], least, greatest):
            sieve.by[f] = by
            sieve.centre[f] = 0.5 * span[LEAST] + 0.5 * span[GREATEST] if span[LEAST] <= span[GREATEST] else 0.0
            darken(window.ring, sieve, f, n)
            renewed = True
    for s in range(n if renewed else 0):
        if math.isnan(sieve.lengths[ALL, s]):
            add_up(sieve, s)


@inlined
def is_stale(by: float, now: float, least: float, greatest: float) -> bool:
    """Is the scale of a shadow out of date?"""
    return now < 0.0 or by < least * now or by > greatest * now


@called
def darken(ring: NDArray[Any], sieve: Sieve, f: int, n: int) -> None:
    """Make the shadow of one feature; NaN for the length of a row that lay far outside: little would be left of it."""
    B, centre, by = ring.shape[2], sieve.centre[f], sieve.by[f]
    share = 1.0 if f % EVERY == 0 else 0.0
    for t in range((n + B - 1) // B):
        values, shadow = ring[t, f], sieve.shadow[t, f]
        few, whole = sieve.lengths[FEW, t * B : t * B + B], sieve.lengths[ALL, t * B : t * B + B]
        for i in range(B):
            old = float(shadow[i])
            new = shade(float(values[i]), centre, by)
            shadow[i] = new
            more = float(new) * float(new) - old * old if old * old <= 1.0 else math.nan
            whole[i] += more
            few[i] += share * more


@called
def add_up(sieve: Sieve, s: int) -> None:
    """Find the length of one row anew."""
    B = sieve.shadow.shape[2]
    tile, lane = sieve.shadow[s // B], s % B
    for f in range(tile.shape[0]):
        sieve.one[f] = tile[f, lane]
    sieve.lengths[FEW, s], sieve.lengths[ALL, s] = lengths_of(sieve.one)


# -- rough distances --------------------------------------------------------------------------------------------------


@called
def prepare(window: Window, desk: Desk, sieve: Sieve, hard: Ints) -> bool:
    """Write the queries for the sieves and bound their errors; False: they are not for them."""
    longest = 0.0
    for s in range(window.head[SIZE]):
        if not sieve.lengths[ALL, s] < LARGEST_ROUGH:
            return False
        longest = max(longest, sieve.lengths[ALL, s])
    for q in hard:
        x, z, others = desk.x[q], sieve.query[q], 0
        for f in range(len(z)):
            others |= desk.kind[q, f] ^ NUMBER
            z[f] = np.float32((x[f] - sieve.centre[f]) * sieve.by[f])
        sieve.own[q, FEW], sieve.own[q, ALL] = lengths_of(z)
        both = math.sqrt(longest) + math.sqrt(sieve.own[q, ALL])
        both = both * both
        if others != 0 or not both < LARGEST_ROUGH:
            return False
        # products: BLOCK roundings of their sum ≤ both / 4, twice; two roundings of x' and z'; the rest is slack
        sieve.errors[q] = (0.625 * BLOCK * ROUNDING + SLACK) * both + len(z) * LEAST_ROUGH
    return True


@inlined
def is_near_scale(desk: Desk, sieve: Sieve, q: int) -> bool:
    """Is no scale of query q far below that of the shadow?"""
    by, below = desk.by[q], 0
    for f in range(len(by)):
        below += 1 if by[f] < LEAST_SCALE * sieve.by[f] else 0
    return below == 0


@called
def measure_roughly(window: Window, desk: Desk, sieve: Sieve, hard: Ints, step: int) -> None:
    """Measure the rough squared distances of the queries from all rows: in every feature, or every eighth (step)."""
    d, B = sieve.shadow.shape[1:]
    m, which = len(hard), ALL if step == 1 else FEW
    for t in range((window.head[SIZE] + B - 1) // B):
        tile, lengths = sieve.shadow[t], sieve.lengths[which, t * B : t * B + B]
        for q in hard:
            totals, own = desk.sums[q, t * B : t * B + B], sieve.own[q, which]
            for i in range(B):
                totals[i] = own + lengths[i]
        for first in range(0, d, BLOCK * step):
            last = min(d, first + BLOCK * step)
            for q in hard:
                sums = sieve.sums[q]
                for i in range(B):
                    sums[i] = np.float32(0.0)
            f = first
            while f + 7 * step < last:
                for j in range(0, m - 1, 2):
                    a, b = hard[j], hard[j + 1]
                    add_eight_twice(sieve.sums[a], sieve.sums[b], tile, sieve.query[a], sieve.query[b], f, step, B)
                if m % 2 == 1:
                    add_eight(sieve.sums[hard[m - 1]], tile, sieve.query[hard[m - 1]], f, step, B)
                f += 8 * step
            for q in hard:
                sums, totals = sieve.sums[q], desk.sums[q, t * B : t * B + B]
                for g in range(f, last, step):
                    add_one(sums, tile[g], sieve.query[q, g], B)
                for i in range(B):
                    totals[i] -= 2.0 * sums[i]


@inlined
def add_eight(sums: Singles, tile: Singles, x: Singles, f: int, c: int, n: int) -> None:
    """Add the products of eight features, c apart."""
    z0, z1, z2, z3 = tile[f], tile[f + c], tile[f + 2 * c], tile[f + 3 * c]
    z4, z5, z6, z7 = tile[f + 4 * c], tile[f + 5 * c], tile[f + 6 * c], tile[f + 7 * c]
    x0, x1, x2, x3 = x[f], x[f + c], x[f + 2 * c], x[f + 3 * c]
    x4, x5, x6, x7 = x[f + 4 * c], x[f + 5 * c], x[f + 6 * c], x[f + 7 * c]
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
def add_eight_twice(
    sums: Singles, more: Singles, tile: Singles, x: Singles, y: Singles, f: int, c: int, n: int
) -> None:  # fmt: skip
    """Add the products of eight features, c apart, for two queries."""
    z0, z1, z2, z3 = tile[f], tile[f + c], tile[f + 2 * c], tile[f + 3 * c]
    z4, z5, z6, z7 = tile[f + 4 * c], tile[f + 5 * c], tile[f + 6 * c], tile[f + 7 * c]
    x0, x1, x2, x3 = x[f], x[f + c], x[f + 2 * c], x[f + 3 * c]
    x4, x5, x6, x7 = x[f + 4 * c], x[f + 5 * c], x[f + 6 * c], x[f + 7 * c]
    y0, y1, y2, y3 = y[f], y[f + c], y[f + 2 * c], y[f + 3 * c]
    y4, y5, y6, y7 = y[f + 4 * c], y[f + 5 * c], y[f + 6 * c], y[f + 7 * c]
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
def correct(window: Window, desk: Desk, sieve: Sieve, q: int) -> bool:
    """Turn the rough distances of query q into such with its own scale, and bound the error; False: it does not pay."""
    n, B, sums, moved, changed = window.head[SIZE], window.ring.shape[2], desk.sums[q], 0.0, 0
    for f in range(len(sieve.by)):
        by, now, x, span = desk.by[q, f], sieve.by[f], desk.x[q, f], window.spans[f]
        if by == now:
            continue
        changed += 1
        if span[LEAST] <= span[GREATEST]:
            reach = max(abs(x - span[LEAST]), abs(x - span[GREATEST])) * max(by, now)
            moved += reach * reach
        if 4 * changed > len(sieve.by) or not moved < LARGEST_ROUGH:
            return False
        for t in range((n + B - 1) // B):
            values, part = window.ring[t, f], sums[t * B : t * B + B]
            for i in range(B):
                gap, other = (x - values[i]) * by, (x - values[i]) * now
                part[i] += gap * gap - other * other
    sieve.errors[q] += SLACK * moved
    return True


# -- exact ones -------------------------------------------------------------------------------------------------------


@called
def sift(desk: Desk, sieve: Sieve, rules: Ints, q: int, pushed: int, shrunk: float, most: int) -> int:
    """Measure those rows exactly that may be among the nearest of query q, and put all others infinitely far.

    shrunk: a rough distance times this is no more than the true one, but for the error. most: if more rows than these
    may be among the nearest, nothing is measured. Gives how many they are.
    """
    moment, sums, chosen, exact = desk.moments[q], desk.sums[q], sieve.chosen, sieve.exact
    n, back, m = moment[HELD], len(sums) - len(desk.slots), 0
    k = min(n, rules[K])
    if n == 0:
        return 0
    for g in range(moment[SEEN], pushed):  # what lies there now came after the query
        if desk.slots[g] < n:
            sums[desk.slots[g]] = math.inf
    find_nearest(sums, n, desk.nearest, k)
    nearest = desk.nearest[0] if desk.nearest[0] < math.inf else -math.inf
    for s in range(n):
        if sums[s] <= nearest:
            chosen[m] = s
            m += 1
    if m > most:
        return m
    bound = math.inf
    if m > 0:
        measure_rows(sieve.rows, desk.x[q], desk.by[q], chosen[:m], exact[:m], bound)
        find_nearest(exact, m, desk.nearest, k)
        bound = desk.nearest[0]
    first, limit = m, bound / shrunk * (1.0 + SLACK) + sieve.errors[q]
    for s in range(n):
        if nearest < sums[s] <= limit and sums[s] < math.inf:
            chosen[m] = s
            m += 1
    if m > most:
        return m
    for g in range(moment[SEEN], pushed):
        if desk.slots[g] < n:
            chosen[m] = back + g
            m += 1
    measure_rows(sieve.rows, desk.x[q], desk.by[q], chosen[first:m], exact[first:m], bound)
    for s in range(n):
        sums[s] = math.inf
    for i in range(m):
        sums[chosen[i] if chosen[i] < back else desk.slots[chosen[i] - back]] = exact[i]
    return m


@inlined
def measure_rows(rows: NDArray[Any], x: Floats, by: Floats, chosen: Ints, exact: Floats, bound: float) -> None:
    """Measure the chosen rows, four at a time; infinite for those beyond the bound."""
    m, d, i = len(chosen), len(x), 0
    while i < m:
        z0, z1 = rows[chosen[i]], rows[chosen[min(i + 1, m - 1)]]
        z2, z3 = rows[chosen[min(i + 2, m - 1)]], rows[chosen[min(i + 3, m - 1)]]
        s0, s1, s2, s3, f = 0.0, 0.0, 0.0, 0.0, 0
        while f < d and min(min(s0, s1), min(s2, s3)) <= bound:
            last = min(d, f + STRETCH)
            for g in range(f, last):
                gap = (x[g] - z0[g]) * by[g]
                s0 += gap * gap
                gap = (x[g] - z1[g]) * by[g]
                s1 += gap * gap
                gap = (x[g] - z2[g]) * by[g]
                s2 += gap * gap
                gap = (x[g] - z3[g]) * by[g]
                s3 += gap * gap
            f = last
        exact[i] = s0 if s0 <= bound else math.inf
        if i + 1 < m:
            exact[i + 1] = s1 if s1 <= bound else math.inf
        if i + 2 < m:
            exact[i + 2] = s2 if s2 <= bound else math.inf
        if i + 3 < m:
            exact[i + 3] = s3 if s3 <= bound else math.inf
        i += 4


# -- a group ----------------------------------------------------------------------------------------------------------


@called
def measure_some(window: Window, desk: Desk, sieve: Sieve, rules: Ints, queries: int, pushed: int) -> bool:
    """Measure what may be among the nearest of each query, all else is infinitely far; False: nothing was measured."""
    status = sieve.status
    if status[REST] > 0:
        status[REST] -= 1
        return False
    m = 0
    for q in range(queries):
        sieve.hard[q] = q
    if status[REST_COARSE] > 0:
        status[REST_COARSE] -= 1
        m = queries
    else:
        m = pass_coarsely(window, desk, sieve, rules, queries, pushed)
        if 2 * m > queries:
            status[REST_COARSE] = status[PAUSE_COARSE]
            status[PAUSE_COARSE] = min(2 * status[PAUSE_COARSE], PAUSES[1])
    if m == 0 or pass_finely(window, desk, sieve, rules, sieve.hard[:m], pushed):
        return True
    status[REST] = status[PAUSE]
    status[PAUSE] = min(2 * status[PAUSE], PAUSES[1])
    sieve.by[:] = -1.0
    return False


@called
def pass_coarsely(window: Window, desk: Desk, sieve: Sieve, rules: Ints, queries: int, pushed: int) -> int:
    """Let the coarse sieve try the queries; give how many it could not do, and list them in ``hard``."""
    refresh(window, sieve, rules, STALE_SCALES[0], STALE_SCALES[1])
    if not prepare(window, desk, sieve, sieve.hard[:queries]):
        return queries
    measure_roughly(window, desk, sieve, sieve.hard[:queries], EVERY)
    m, shrunk = 0, LEAST_SCALE * LEAST_SCALE
    for q in range(queries):
        most = desk.moments[q, HELD] // 16 + 48
        if not is_near_scale(desk, sieve, q) or sift(desk, sieve, rules, q, pushed, shrunk, most) > most:
            sieve.hard[m] = q
            m += 1
    return m


@called
def pass_finely(window: Window, desk: Desk, sieve: Sieve, rules: Ints, hard: Ints, pushed: int) -> bool:
    """Let the fine sieve do the queries; False: it cannot."""
    refresh(window, sieve, rules, 1.0, 1.0)
    if not prepare(window, desk, sieve, hard):
        return False
    measure_roughly(window, desk, sieve, hard, 1)
    for q in hard:
        if not correct(window, desk, sieve, q):
            return False
    for q in hard:
        n = desk.moments[q, HELD]
        if sift(desk, sieve, rules, q, pushed, 1.0, n // 8 + 64) > n // 8 + 64:
            return False
    return True
