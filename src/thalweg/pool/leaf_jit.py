"""What a leaf observes: one row of float64 per active leaf.

A row of ``stats`` is a header, the groups of numeric attributes, and one block per nominal attribute. ``watched[slot,
j]`` holds an attribute's number (-1: given up) and where its cells start; numeric attributes come first. C is the room
for classes, V the room for values of a nominal attribute.

| part           | cells  | meaning                                                              |
| header         | 4      | weight at the last split attempt; weight that majority / Bayes got right; how many |
|                |        | of the attributes are numeric                                        |
| numeric group  | rows of| weight seen; least and greatest value of all classes;                |
|                | LANES  | per class: weight, mean, C_M2, least, greatest, 1/(2σ²), ln(1/(σ√2π))  |
| nominal block  | 1+C+VC | weight seen; per class: weight; per value and class: weight          |

A group holds LANES numeric attributes side by side, so that a row is learned by all of them at once; the last group
holds the rest, and its rows are so much shorter. The cells of one attribute are ``lanes`` apart: the weight seen is at
its start, column k of class c is at start + lanes · (G_CLASSES + C_ROWS · c + k).

The last two columns of a class are there so that naive Bayes needs no logarithm and no division: 1/(2σ²) is infinite
for a class without variance, the logarithm -∞ for a class never seen. Both are of a spread that is smoothed: a share of
the range of all values is added to it, so that a class with a few values does not rule out all others.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import inlined
from thalweg.jit.fast import fast_log2
from thalweg.jit.welford import welford

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Watched = NDArray[np.int32]

S_LAST, S_MAJORITY_RIGHT, S_BAYES_RIGHT, S_NUMBERS, S_HEADER = 0, 1, 2, 3, 4
LANES = 4
"""Numeric attributes of a group."""
G_SEEN, G_LOW, G_HIGH, G_CLASSES = 0, 1, 2, 3
"""Rows of a group that are of all classes together."""
C_WEIGHT, C_MEAN, C_M2, C_LEAST, C_GREATEST, C_INV, C_LOG, C_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
"""Rows of a class."""

L_ROOM, L_VALUES, L_PATCH = 0, 1, 2
"""Rows of ``layout``: room for values of each attribute (0: numeric), how many it has so far; patches of trees."""

HUGE = 1e150
"""Values beyond ±HUGE are missing to the observers: their squares would overflow and ruin the leaf."""

_INV_PI = 1.0 / math.pi
_HALF_LN_2 = 0.5 * math.log(2.0)


@inlined
def block_size(room: int, classes: int) -> int:
    """Cells of an attribute with room for so many values (0: numeric)."""
    return G_CLASSES + C_ROWS * classes if room == 0 else 1 + classes + room * classes


@inlined
def whole_lanes(n: int) -> int:
    """So many cells, and what is lacking to a multiple of LANES: what comes next then is in one cache line."""
    return (n + LANES - 1) // LANES * LANES


@inlined
def lanes_of(j: int, numbers: int) -> int:
    """How far apart the cells of the j-th of so many numeric attributes are."""
    return LANES if j < numbers - numbers % LANES else numbers % LANES


@inlined
def start_of(j: int, classes: int) -> int:
    """Where the cells of the j-th numeric attribute start."""
    return S_HEADER + (j - j % LANES) * block_size(0, classes) + j % LANES


@inlined
def clear_number(stats: Floats, slot: int, start: int, lanes: int, classes: int) -> None:
    """Make a numeric attribute that has seen nothing."""
    stats[slot, start + lanes * G_SEEN] = 0.0
    stats[slot, start + lanes * G_LOW] = math.inf
    stats[slot, start + lanes * G_HIGH] = -math.inf
    for c in range(classes):
        a = start + lanes * (G_CLASSES + C_ROWS * c)
        stats[slot, a + lanes * C_WEIGHT] = 0.0
        stats[slot, a + lanes * C_MEAN] = 0.0
        stats[slot, a + lanes * C_M2] = 0.0
        stats[slot, a + lanes * C_LEAST] = math.inf
        stats[slot, a + lanes * C_GREATEST] = -math.inf
        stats[slot, a + lanes * C_INV] = 0.0
        stats[slot, a + lanes * C_LOG] = -math.inf


@inlined
def clear_block(stats: Floats, slot: int, start: int, values: int, classes: int) -> None:
    """Make a nominal attribute that has seen nothing."""
    for a in range(start, start + block_size(values, classes)):
        stats[slot, a] = 0.0


# -- learning a row ---------------------------------------------------------------------------------------------------


@inlined
def observe(stats: Floats, watched: Watched, slot: int, X: Floats, r: int, classes: int, y: int, w: float,
            smoothing: float, logs: Floats) -> None:  # fmt: skip
    """Show row r with label y and weight w to every watched attribute. A missing value is skipped.

    ``logs`` has a cell for each watched attribute after those of the classes: there the numbers are lined up.
    """
    numbers, first = int(stats[slot, S_NUMBERS]), whole_lanes(classes)
    for j in range(numbers):
        f = watched[slot, j, 0]
        logs[first + j] = X[r, f] if f >= 0 else math.nan
    for j in range(numbers, watched.shape[1]):
        f, start = watched[slot, j, 0], watched[slot, j, 1]
        if f >= 0 and abs(X[r, f]) <= HUGE:
            stats[slot, start] += w
            stats[slot, start + 1 + y] += w
            stats[slot, start + 1 + (1 + int(X[r, f])) * classes + y] += w
    for j in range(0, numbers, LANES):
        start = start_of(j, classes)
        x = logs[first + j : first + min(j + LANES, numbers)]
        lanes = len(x)
        if lanes == LANES and abs(x[0]) <= HUGE and abs(x[1]) <= HUGE and abs(x[2]) <= HUGE and abs(x[3]) <= HUGE:
            a = start + LANES * (G_CLASSES + C_ROWS * y)
            own, cells = stats[slot, start : start + LANES * G_CLASSES], stats[slot, a : a + LANES * C_ROWS]
            observe_group(own, cells, x, w, smoothing)
        elif lanes == 1:  # each of these is compiled for itself
            observe_lanes(stats, slot, start, 1, x, y, w, smoothing)
        elif lanes == 2:
            observe_lanes(stats, slot, start, 2, x, y, w, smoothing)
        elif lanes == 3:
            observe_lanes(stats, slot, start, 3, x, y, w, smoothing)
        else:
            observe_lanes(stats, slot, start, LANES, x, y, w, smoothing)


@inlined
def observe_group(own: Floats, cells: Floats, x: Floats, w: float, smoothing: float) -> None:
    """Let a whole group take its values x: a loop without branches, of which the compiler makes one pass for all.

    ``observe_lanes`` has the same lines again, on purpose: with its branch the compiler makes no such pass. Each must
    do what the other does, to the last bit.
    """
    for k in range(len(x)):
        v = x[k]
        low, high = min(own[LANES * G_LOW + k], v), max(own[LANES * G_HIGH + k], v)
        own[LANES * G_SEEN + k] += w
        own[LANES * G_LOW + k] = low
        own[LANES * G_HIGH + k] = high
        cells[LANES * C_LEAST + k] = min(cells[LANES * C_LEAST + k], v)
        cells[LANES * C_GREATEST + k] = max(cells[LANES * C_GREATEST + k], v)
        weight = cells[LANES * C_WEIGHT + k] + w
        mean, m2 = welford(weight, cells[LANES * C_MEAN + k], cells[LANES * C_M2 + k], v, w)
        inv = inverse(weight, m2, smoothing * (high - low))
        cells[LANES * C_WEIGHT + k] = weight
        cells[LANES * C_MEAN + k] = mean
        cells[LANES * C_M2 + k] = m2
        cells[LANES * C_INV + k] = inv
        cells[LANES * C_LOG + k] = log_scale(inv)


@inlined
def observe_lanes(stats: Floats, slot: int, start: int, lanes: int, x: Floats, y: int, w: float,
                  smoothing: float) -> None:  # fmt: skip
    """Let a group of so many attributes take those of its values x that are not missing, one after the other."""
    a = start + lanes * (G_CLASSES + C_ROWS * y)
    own, cells = stats[slot, start : start + lanes * G_CLASSES], stats[slot, a : a + lanes * C_ROWS]
    for k in range(lanes):
        v = x[k]
        if not abs(v) <= HUGE:
            continue
        low, high = min(own[lanes * G_LOW + k], v), max(own[lanes * G_HIGH + k], v)
        own[lanes * G_SEEN + k] += w
        own[lanes * G_LOW + k] = low
        own[lanes * G_HIGH + k] = high
        cells[lanes * C_LEAST + k] = min(cells[lanes * C_LEAST + k], v)
        cells[lanes * C_GREATEST + k] = max(cells[lanes * C_GREATEST + k], v)
        weight = cells[lanes * C_WEIGHT + k] + w
        mean, m2 = welford(weight, cells[lanes * C_MEAN + k], cells[lanes * C_M2 + k], v, w)
        inv = inverse(weight, m2, smoothing * (high - low))
        cells[lanes * C_WEIGHT + k] = weight
        cells[lanes * C_MEAN + k] = mean
        cells[lanes * C_M2 + k] = m2
        cells[lanes * C_INV + k] = inv
        cells[lanes * C_LOG + k] = log_scale(inv)


@inlined
def inverse(weight: float, m2: float, blur: float) -> float:
    """1/(2σ²) of a spread that is smoothed; ∞: there is none."""
    more = weight - 1.0
    over = 0.5 * more if more > 0.0 else 0.5
    under = m2 + more * blur * blur if more > 0.0 else blur * blur
    return over / under if under > 0.0 else math.inf


@inlined
def log_scale(inv: float) -> float:
    """ln(1/(σ√2π)) where inv is 1/(2σ²); 0 where that is infinite."""
    log = _HALF_LN_2 * fast_log2(inv * _INV_PI)
    return log if inv < math.inf else 0.0


# -- naive Bayes ------------------------------------------------------------------------------------------------------


@inlined
def likelihoods(
    stats: Floats, watched: Watched, slot: int, layout: Ints, classes: int, X: Floats, r: int, logs: Floats
) -> None:
    """Fill ``logs`` with Σ_j ln p(x_j | c) over the attributes that have seen something and are present in row r."""
    for c in range(classes):
        logs[c] = 0.0
    numbers = int(stats[slot, S_NUMBERS])
    whole = numbers - numbers % LANES
    for j in range(0, whole, LANES):
        add_lanes(stats, watched, slot, j, LANES, classes, X, r, logs)
    if whole == numbers - 1:
        add_lanes(stats, watched, slot, whole, 1, classes, X, r, logs)
    elif whole == numbers - 2:
        add_lanes(stats, watched, slot, whole, 2, classes, X, r, logs)
    elif whole == numbers - 3:
        add_lanes(stats, watched, slot, whole, 3, classes, X, r, logs)
    for j in range(numbers, watched.shape[1]):
        f = watched[slot, j, 0]
        if f < 0:
            continue
        v = X[r, f]
        start = watched[slot, j, 1]
        if not abs(v) <= HUGE or stats[slot, start] == 0.0:
            continue
        a = start + 1
        here = a + (1 + int(v)) * classes
        seen = v < layout[L_ROOM, f]
        for c in range(classes):
            n = stats[slot, a + c]
            if n > 0.0:
                logs[c] += math.log(((stats[slot, here + c] if seen else 0.0) + 1.0) / (n + layout[L_VALUES, f]))
            else:
                logs[c] = -math.inf


@inlined
def add_lanes(stats: Floats, watched: Watched, slot: int, j: int, lanes: int, classes: int, X: Floats, r: int,
              logs: Floats) -> None:  # fmt: skip
    """Add the likelihoods of the group that begins with the j-th attribute, one attribute after the other."""
    start = start_of(j, classes)
    own = stats[slot, start : start + lanes * G_CLASSES]
    x0 = value(own, watched, slot, j, 0, X, r)
    x1 = value(own, watched, slot, j, 1, X, r) if lanes > 1 else 0.0
    x2 = value(own, watched, slot, j, 2, X, r) if lanes > 2 else 0.0
    x3 = value(own, watched, slot, j, 3, X, r) if lanes > 3 else 0.0
    a = start + lanes * G_CLASSES
    if abs(x0) <= HUGE and abs(x1) <= HUGE and abs(x2) <= HUGE and abs(x3) <= HUGE:
        for c in range(classes):
            cells = stats[slot, a : a + lanes * C_ROWS]
            log = logs[c] + term(cells, 0, lanes, x0)
            log = log + term(cells, 1, lanes, x1) if lanes > 1 else log
            log = log + term(cells, 2, lanes, x2) if lanes > 2 else log
            logs[c] = log + term(cells, 3, lanes, x3) if lanes > 3 else log
            a += lanes * C_ROWS
        return
    for k in range(lanes):
        v = value(own, watched, slot, j, k, X, r)
        if abs(v) <= HUGE:
            for c in range(classes):
                cells = stats[slot, a + c * lanes * C_ROWS : a + (c + 1) * lanes * C_ROWS]
                logs[c] += term(cells, k, lanes, v)


@inlined
def value(own: Floats, watched: Watched, slot: int, j: int, k: int, X: Floats, r: int) -> float:
    """What row r has for lane k of the group that begins with the j-th attribute; NaN: nothing to reckon with."""
    f = watched[slot, j + k, 0]
    return float(X[r, f]) if f >= 0 and own[k] > 0.0 else math.nan


@inlined
def term(cells: Floats, k: int, lanes: int, v: float) -> float:
    """ln p(v | c) of lane k, where the cells are those of class c; -∞: never seen."""
    off = v - cells[lanes * C_MEAN + k]
    square = off * off
    return float(cells[lanes * C_LOG + k] - (square * cells[lanes * C_INV + k] if square > 0.0 else 0.0))


@inlined
def top_log(counts: Floats, i: int, logs: Floats, classes: int) -> float:
    """Find the greatest of the logarithms of classes that have weight; -∞: there is none (and NaN is never greater)."""
    a, b, c = -math.inf, -math.inf, 0
    while c + 2 <= classes:  # two at a time, and without branches that a processor would have to guess
        n, m, v, u = counts[i, 1 + c], counts[i, 2 + c], logs[c], logs[c + 1]
        v, u = v if n > 0.0 else -math.inf, u if m > 0.0 else -math.inf
        a, b, c = v if v > a else a, u if u > b else b, c + 2
    if c < classes and counts[i, 1 + c] > 0.0 and logs[c] > a:
        a = logs[c]
    return b if b > a else a


@inlined
def bayes(counts: Floats, i: int, logs: Floats, classes: int, votes: Floats) -> bool:
    """Naive Bayes votes n_c · Π_j p(x_j | c), scaled by the greatest likelihood; False: every class has a zero factor.

    ``counts[i, 1:]`` holds the class weights. Working in logarithms keeps hundreds of attributes from underflowing.
    ``logs`` ends with a cell for each class, which may hold anything, and one more, which is left alone.
    """
    top = top_log(counts, i, logs, classes)
    if top == -math.inf:
        return False
    own, n = logs[len(logs) - 1 - classes :], 0  # first list those that need an exponential: no branches to be guessed
    for c in range(classes):
        weight, log = counts[i, 1 + c], logs[c]
        votes[c], own[n] = weight if log == top else 0.0, c
        n += int((weight > 0.0) & (log > -math.inf) & (log < top))
    for k in range(n):
        c = int(own[k])
        votes[c] = counts[i, 1 + c] * math.exp(logs[c] - top)
    return True


@inlined
def likeliest(counts: Floats, i: int, logs: Floats, classes: int) -> int:
    """Find the class to which ``bayes`` gives the greatest vote (the lowest code among equals); -1: it has no votes.

    Most classes need no exponential for it: e^-x is never more than 1 / (1 + x + x²/2).
    """
    top = top_log(counts, i, logs, classes)
    if top == -math.inf:
        return -1
    c = 0
    while not (logs[c] == top and counts[i, 1 + c] > 0.0):
        c += 1
    best, most, bar = -1, 0.0, counts[i, 1 + c] * (1.0 - 1e-9)  # that is far more than round-off
    for c in range(classes):
        n, x = counts[i, 1 + c], top - logs[c]
        if n >= bar * (1.0 + x * (1.0 + 0.5 * x)):
            vote = n * math.exp(logs[c] - top) if logs[c] < top else n
            if vote > most:
                best, most = c, vote
    return best


@inlined
def update(stats: Floats, watched: Watched, slot: int, layout: Ints, classes: int, X: Floats, r: int, y: int, w: float,
           logs: Floats) -> bool:  # fmt: skip
    """Bring ``logs`` up to date, which ``likelihoods`` filled just before row r was learned: only class y has changed.

    False: that is not all, since an attribute has seen its first value.
    """
    numbers = int(stats[slot, S_NUMBERS])
    log = 0.0
    for j in range(watched.shape[1]):
        f, start = watched[slot, j, 0], watched[slot, j, 1]
        if f < 0 or not abs(X[r, f]) <= HUGE:
            continue
        v = X[r, f]
        if not stats[slot, start] > w:
            return False
        if j < numbers:
            lanes = lanes_of(j, numbers)
            a = start + lanes * (G_CLASSES + C_ROWS * y)
            log += term(stats[slot, a : a + lanes * C_ROWS], 0, lanes, v)
        else:
            n, here = stats[slot, start + 1 + y], stats[slot, start + 1 + (1 + int(v)) * classes + y]
            log += math.log((here + 1.0) / (n + layout[L_VALUES, f])) if n > 0.0 else -math.inf
    logs[y] = log
    return True
