"""A window of sparse rows, and the nearest of a query among them: the answers of window_jit.py to the bit.

A distance is a sum over features in their order; where both rows have nothing the dense sum adds 0, so that a walk
along the features of either row gives the same number. Most rows are spared that walk: with an index from features to
rows, which is made anew now and then, the distance is first found roughly as own(query) + own(row) + what the features
they share change, with a bound on its error. Rows that may be among the nearest, and those learned since the index was
made, are measured exactly.

d features, a window of W rows, room for E values.

| table   | shape | dtype   | meaning                                                                                  |
| columns | E     | int64   | the features of the rows, row after row: a ring                                          |
| values  | E     | float64 | their values                                                                             |
| begin   | W     | int64   | where the row of a slot begins                                                           |
| sizes   | W     | int64   | how many values it has                                                                   |
| codes   | W     | int64   | its class                                                                                |
| voices  | W     | float64 | its weight                                                                               |
| head    | 6     | int64   | next slot, rows (as in window_jit.py); where in the ring the next row begins, values;    |
|         |       |         | rows learned since the index was made, rows learned (for scale "online")                 |
| spans   | d × 6 | float64 | of the values a feature has in the window: least, greatest, how many rows hold these;    |
|         |       |         | how many have it; what its differences are multiplied by                                 |
| online  | d × 8 | float64 | for scale "online" the spans of window_jit.py; else none                                 |
| starts  | d + 1 | int64   | index: where the rows of a feature begin ...                                             |
| slots   | E     | int64   | ... their slots                                                                          |
| held    | E     | float64 | ... and their values                                                                     |
| fresh   | W     | int64   | 1: the row of this slot is not in the index                                              |
| first   | d     | int64   | the last value of a feature in such rows, -1: none                                       |
| before  | E     | int64   | the one before it                                                                        |
| own     | W × 2 | float64 | of a row in the index its distance from a row of nothing, and a bound on its error       |
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, hot, inlined
from thalweg.learners.windows.distances_jit import find_nearest, vote
from thalweg.learners.windows.window_jit import (
    BY_WINDOW,
    COSINE,
    EUCLIDEAN,
    HAMMING,
    LARGEST_FLOAT,
    MANHATTAN,
    ONLINE,
    Q_HELD,
    Q_KNOWN,
    Q_NEWEST,
    Q_ROW,
    R_K,
    R_METRIC,
    R_SCALE,
    R_WINDOW,
    S_AT_GREATEST,
    S_AT_LEAST,
    S_COUNT,
    S_GREATEST,
    S_LEAST,
    W_NEXT,
    W_SIZE,
    observe,
    scale_of,
    widen,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

W_TOP, W_LIVE, W_RECENT, W_LEARNED, SPARSE_CELLS = range(2, 7)
V_LEAST, V_GREATEST, V_AT_LEAST, V_AT_GREATEST, V_HAVE, V_BY, V_COLUMNS = range(7)
"""The first four are those of a dense window, S_LEAST and so on, and ``widen`` takes either."""
MOST_RECENT = 64
EPSILON = 2.3e-16  # a little more than half a unit in the last place
SURE = 8.0  # by which bounds on errors are multiplied, to be sure


class Sparse(NamedTuple):
    """The tables in one bundle, as the compiled functions hand them on."""

    columns: Ints
    values: Floats
    begin: Ints
    sizes: Ints
    codes: Ints
    voices: Floats
    head: Ints
    spans: Floats
    online: Floats
    starts: Ints
    slots: Ints
    held: Floats
    fresh: Ints
    first: Ints
    before: Ints
    own: Floats


class Room(NamedTuple):
    """Room to measure one query; nothing of it is kept."""

    sums: Floats
    """W: the distances, squared where Euclidean."""
    bounds: Floats
    """W: what a rough distance is at most."""
    moment: Ints
    """Q_COLUMNS: what is kept of a query's moment."""
    nearest: Floats
    """k: a heap of the least distances."""


