"""A window of rows, the distances of a few queries from all of them at once, and the votes of the nearest.

d features; the window is cut into tiles of B rows, in each of which the values of a feature lie side by side: a
processor then takes eight rows at a time, and each row's distance is added feature by feature, in one order only.

| table  | shape     | dtype   | meaning                                                                              |
| ring   | T × d × B | float64 | the rows (or float32): slot s is row s % B of tile s // B; NaN: missing              |
| codes  | T B       | int64   | their classes                                                                        |
| voices | T B       | float64 | their weights                                                                        |
| spans  | d × 8     | float64 | of a number, in the window: least, greatest, how many rows hold these; how many lack |
|        |           |         | it. For scale "online" least and greatest of all rows learned; values, mean, squares |
| head   | 2         | int64   | the slot that the next row takes, rows in the window                                 |

knn_jit.py plays the events, sieve_jit.py spares most of the arithmetic where rows are wide.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEXT, SIZE = range(2)
HEAD = 2
LEAST, GREATEST, AT_LEAST, AT_GREATEST, LACKING, COUNT, MEAN, SQUARES = range(8)
SPANS = 8
K, WINDOW, METRIC, ALL_TIES, BY_DISTANCE, SCALE = range(6)
RULES = 6
"""What the rules hold: k, rows in a full window, a code, are all ties asked, does the near count more, a code."""
EUCLIDEAN, MANHATTAN, HAMMING, COSINE = range(4)
UNSCALED, BY_WINDOW, ONLINE = range(3)

NUMBER, NOMINAL, SOME_LACK, LACKS, ALIKE = range(5)
"""What a query meets in a feature: numbers; values; numbers of which some are missing; it lacks it itself, and is then
as far as the range allows, or equally far from all."""
ROW, SEEN, HELD, NEWEST, KNOWN = range(5)
MOMENT = 5
"""What is kept of a query's moment: its row, rows learned before it in the group, rows in the window, the slot of the
next row, classes known."""

NEAREST = 1e-9  # the least distance by which a vote is divided
LARGEST = 1.7976931348623157e308
LARGEST_SQUARED = 1e150  # numbers beyond are taken for this where squares are added up


class Window(NamedTuple):
    """The tables in one bundle, as the compiled functions hand them on."""

    ring: NDArray[Any]
    codes: Ints
    voices: Floats
    spans: Floats
    head: Ints
    nominal: Ints
    """d: 1 for a nominal feature. It follows from the schema, and is not kept."""


class Desk(NamedTuple):
    """Room to measure up to Q queries; nothing of it is kept."""

    x: Floats
    """Q × d: the query; the least value where it lacks the feature; times ``by`` for cosine."""
    by: Floats
    """Q × d: what a difference is multiplied by."""
    far: Floats
    """Q × d: the difference from a missing value."""
    top: Floats
    """Q × d: the greatest value where the query lacks the feature."""
    kind: Ints
    """Q × d: what the query meets in the feature."""
    sums: Floats
    """Q × (T B + G): the distances, squared where Euclidean: of all slots, then of the rows pushed out."""
    norms: Floats
    """The same for the squared lengths of the rows, for cosine; else empty."""
    left: NDArray[Any]
    """d × G: the rows pushed out by the group, G ≤ rows in a full window."""
    slots: Ints
    """G: where they lay."""
    rows: Ints
    """G: the rows that took their place; these get their label and weight there when the queries before have voted."""
    moments: Ints
    """Q × MOMENT."""
    nearest: Floats
    """k: a heap of the least distances."""


# -- learning ---------------------------------------------------------------------------------------------------------


@inlined
def push_out(window: Window, desk: Desk, g: int) -> None:
    """Keep the row that the next one replaces, as the group's g-th."""
    slot, B = window.head[NEXT], window.ring.shape[2]
    tile, lane = window.ring[slot // B], slot % B
    for f in range(tile.shape[0]):
        desk.left[f, g] = tile[f, lane]


@called
def learn(window: Window, rules: Ints, X: NDArray[Any], r: int) -> None:
    """Let row r take the place of the oldest, or the next free one."""
    head, spans, B = window.head, window.spans, window.ring.shape[2]
    slot, full, online = head[NEXT], head[SIZE] == rules[WINDOW], rules[SCALE] == ONLINE
    tile, lane = window.ring[slot // B], slot % B
    head[NEXT] = (slot + 1) % rules[WINDOW]
    if not full:
        head[SIZE] += 1
    for f in range(tile.shape[0]):
        old, v = float(tile[f, lane]), float(X[r, f])
        tile[f, lane] = X[r, f]
        if window.nominal[f] != 0:
            continue
        span = spans[f]
        if span[LEAST] < v < span[GREATEST] and (not full or span[LEAST] < old < span[GREATEST]) and not online:
            continue  # nothing that is counted comes or goes
        if full and math.isnan(old):
            span[LACKING] -= 1.0
        if math.isnan(v):
            span[LACKING] += 1.0
        if online:
            if not math.isnan(v):
                widen(span, v)
                observe(span, v)
            continue
        if full and old == span[LEAST]:
            span[AT_LEAST] -= 1.0
        if full and old == span[GREATEST]:
            span[AT_GREATEST] -= 1.0
        widen(span, v)
        if (span[AT_LEAST] == 0.0 or span[AT_GREATEST] == 0.0) and span[LEAST] <= span[GREATEST]:
            find_span(window.ring, f, head[SIZE], span)


@inlined
def widen(span: Floats, v: float) -> None:
    """Let the span take one more value (NaN changes nothing)."""
    if v < span[LEAST]:
        span[LEAST], span[AT_LEAST] = v, 1.0
    elif v == span[LEAST]:
        span[AT_LEAST] += 1.0
    if v > span[GREATEST]:
        span[GREATEST], span[AT_GREATEST] = v, 1.0
    elif v == span[GREATEST]:
        span[AT_GREATEST] += 1.0


@inlined
def observe(span: Floats, v: float) -> None:
    """Let mean and sum of squared deviations take one more value (Welford)."""
    v = max(-LARGEST_SQUARED, min(LARGEST_SQUARED, v))
    span[COUNT] += 1.0
    gap = v - span[MEAN]
    span[MEAN] += gap / span[COUNT]
    span[SQUARES] += gap * (v - span[MEAN])


@called
def find_span(ring: NDArray[Any], f: int, size: int, span: Floats) -> None:
    """Find least and greatest of a feature in the window, whose last row of that value has left."""
    B = ring.shape[2]
    a, b, c, d = math.inf, math.inf, math.inf, math.inf
    e, g, h, i = -math.inf, -math.inf, -math.inf, -math.inf
    for t in range((size + B - 1) // B):
        values, n, lane = ring[t, f], min(B, size - t * B), 0
        while lane + 4 <= n:
            p, q, r, s = float(values[lane]), float(values[lane + 1]), float(values[lane + 2]), float(values[lane + 3])
            a, b, c, d = p if p < a else a, q if q < b else b, r if r < c else c, s if s < d else d
            e, g, h, i = p if p > e else e, q if q > g else g, r if r > h else h, s if s > i else i
            lane += 4
        while lane < n:
            p = float(values[lane])
            a, e = p if p < a else a, p if p > e else e
            lane += 1
    least, greatest, at_least, at_greatest = min(min(a, b), min(c, d)), max(max(e, g), max(h, i)), 0, 0
    for t in range((size + B - 1) // B):
        values = ring[t, f]
        for lane in range(min(B, size - t * B)):
            at_least += 1 if values[lane] == least else 0
            at_greatest += 1 if values[lane] == greatest else 0
    span[LEAST], span[AT_LEAST], span[GREATEST], span[AT_GREATEST] = least, at_least, greatest, at_greatest


# -- a query at its moment --------------------------------------------------------------------------------------------


@called
def ask(window: Window, desk: Desk, rules: Ints, X: NDArray[Any], r: int, q: int) -> None:
    """Write row r as query q: with the scale of this moment, and what it meets in each feature."""
    x, by, far, top, kind = desk.x[q], desk.by[q], desk.far[q], desk.top[q], desk.kind[q]
    cosine, hamming = rules[METRIC] == COSINE, rules[METRIC] == HAMMING
    for f in range(len(x)):
        v = float(X[r, f])
        x[f], by[f], kind[f] = v, 1.0, NUMBER
        if hamming or window.nominal[f] != 0:
            kind[f] = NOMINAL
            continue
        span = window.spans[f]
        by[f] = scale_of(span, rules[SCALE])
        some_lack = span[LACKING] > 0.0
        if cosine:
            x[f] = 0.0 if math.isnan(v) else v * by[f]
            far[f] = 0.0
            kind[f] = SOME_LACK if some_lack else NUMBER
            continue
        if math.isnan(v):
            kind[f], x[f], top[f] = LACKS, span[LEAST], span[GREATEST]
            far[f] = (top[f] - x[f]) * by[f]
            if not by[f] > 0.0 or not x[f] <= top[f]:
                kind[f], far[f] = ALIKE, 1.0 if rules[SCALE] != UNSCALED else 0.0
            continue
        if not by[f] > 0.0:  # all rows hold the same
            x[f] = span[LEAST] if span[LEAST] < math.inf else 0.0
        if some_lack:
            kind[f] = SOME_LACK
            far[f] = max(span[GREATEST] - v, v - span[LEAST]) * by[f]
            if not by[f] > 0.0 or not span[LEAST] <= span[GREATEST]:
                far[f] = 1.0 if rules[SCALE] != UNSCALED else 0.0


@inlined
def scale_of(span: Floats, scale: int) -> float:
    """Give what differences in a feature are multiplied by; 0 where no two values differ."""
    if scale == UNSCALED:
        return 1.0
    width = span[GREATEST] - span[LEAST]
    if not width > 0.0:
        return 0.0
    if scale == ONLINE:
        deviation = math.sqrt(span[SQUARES] / span[COUNT])
        if 0.0 < deviation < math.inf:
            width = deviation
    return float(max(1.0 / LARGEST, min(LARGEST, 1.0 / width)))


# -- distances --------------------------------------------------------------------------------------------------------


@called
def measure_all(window: Window, desk: Desk, metric: int, queries: int, pushed: int) -> None:
    """Measure the distance of each query from all rows, and from those pushed out."""
    tiles, _, B = window.ring.shape
    used = (window.head[SIZE] + B - 1) // B
    for t in range(used):
        measure(window.ring[t], desk, metric, queries, t * B, B)
    if pushed > 0:
        measure(desk.left, desk, metric, queries, tiles * B, pushed)
    if metric == COSINE:
        for q in range(queries):
            turn(desk, window.nominal, q, 0, used * B)
            turn(desk, window.nominal, q, tiles * B, pushed)


@called
def measure(tile: NDArray[Any], desk: Desk, metric: int, queries: int, first: int, n: int) -> None:
    """Measure n rows of a tile: their sums begin at ``first``."""
    d, four = tile.shape[0], tile.shape[0] - tile.shape[0] % 4
    for q in range(queries):
        sums = desk.sums[q, first : first + n]
        for i in range(n):
            sums[i] = 0.0
        if metric == COSINE:
            norms = desk.norms[q, first : first + n]
            for i in range(n):
                norms[i] = 0.0
    f = 0
    while f < d:
        step = 4 if f < four else 1
        for q in range(queries):
            sums, kind = desk.sums[q, first : first + n], desk.kind[q]
            if metric == HAMMING:
                for g in range(f, f + step):
                    add_unequal(sums, tile[g], desk.x[q, g], n)
            elif metric == COSINE:
                norms = desk.norms[q, first : first + n]
                for g in range(f, f + step):
                    add_product(sums, norms, tile[g], desk.x[q, g], desk.by[q, g], kind[g], n)
            elif step == 4 and kind[f] + kind[f + 1] + kind[f + 2] + kind[f + 3] == NUMBER:
                if metric == EUCLIDEAN:
                    add_four_squares(sums, tile, desk.x[q], desk.by[q], f, n)
                else:
                    add_four(sums, tile, desk.x[q], desk.by[q], f, n)
            else:
                for g in range(f, f + step):
                    add_any(sums, tile[g], desk, q, g, metric, n)
        f += step


@inlined
def add_four_squares(sums: Floats, tile: NDArray[Any], x: Floats, by: Floats, f: int, n: int) -> None:
    """Add ((x - z) by)² of four features that nobody lacks."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    b0, b1, b2, b3 = by[f], by[f + 1], by[f + 2], by[f + 3]
    for i in range(n):
        s = sums[i]
        gap = (x0 - z0[i]) * b0
        s += gap * gap
        gap = (x1 - z1[i]) * b1
        s += gap * gap
        gap = (x2 - z2[i]) * b2
        s += gap * gap
        gap = (x3 - z3[i]) * b3
        s += gap * gap
        sums[i] = s


@inlined
def add_four(sums: Floats, tile: NDArray[Any], x: Floats, by: Floats, f: int, n: int) -> None:
    """Add |x - z| by of four features that nobody lacks."""
    z0, z1, z2, z3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
    b0, b1, b2, b3 = by[f], by[f + 1], by[f + 2], by[f + 3]
    for i in range(n):
        s = sums[i]
        s += abs(x0 - z0[i]) * b0
        s += abs(x1 - z1[i]) * b1
        s += abs(x2 - z2[i]) * b2
        s += abs(x3 - z3[i]) * b3
        sums[i] = s


@called
def add_any(sums: Floats, values: NDArray[Any], desk: Desk, q: int, f: int, metric: int, n: int) -> None:
    """Add the differences in one feature, whatever its kind."""
    x, by, far, top, kind = desk.x[q, f], desk.by[q, f], desk.far[q, f], desk.top[q, f], desk.kind[q, f]
    square = metric == EUCLIDEAN
    if kind == NUMBER:
        for i in range(n):
            gap = abs(x - values[i]) * by
            sums[i] += gap * gap if square else gap
    elif kind == NOMINAL:
        add_unequal(sums, values, x, n)
    elif kind == SOME_LACK:
        for i in range(n):
            z = float(values[i])
            gap = far if math.isnan(z) else abs(x - z) * by
            sums[i] += gap * gap if square else gap
    elif kind == LACKS:
        for i in range(n):
            z = float(values[i])
            gap = far if math.isnan(z) else max(top - z, z - x) * by
            sums[i] += gap * gap if square else gap
    else:
        for i in range(n):
            sums[i] += far * far if square else far


@inlined
def add_unequal(sums: Floats, values: NDArray[Any], x: float, n: int) -> None:
    """Add 1 where the value is another; a missing one is always another."""
    for i in range(n):
        sums[i] += 0.0 if values[i] == x else 1.0


@inlined
def add_product(sums: Floats, norms: Floats, values: NDArray[Any], x: float, by: float, kind: int, n: int) -> None:
    """Add the product and the square of one feature. A nominal value is 1 at its own place; missing is nothing."""
    if kind == NUMBER:
        for i in range(n):
            z = values[i] * by
            sums[i] += x * z
            norms[i] += z * z
    elif kind == NOMINAL:
        for i in range(n):
            sums[i] += 1.0 if values[i] == x else 0.0
            norms[i] += 1.0 if values[i] == values[i] else 0.0
    else:
        for i in range(n):
            z = float(values[i])
            z = 0.0 if math.isnan(z) else z * by
            sums[i] += x * z
            norms[i] += z * z


@inlined
def turn(desk: Desk, nominal: Ints, q: int, first: int, n: int) -> None:
    """Turn the products of n rows into distances: 1 - cosine; 1 where a row has no length."""
    x, sums, norms = desk.x[q], desk.sums[q], desk.norms[q]
    own = 0.0
    for f in range(len(x)):
        if nominal[f] == 0:
            own += x[f] * x[f]
        elif not math.isnan(x[f]):
            own += 1.0
    own = math.sqrt(own)
    for i in range(first, first + n):
        length = own * math.sqrt(norms[i])
        s = sums[i]
        sums[i] = max(0.0, 1.0 - s / length) if 0.0 < length < math.inf and abs(s) < math.inf else 1.0


# -- the nearest ------------------------------------------------------------------------------------------------------


@inlined
def bring_back(desk: Desk, q: int, pushed: int) -> None:
    """Put the distances of the rows that were pushed out after query q back to where they lay."""
    moment, sums = desk.moments[q], desk.sums[q]
    back = len(sums) - len(desk.slots)
    for g in range(moment[SEEN], pushed):
        if desk.slots[g] < moment[HELD]:
            sums[desk.slots[g]] = sums[back + g]


@called
def vote(window: Window, desk: Desk, rules: Ints, q: int, out: Floats) -> None:
    """Let the nearest rows vote on query q, the oldest first; nobody there: all classes alike."""
    moment, sums = desk.moments[q], desk.sums[q]
    n, known, p = moment[HELD], moment[KNOWN], out[moment[ROW]]
    total = 0.0
    if n > 0:
        k = min(n, rules[K])
        free = find_nearest(sums, n, desk.nearest, k)
        if rules[ALL_TIES] != 0:
            free = n
        limit, oldest = desk.nearest[0], moment[NEWEST] if n == rules[WINDOW] else 0
        for half in range(2):
            for s in range(oldest if half == 0 else 0, n if half == 0 else oldest):
                if sums[s] <= limit and (sums[s] < limit or free > 0):
                    if sums[s] == limit:
                        free -= 1
                    c = window.codes[s]
                    if c < known:
                        voice = window.voices[s]
                        if rules[BY_DISTANCE] != 0:
                            far = math.sqrt(sums[s]) if rules[METRIC] == EUCLIDEAN else sums[s]
                            voice /= max(far, NEAREST)
                        p[c] += voice
                        total += voice
    for c in range(known):
        p[c] = p[c] / total if total > 0.0 else 1.0 / known


@inlined
def find_nearest(sums: Floats, n: int, heap: Floats, k: int) -> int:
    """Put the k least sums into the heap, the greatest of them on top; give how many are equal to that one."""
    for s in range(k):
        i, v = s, sums[s]
        while i > 0 and heap[(i - 1) // 2] < v:
            heap[i] = heap[(i - 1) // 2]
            i = (i - 1) // 2
        heap[i] = v
    for s in range(k, n):
        v = sums[s]
        if v < heap[0]:
            i = 0
            while 2 * i + 1 < k:
                j = 2 * i + 1
                if j + 1 < k and heap[j + 1] > heap[j]:
                    j += 1
                if heap[j] <= v:
                    break
                heap[i] = heap[j]
                i = j
            heap[i] = v
    same = 0
    for i in range(k):
        if heap[i] == heap[0]:
            same += 1
    return same
