"""A window of rows: how one is learned, and how a query is written down at its moment.

d features; the window is cut into tiles of B rows, in each of which the values of a feature lie side by side: a
processor then takes eight rows at a time, and each row's distance is added feature by feature, in one order only.

knn_jit.py plays the events, distances_jit.py measures, sieve_jit.py spares most of that where rows are wide.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import called, inlined
from thalweg.jit.welford import welford

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

W_NEXT, W_SIZE, W_CELLS = range(3)
NEXT = span("n - n * (n // window)", "n - n // window")
"""After n rows the next takes slot n; in a full window any."""
S_LEAST, S_GREATEST, S_AT_LEAST, S_AT_GREATEST, S_LACKING, S_COUNT, S_MEAN, S_SQUARES, S_COLUMNS = range(9)
R_K, R_WINDOW, R_METRIC, R_ALL_TIES, R_BY_DISTANCE, R_SCALE, R_CELLS = range(7)
"""What the rules hold: k, rows in a full window, a code, are all ties asked, does the near count more, a code."""
EUCLIDEAN, MANHATTAN, HAMMING, COSINE = range(4)
UNSCALED, BY_WINDOW, ONLINE = range(3)

NUMBER, NOMINAL, SOME_LACK, LACKS, ALIKE = range(5)
"""What a query meets in a feature: numbers; values; numbers of which some are missing; it lacks it itself, and is then
as far as the range allows, or equally far from all."""
Q_ROW, Q_SEEN, Q_HELD, Q_NEWEST, Q_KNOWN, Q_COLUMNS = range(6)
"""What is kept of a query's moment: its row, rows learned before it in the group, rows in the window, the slot of the
next row, classes known."""

LEAST_DISTANCE = 1e-9  # the least distance by which a vote is divided
LARGEST_FLOAT = 1.7976931348623157e308
LARGEST_SQUARED = 1e150  # numbers beyond are taken for this where squares are added up


class Window(NamedTuple):
    """The state, and what follows from the schema; T tiles."""

    ring: Annotated[NDArray[Any], table("T", "d", "B", dtype=np.float64, missing=True)]
    """T × d × B: the rows (or float32): slot s is row s % B of tile s // B; NaN: missing."""
    codes: Annotated[Ints, table("T * B", rows="n", least=0, most="classes - 1")]
    """T B: their classes."""
    voices: Annotated[Floats, table("T * B", rows="n", least=0)]
    """T B: their weights."""
    spans: Annotated[Floats, table("d", S_COLUMNS, loose=True)]
    """d × 8: of a number, in the window: least, greatest, how many rows hold these; how many lack it. For scale
    "online" least and greatest of all rows learned; values, mean, squares."""
    head: Annotated[Ints, table(W_CELLS, cells={W_NEXT: NEXT, W_SIZE: span(0, "min(T * B, window)", name="n")})]
    """2: the slot that the next row takes, rows in the window."""
    nominal: Ints
    """d: 1 for a nominal feature. It follows from the schema, and is not kept."""