@hot
def play(
    table: Sparse, room: Room, rules: Ints, data: Floats, indices: Ints, indptr: Ints, y: Ints, w: Floats,
    events: Ints, out: Floats, known: int, every: bool,
) -> tuple[int, int]:  # fmt: skip
    """Play the events; give how many were played before the room for values ran out, and the classes known then.

    every: measure all rows exactly.
    """
    table, room = Sparse(*table), Room(*room)
    head, codes, voices, moment = table.head, table.codes, table.voices, room.moment
    for e in range(len(events)):
        r = events[e]
        if r >= 0:
            a, b = indptr[r], indptr[r + 1]
            moment[Q_ROW], moment[Q_KNOWN], moment[Q_HELD], moment[Q_NEWEST] = r, known, head[W_SIZE], head[W_NEXT]
            if head[W_SIZE] > 0:
                measure(table, room, rules, indices[a:b], data[a:b], every)
            vote(codes, voices, room.sums, moment, room.nearest, rules, out)
        else:
            a, b = indptr[~r], indptr[~r + 1]
            at = find_room(table, rules, b - a)
            if at < 0:
                return e, known
            slot = head[W_NEXT]
            learn(table, rules, indices[a:b], data[a:b], at)
            codes[slot], voices[slot] = y[~r], w[~r]
            known = max(known, y[~r] + 1)
    return len(events), known


@hot
def index(table: Sparse, rules: Ints) -> None:
    """Make the index of rows that were laid down from outside."""
    make_index(Sparse(*table), rules)


# -- learning ---------------------------------------------------------------------------------------------------------


@inlined
def find_room(table: Sparse, rules: Ints, m: int) -> int:
    """Find where m values can lie one after another, beside those of all rows; -1: nowhere."""
    head, size = table.head, len(table.columns)
    if head[W_LIVE] == 0:
        return 0 if m <= size else -1
    last = table.begin[head[W_NEXT] if head[W_SIZE] == rules[R_WINDOW] else 0]
    if head[W_TOP] <= last:  # the ring has come round
        return int(head[W_TOP]) if m <= last - head[W_TOP] else -1
    if m <= size - head[W_TOP]:
        return int(head[W_TOP])
    return 0 if m <= last else -1


@called
def learn(table: Sparse, rules: Ints, f_new: Ints, v_new: Floats, at: int) -> None:
    """Let a row take the place of the oldest, or the next free one; its values lie from ``at`` on."""
    head, spans = table.head, table.spans
    slot, full = head[W_NEXT], head[W_SIZE] == rules[R_WINDOW]
    if head[W_RECENT] == MOST_RECENT or (full and table.fresh[slot] != 0):
        make_index(table, rules)
    by_window = rules[R_SCALE] == BY_WINDOW
    old, gone = table.begin[slot], table.sizes[slot] if full else 0
    last = (slot + rules[R_WINDOW] - 1) % rules[R_WINDOW]
    table.fresh[slot] = 1
    head[W_RECENT] += 1
    if by_window:
        for i in range(old, old + gone):
            take_out(spans[table.columns[i]], table.values[i])
    for j in range(len(f_new)):
        f, v = f_new[j], v_new[j]
        i = at + j
        table.columns[i], table.values[i] = f, v
        table.before[i], table.first[f] = table.first[f], i
        if by_window:
            put_in(spans[f], v)
    table.begin[slot], table.sizes[slot] = at, len(f_new)
    head[W_TOP], head[W_LIVE] = at + len(f_new), head[W_LIVE] + len(f_new) - gone
    head[W_NEXT] = (slot + 1) % rules[R_WINDOW]
    if not full:
        head[W_SIZE] += 1
    if by_window:
        for i in range(old, old + gone):
            find_span(table, table.columns[i])
            scale(table, table.columns[i], rules[R_METRIC])
        for j in range(len(f_new)):
            scale(table, f_new[j], rules[R_METRIC])
        if not full and head[W_SIZE] > 1:  # a feature that all rows had: of them the last one, too
            for i in range(table.begin[last], table.begin[last] + table.sizes[last]):
                scale(table, table.columns[i], rules[R_METRIC])
    elif rules[R_SCALE] == ONLINE:
        watch(table, f_new, v_new)


@inlined
def take_out(span: Floats, v: float) -> None:
    span[V_HAVE] -= 1.0
    if v == span[V_LEAST]:
        span[V_AT_LEAST] -= 1.0
    if v == span[V_GREATEST]:
        span[V_AT_GREATEST] -= 1.0


