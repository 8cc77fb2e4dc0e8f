"""The distances of a few queries from all rows of a window at once, and the votes of the nearest: see window_jit.py."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.learners.windows.window_jit import (
    COSINE,
    EUCLIDEAN,
    HAMMING,
    LACKS,
    LEAST_DISTANCE,
    NOMINAL,
    NUMBER,
    Q_HELD,
    Q_KNOWN,
    Q_NEWEST,
    Q_ROW,
    Q_SEEN,
    R_ALL_TIES,
    R_BY_DISTANCE,
    R_K,
    R_METRIC,
    R_WINDOW,
    SOME_LACK,
    W_SIZE,
    Scratch,
    Window,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# -- distances --------------------------------------------------------------------------------------------------------


@called
def measure_all(window: Window, scratch: Scratch, metric: int, queries: int, pushed: int) -> None:
    """Measure the distance of each query from all rows, and from those pushed out."""
    tiles, _, B = window.ring.shape
    used = (window.head[W_SIZE] + B - 1) // B
    for t in range(used):
        measure(window.ring[t], scratch, metric, queries, t * B, B)
    if pushed > 0:
        measure(scratch.left, scratch, metric, queries, tiles * B, pushed)
    if metric == COSINE:
        for q in range(queries):
            to_cosine(scratch, window.nominal, q, 0, used * B)
            to_cosine(scratch, window.nominal, q, tiles * B, pushed)


@called
def measure(tile: NDArray[Any], scratch: Scratch, metric: int, queries: int, first: int, n: int) -> None:
    """Measure n rows of a tile: their sums begin at ``first``."""
    d, four = tile.shape[0], tile.shape[0] - tile.shape[0] % 4
    for q in range(queries):
        sums = scratch.sums[q, first : first + n]
        for i in range(n):
            sums[i] = 0.0
        if metric == COSINE:
            norms = scratch.norms[q, first : first + n]
            for i in range(n):
                norms[i] = 0.0
    f = 0
    while f < d:
        step = 4 if f < four else 1
        for q in range(queries):
            sums, kind = scratch.sums[q, first : first + n], scratch.kind[q]
            if metric == HAMMING:
                for g in range(f, f + step):
                    add_unequal(sums, tile[g], scratch.x[q, g], n)
            elif metric == COSINE:
                norms = scratch.norms[q, first : first + n]
                for g in range(f, f + step):
                    add_product(sums, norms, tile[g], scratch.x[q, g], scratch.by[q, g], kind[g], n)
            elif step == 4 and kind[f] + kind[f + 1] + kind[f + 2] + kind[f + 3] == NUMBER:
                if metric == EUCLIDEAN:
                    add_four_squares(sums, tile, scratch.x[q], scratch.by[q], f, n)
                else:
                    add_four(sums, tile, scratch.x[q], scratch.by[q], f, n)
            else:
                for g in range(f, f + step):
                    add_any(sums, tile[g], scratch, q, g, metric, n)
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
def add_any(sums: Floats, values: NDArray[Any], scratch: Scratch, q: int, f: int, metric: int, n: int) -> None:
    """Add the differences in one feature, whatever its kind."""
    x, by, far, top, kind = scratch.x[q, f], scratch.by[q, f], scratch.far[q, f], scratch.top[q, f], scratch.kind[q, f]
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
def to_cosine(scratch: Scratch, nominal: Ints, q: int, first: int, n: int) -> None:
    """Turn the products of n rows into distances: 1 - cosine; 1 where a row has no length."""
    x, sums, norms = scratch.x[q], scratch.sums[q], scratch.norms[q]
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
def bring_back(scratch: Scratch, q: int, pushed: int) -> None:
    """Put the distances of the rows that were pushed out after query q back to where they lay."""
    moment, sums = scratch.moments[q], scratch.sums[q]
    back = len(sums) - len(scratch.slots)
    for g in range(moment[Q_SEEN], pushed):
        if scratch.slots[g] < moment[Q_HELD]:
            sums[scratch.slots[g]] = sums[back + g]


@called
def vote(codes: Ints, voices: Floats, sums: Floats, moment: Ints, nearest: Floats, rules: Ints, out: Floats) -> None:
    """Let the nearest rows vote on the query of a moment, the oldest first; nobody there: all classes alike."""
    n, known, p = moment[Q_HELD], moment[Q_KNOWN], out[moment[Q_ROW]]
    total = 0.0
    if n > 0:
        k = min(n, rules[R_K])
        free = find_nearest(sums, n, nearest, k)
        if rules[R_ALL_TIES] != 0:
            free = n
        limit, oldest = nearest[0], moment[Q_NEWEST] if n == rules[R_WINDOW] else 0
        for half in range(2):
            for s in range(oldest if half == 0 else 0, n if half == 0 else oldest):
                if sums[s] <= limit and (sums[s] < limit or free > 0):
                    if sums[s] == limit:
                        free -= 1
                    c = codes[s]
                    if c < known:
                        weight = vote_of(voices[s], sums[s], rules)
                        p[c] += weight
                        total += weight
    for c in range(known):
        p[c] = p[c] / total if total > 0.0 else 1.0 / known


@inlined
def vote_of(weight: float, far: float, rules: Ints) -> float:
    """Give the vote of a row of this weight and distance (squared where Euclidean)."""
    if rules[R_BY_DISTANCE] != 0:
        weight /= max(math.sqrt(far) if rules[R_METRIC] == EUCLIDEAN else far, LEAST_DISTANCE)
    return weight


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