class Scratch(NamedTuple):
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
def push_out(window: Window, scratch: Scratch, g: int) -> None:
    """Keep the row that the next one replaces, as the group's g-th."""
    slot, B = window.head[W_NEXT], window.ring.shape[2]
    tile, lane = window.ring[slot // B], slot % B
    for f in range(tile.shape[0]):
        scratch.left[f, g] = tile[f, lane]


@called
def learn(window: Window, rules: Ints, X: NDArray[Any], r: int) -> None:
    """Let row r take the place of the oldest, or the next free one."""
    head, spans, B = window.head, window.spans, window.ring.shape[2]
    slot, full, online = head[W_NEXT], head[W_SIZE] == rules[R_WINDOW], rules[R_SCALE] == ONLINE
    tile, lane = window.ring[slot // B], slot % B
    head[W_NEXT] = (slot + 1) % rules[R_WINDOW]
    if not full:
        head[W_SIZE] += 1
    for f in range(tile.shape[0]):
        old, v = float(tile[f, lane]), float(X[r, f])
        tile[f, lane] = X[r, f]
        if window.nominal[f] != 0:
            continue
        span = spans[f]
        if span[S_LEAST] < v < span[S_GREATEST] and (not full or span[S_LEAST] < old < span[S_GREATEST]) and not online:
            continue  # nothing that is counted comes or goes
        if full and math.isnan(old):
            span[S_LACKING] -= 1.0
        if math.isnan(v):
            span[S_LACKING] += 1.0
        if online:
            if not math.isnan(v):
                widen(span, v)
                observe(span, v)
            continue
        if full and old == span[S_LEAST]:
            span[S_AT_LEAST] -= 1.0
        if full and old == span[S_GREATEST]:
            span[S_AT_GREATEST] -= 1.0
        widen(span, v)
        if (span[S_AT_LEAST] == 0.0 or span[S_AT_GREATEST] == 0.0) and span[S_LEAST] <= span[S_GREATEST]:
            find_span(window.ring, f, head[W_SIZE], span)


@inlined
def widen(span: Floats, v: float) -> None:
    """Let the span take one more value (NaN changes nothing)."""
    if v < span[S_LEAST]:
        span[S_LEAST], span[S_AT_LEAST] = v, 1.0
    elif v == span[S_LEAST]:
        span[S_AT_LEAST] += 1.0
    if v > span[S_GREATEST]:
        span[S_GREATEST], span[S_AT_GREATEST] = v, 1.0
    elif v == span[S_GREATEST]:
        span[S_AT_GREATEST] += 1.0


@inlined
def observe(span: Floats, v: float) -> None:
    """Let mean and sum of squared deviations take one more value."""
    v = max(-LARGEST_SQUARED, min(LARGEST_SQUARED, v))
    span[S_COUNT] += 1.0
    span[S_MEAN], span[S_SQUARES] = welford(span[S_COUNT], span[S_MEAN], span[S_SQUARES], v, 1.0)


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
    span[S_LEAST], span[S_AT_LEAST], span[S_GREATEST], span[S_AT_GREATEST] = least, at_least, greatest, at_greatest


# -- a query at its moment --------------------------------------------------------------------------------------------


@called
def ask(window: Window, scratch: Scratch, rules: Ints, X: NDArray[Any], r: int, q: int) -> None:
    """Write row r as query q: with the scale of this moment, and what it meets in each feature."""
    x, by, far, top, kind = scratch.x[q], scratch.by[q], scratch.far[q], scratch.top[q], scratch.kind[q]
    cosine, hamming = rules[R_METRIC] == COSINE, rules[R_METRIC] == HAMMING
    for f in range(len(x)):
        v = float(X[r, f])
        x[f], by[f], kind[f] = v, 1.0, NUMBER
        if hamming or window.nominal[f] != 0:
            kind[f] = NOMINAL
            continue
        span = window.spans[f]
        by[f] = scale_of(span, rules[R_SCALE])
        some_lack = span[S_LACKING] > 0.0
        if cosine:
            x[f] = 0.0 if math.isnan(v) else v * by[f]
            far[f] = 0.0
            kind[f] = SOME_LACK if some_lack else NUMBER
            continue
        if math.isnan(v):
            kind[f], x[f], top[f] = LACKS, span[S_LEAST], span[S_GREATEST]
            far[f] = (top[f] - x[f]) * by[f]
            if not by[f] > 0.0 or not x[f] <= top[f]:
                kind[f], far[f] = ALIKE, 1.0 if rules[R_SCALE] != UNSCALED else 0.0
            continue
        if not by[f] > 0.0:  # all rows hold the same
            x[f] = span[S_LEAST] if span[S_LEAST] < math.inf else 0.0
        if some_lack:
            kind[f] = SOME_LACK
            far[f] = max(span[S_GREATEST] - v, v - span[S_LEAST]) * by[f]
            if not by[f] > 0.0 or not span[S_LEAST] <= span[S_GREATEST]:
                far[f] = 1.0 if rules[R_SCALE] != UNSCALED else 0.0


@inlined
def scale_of(span: Floats, scale: int) -> float:
    """Give what differences in a feature are multiplied by; 0 where no two values differ."""
    if scale == UNSCALED:
        return 1.0
    width = span[S_GREATEST] - span[S_LEAST]
    if not width > 0.0:
        return 0.0
    if scale == ONLINE:
        deviation = math.sqrt(span[S_SQUARES] / span[S_COUNT])
        if 0.0 < deviation < math.inf:
            width = deviation
    return float(max(1.0 / LARGEST_FLOAT, min(LARGEST_FLOAT, 1.0 / width)))