@inlined
def put_in(span: Floats, v: float) -> None:
    span[V_HAVE] += 1.0
    widen(span, v)


@inlined
def find_span(table: Sparse, f: int) -> None:
    """Find least and greatest of a feature's values in the window, where the last row of that value has left."""
    span = table.spans[f]
    if span[V_HAVE] > 0.0 and span[V_AT_LEAST] > 0.0 and span[V_AT_GREATEST] > 0.0:
        return
    have = span[V_HAVE]
    span[V_LEAST], span[V_GREATEST], span[V_AT_LEAST], span[V_AT_GREATEST] = math.inf, -math.inf, 0.0, 0.0
    if have > 0.0:
        for p in range(table.starts[f], table.starts[f + 1]):
            if table.fresh[table.slots[p]] == 0:
                put_in(span, table.held[p])
        i = table.first[f]
        while i >= 0:
            put_in(span, table.values[i])
            i = table.before[i]
    span[V_HAVE] = have


@inlined
def scale(table: Sparse, f: int, metric: int) -> None:
    """Find anew what differences in a feature are multiplied by; rows that lack it have 0 there."""
    span = table.spans[f]
    least, greatest = span[V_LEAST], span[V_GREATEST]
    if span[V_HAVE] < table.head[W_SIZE]:
        least, greatest = min(least, 0.0), max(greatest, 0.0)
    width, by = greatest - least, 0.0
    if width > 0.0:
        by = max(1.0 / LARGEST_FLOAT, min(LARGEST_FLOAT, 1.0 / width))
    old = span[V_BY]
    if by == old:
        return
    span[V_BY] = by
    if metric == HAMMING:
        return
    for p in range(table.starts[f], table.starts[f + 1]):
        s = table.slots[p]
        if table.fresh[s] == 0:
            gap, was = abs(table.held[p]) * by, abs(table.held[p]) * old
            if metric != MANHATTAN:
                gap, was = gap * gap, was * was
            own = table.own[s]
            own[1] += EPSILON * (own[0] + 2.0 * (gap + was))
            own[0] += gap - was


@called
def watch(table: Sparse, f_new: Ints, v_new: Floats) -> None:
    """Let mean and deviation of every feature take one more value, in most 0."""
    online, head = table.online, table.head
    head[W_LEARNED] += 1
    j = 0
    for f in range(len(online)):
        v = 0.0
        if j < len(f_new) and f_new[j] == f:
            v = v_new[j]
            j += 1
        span = online[f]
        if v == 0.0 and span[S_LEAST] == span[S_GREATEST] == 0.0:  # nothing yet but 0: only their number changes
            span[S_AT_LEAST] += 1.0
            span[S_AT_GREATEST] += 1.0
            span[S_COUNT] += 1.0
            continue
        widen(span, v)
        observe(span, v)
        table.spans[f, V_BY] = scale_of(span, ONLINE)


@called
def make_index(table: Sparse, rules: Ints) -> None:
    """Make the index from features to rows anew, of all rows."""
    starts, n, metric = table.starts, table.head[W_SIZE], rules[R_METRIC]
    d = len(starts) - 1
    starts[:] = 0
    table.first[:] = -1
    for s in range(n):
        for i in range(table.begin[s], table.begin[s] + table.sizes[s]):
            starts[table.columns[i]] += 1
    total = 0
    for f in range(d + 1):
        total += starts[f]
        starts[f] = total  # where the feature ends; each value put there moves it back, to where it begins
    for s in range(n):
        table.fresh[s] = 0
        far = 0.0
        for i in range(table.begin[s], table.begin[s] + table.sizes[s]):
            f, v = table.columns[i], table.values[i]
            starts[f] -= 1
            table.slots[starts[f]], table.held[starts[f]] = s, v
            gap = 1.0 if metric == HAMMING else abs(v) * table.spans[f, V_BY]
            far += gap if metric == MANHATTAN else gap * gap
        table.own[s, 0], table.own[s, 1] = far, EPSILON * far * table.sizes[s]
    table.head[W_RECENT] = 0


# -- distances --------------------------------------------------------------------------------------------------------


