"""Two sieves for wide rows: rough distances from a float32 shadow of the window, exact ones for the few that may count.

Numbers that differ little from the true ones cannot decide, but they can exclude. The rows that seem nearest are
measured exactly: the k-th of them is a bound, and a row that is farther even by its rough distance less the largest
error is not among the k nearest, nor equal to the k-th. All others are measured exactly, in the order of sums of
distances_jit.py, but no further than to the bound. So the sieves change no bit of any answer. See shadow_jit.py for the
tables.

The coarse sieve adds up every eighth feature only, which is never more than the whole: it is enough where rows lie in
clusters. Its scales may be a little out of date. The queries for which it leaves too many rows go through the fine
one, which takes all features. Where a query's own scale is another there, because rows of its group were learned after
it, the features concerned are corrected in float64.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.learners.windows.distances_jit import find_nearest
from thalweg.learners.windows.shadow_jit import (
    ALL_FEATURES,
    EVERY,
    LARGEST_ROUGH,
    LEAST_ROUGH,
    LEAST_SCALE,
    PAUSES,
    ROUNDING,
    SLACK,
    SOME_FEATURES,
    STALE_SCALES,
    STATUS_PAUSE,
    STATUS_PAUSE_COARSE,
    STATUS_REST,
    STATUS_REST_COARSE,
    STRETCH,
    SUMMED_SINGLE,
    Sieve,
    lengths_of,
    refresh,
)
from thalweg.learners.windows.window_jit import (
    NUMBER,
    Q_HELD,
    Q_SEEN,
    R_K,
    S_GREATEST,
    S_LEAST,
    W_SIZE,
    Scratch,
    Window,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


# -- rough distances --------------------------------------------------------------------------------------------------


@called
def prepare(window: Window, scratch: Scratch, sieve: Sieve, hard: Ints) -> bool:
    """Write the queries for the sieves and bound their errors; False: they are not for them."""
    longest = 0.0
    for s in range(window.head[W_SIZE]):
        if not sieve.lengths[ALL_FEATURES, s] < LARGEST_ROUGH:
            return False
        longest = max(longest, sieve.lengths[ALL_FEATURES, s])
    for q in hard:
        x, z, others = scratch.x[q], sieve.query[q], 0
        for f in range(len(z)):
            others |= scratch.kind[q, f] ^ NUMBER
            z[f] = np.float32((x[f] - sieve.centre[f]) * sieve.by[f])
        sieve.own[q, SOME_FEATURES], sieve.own[q, ALL_FEATURES] = lengths_of(z)
        both = math.sqrt(longest) + math.sqrt(sieve.own[q, ALL_FEATURES])
        both = both * both
        if others != 0 or not both < LARGEST_ROUGH:
            return False
        # products: BLOCK roundings of their sum ≤ both / 4, twice; two roundings of x' and z'; the rest is slack
        sieve.errors[q] = (0.625 * SUMMED_SINGLE * ROUNDING + SLACK) * both + len(z) * LEAST_ROUGH
    return True


@inlined
def is_near_scale(scratch: Scratch, sieve: Sieve, q: int) -> bool:
    """Is no scale of query q far below that of the shadow?"""
    by, below = scratch.by[q], 0
    for f in range(len(by)):
        below += 1 if by[f] < LEAST_SCALE * sieve.by[f] else 0
    return below == 0


@called
def measure_roughly(window: Window, scratch: Scratch, sieve: Sieve, hard: Ints, step: int) -> None:
    """Measure the rough squared distances of the queries from all rows: in every feature, or every eighth (step)."""
    d, B = sieve.shadow.shape[1:]
    m, which = len(hard), ALL_FEATURES if step == 1 else SOME_FEATURES
    for t in range((window.head[W_SIZE] + B - 1) // B):
        tile, lengths = sieve.shadow[t], sieve.lengths[which, t * B : t * B + B]
        for q in hard:
            totals, own = scratch.sums[q, t * B : t * B + B], sieve.own[q, which]
            for i in range(B):
                totals[i] = own + lengths[i]
        for first in range(0, d, SUMMED_SINGLE * step):
            last = min(d, first + SUMMED_SINGLE * step)
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
                sums, totals = sieve.sums[q], scratch.sums[q, t * B : t * B + B]
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
def correct(window: Window, scratch: Scratch, sieve: Sieve, q: int) -> bool:
    """Turn the rough distances of query q into such with its own scale, and bound the error; False: it does not pay."""
    n, B, sums, moved, changed = window.head[W_SIZE], window.ring.shape[2], scratch.sums[q], 0.0, 0
    for f in range(len(sieve.by)):
        by, now, x, span = scratch.by[q, f], sieve.by[f], scratch.x[q, f], window.spans[f]
        if by == now:
            continue
        changed += 1
        if span[S_LEAST] <= span[S_GREATEST]:
            reach = max(abs(x - span[S_LEAST]), abs(x - span[S_GREATEST])) * max(by, now)
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
def sift(scratch: Scratch, sieve: Sieve, rules: Ints, q: int, pushed: int, shrunk: float, most: int) -> int:
    """Measure those rows exactly that may be among the nearest of query q, and put all others infinitely far.

    shrunk: a rough distance times this is no more than the true one, but for the error. most: if more rows than these
    may be among the nearest, nothing is measured. Gives how many they are.
    """
    moment, sums, chosen, exact = scratch.moments[q], scratch.sums[q], sieve.chosen, sieve.exact
    n, back, m = moment[Q_HELD], len(sums) - len(scratch.slots), 0
    k = min(n, rules[R_K])
    if n == 0:
        return 0
    for g in range(moment[Q_SEEN], pushed):  # what lies there now came after the query
        if scratch.slots[g] < n:
            sums[scratch.slots[g]] = math.inf
    find_nearest(sums, n, scratch.nearest, k)
    nearest = scratch.nearest[0] if scratch.nearest[0] < math.inf else -math.inf
    for s in range(n):
        if sums[s] <= nearest:
            chosen[m] = s
            m += 1
    if m > most:
        return m
    bound = math.inf
    if m > 0:
        measure_rows(sieve.rows, scratch.x[q], scratch.by[q], chosen[:m], exact[:m], bound)
        find_nearest(exact, m, scratch.nearest, k)
        bound = scratch.nearest[0]
    first, limit = m, bound / shrunk * (1.0 + SLACK) + sieve.errors[q]
    for s in range(n):
        if nearest < sums[s] <= limit and sums[s] < math.inf:
            chosen[m] = s
            m += 1
    if m > most:
        return m
    for g in range(moment[Q_SEEN], pushed):
        if scratch.slots[g] < n:
            chosen[m] = back + g
            m += 1
    measure_rows(sieve.rows, scratch.x[q], scratch.by[q], chosen[first:m], exact[first:m], bound)
    for s in range(n):
        sums[s] = math.inf
    for i in range(m):
        sums[chosen[i] if chosen[i] < back else scratch.slots[chosen[i] - back]] = exact[i]
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
def measure_some(window: Window, scratch: Scratch, sieve: Sieve, rules: Ints, queries: int, pushed: int) -> bool:
    """Measure what may be among the nearest of each query, all else is infinitely far; False: nothing was measured."""
    status = sieve.status
    if status[STATUS_REST] > 0:
        status[STATUS_REST] -= 1
        return False
    m = 0
    for q in range(queries):
        sieve.hard[q] = q
    if status[STATUS_REST_COARSE] > 0:
        status[STATUS_REST_COARSE] -= 1
        m = queries
    else:
        m = pass_coarsely(window, scratch, sieve, rules, queries, pushed)
        if 2 * m > queries:
            status[STATUS_REST_COARSE] = status[STATUS_PAUSE_COARSE]
            status[STATUS_PAUSE_COARSE] = min(2 * status[STATUS_PAUSE_COARSE], PAUSES[1])
    if m == 0 or pass_finely(window, scratch, sieve, rules, sieve.hard[:m], pushed):
        return True
    status[STATUS_REST] = status[STATUS_PAUSE]
    status[STATUS_PAUSE] = min(2 * status[STATUS_PAUSE], PAUSES[1])
    sieve.by[:] = -1.0
    return False


@called
def pass_coarsely(window: Window, scratch: Scratch, sieve: Sieve, rules: Ints, queries: int, pushed: int) -> int:
    """Let the coarse sieve try the queries; give how many it could not do, and list them in ``hard``."""
    refresh(window, sieve, rules, STALE_SCALES[0], STALE_SCALES[1])
    if not prepare(window, scratch, sieve, sieve.hard[:queries]):
        return queries
    measure_roughly(window, scratch, sieve, sieve.hard[:queries], EVERY)
    m, shrunk = 0, LEAST_SCALE * LEAST_SCALE
    for q in range(queries):
        most = scratch.moments[q, Q_HELD] // 16 + 48
        if not is_near_scale(scratch, sieve, q) or sift(scratch, sieve, rules, q, pushed, shrunk, most) > most:
            sieve.hard[m] = q
            m += 1
    return m


@called
def pass_finely(window: Window, scratch: Scratch, sieve: Sieve, rules: Ints, hard: Ints, pushed: int) -> bool:
    """Let the fine sieve do the queries; False: it cannot."""
    refresh(window, sieve, rules, 1.0, 1.0)
    if not prepare(window, scratch, sieve, hard):
        return False
    measure_roughly(window, scratch, sieve, hard, 1)
    for q in hard:
        if not correct(window, scratch, sieve, q):
            return False
    for q in hard:
        n = scratch.moments[q, Q_HELD]
        if sift(scratch, sieve, rules, q, pushed, 1.0, n // 8 + 64) > n // 8 + 64:
            return False
    return True