@called
def measure(table: Sparse, room: Room, rules: Ints, f_x: Ints, v_x: Floats, every: bool) -> None:
    """Measure a query: the distance of each row that may be among the nearest, infinity for the others."""
    sums, bounds, nearest = room.sums, room.bounds, room.nearest
    n, metric = table.head[W_SIZE], rules[R_METRIC]
    own = own_length(table, f_x, v_x) if metric == COSINE else 0.0
    if every or rules[R_SCALE] == ONLINE or table.head[W_RECENT] >= n:
        for s in range(n):
            sums[s] = exact(table, metric, f_x, v_x, s, own)
        return
    for s in range(n):
        sums[s] = 0.0
    far = add_shared(table, metric, f_x, v_x, sums)
    for s in range(n):
        if table.fresh[s] != 0:
            sums[s] = exact(table, metric, f_x, v_x, s, own)
            bounds[s] = sums[s]
            continue
        mine = table.own[s, 0]
        error = SURE * (table.own[s, 1] + EPSILON * (len(f_x) + table.sizes[s] + 8) * (far + mine))
        rough = far + mine + sums[s]
        if metric == COSINE:
            length = own * math.sqrt(max(mine, 0.0))
            rough = max(0.0, 1.0 - sums[s] / length) if length > 0.0 else 1.0
            error = error / length + error / mine if length > 0.0 and mine > 4.0 * error else math.inf
        least, most = rough - error, rough + error
        sums[s] = least if least == least else -math.inf
        bounds[s] = most if most == most else math.inf
    k = min(n, rules[R_K])
    find_nearest(bounds, n, nearest, k)
    limit = nearest[0]
    for s in range(n):
        if table.fresh[s] == 0:
            sums[s] = exact(table, metric, f_x, v_x, s, own) if sums[s] <= limit else math.inf


@called
def add_shared(table: Sparse, metric: int, f_x: Ints, v_x: Floats, sums: Floats) -> float:
    """Add to each row's sum what the features that it shares with the query change; give the query's own distance."""
    far = 0.0
    for j in range(len(f_x)):
        f, v = f_x[j], v_x[j]
        by = table.spans[f, V_BY]
        start, end = table.starts[f], table.starts[f + 1]
        if metric == HAMMING:
            far += 1.0
            for p in range(start, end):
                sums[table.slots[p]] -= 2.0 if table.held[p] == v else 1.0
        elif by > 0.0:
            x = v * by
            if metric == MANHATTAN:
                far += abs(x)
                for p in range(start, end):
                    z = table.held[p]
                    sums[table.slots[p]] += (abs(v - z) - abs(v) - abs(z)) * by
            else:
                far += x * x
                twice = x * by if metric == COSINE else -2.0 * x * by
                for p in range(start, end):
                    sums[table.slots[p]] += twice * table.held[p]
    return far


@inlined
def own_length(table: Sparse, f_x: Ints, v_x: Floats) -> float:
    own = 0.0
    for j in range(len(f_x)):
        x = v_x[j] * table.spans[f_x[j], V_BY]
        own += x * x
    return math.sqrt(own)


@called
def exact(table: Sparse, metric: int, f_x: Ints, v_x: Floats, s: int, own: float) -> float:
    """Measure the distance of a row, feature by feature in their order."""
    a, b = table.begin[s], table.begin[s] + table.sizes[s]
    f_z, v_z = table.columns[a:b], table.values[a:b]
    i, j, m, n = 0, 0, len(f_x), len(f_z)
    total, length = 0.0, 0.0
    while i < m or j < n:
        left = f_x[i] if i < m else 1 << 62
        right = f_z[j] if j < n else 1 << 62
        f, x, z = min(left, right), 0.0, 0.0
        if left == f:
            x = v_x[i]
            i += 1
        if right == f:
            z = v_z[j]
            j += 1
        if metric == HAMMING:
            total += 0.0 if x == z else 1.0
            continue
        by = table.spans[f, V_BY]
        if not by > 0.0:  # all rows hold the same
            continue
        if metric == COSINE:
            x, z = x * by, z * by
            total += x * z
            length += z * z
        else:
            gap = abs(x - z) * by
            total += gap * gap if metric == EUCLIDEAN else gap
    if metric != COSINE:
        return total
    length = own * math.sqrt(length)
    return max(0.0, 1.0 - total / length) if 0.0 < length < math.inf and abs(total) < math.inf else 1.0
