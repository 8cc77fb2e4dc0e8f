"""What a leaf observes: one row of float64 per active leaf.

A row of ``stats`` is a header, the groups of numeric attributes, and one block per nominal attribute. ``watched[slot,
j]`` holds an attribute's number (-1: given up) and where its cells start; numeric attributes come first. C is the room
for classes, V the room for values of a nominal attribute.

| part           | cells  | meaning                                                              |
| header         | 4      | weight at the last split attempt; weight that majority / Bayes got right; how many |
|                |        | of the attributes are numeric                                        |
| numeric group  | rows of| weight seen; least and greatest value of all classes;                |
|                | LANES  | per class: weight, mean, M2, least, greatest, 1/(2σ²), ln(1/(σ√2π))  |
| nominal block  | 1+C+VC | weight seen; per class: weight; per value and class: weight          |

A group holds LANES numeric attributes side by side, so that a row is learned by all of them at once; the last group
holds the rest, and its rows are so much shorter. The cells of one attribute are ``lanes`` apart: the weight seen is at
its start, column k of class c is at start + lanes · (OWN + NUMERIC_COLUMNS · c + k).

The last two columns of a class are there so that naive Bayes needs no logarithm and no division: 1/(2σ²) is infinite
for a class without variance, the logarithm -∞ for a class never seen. Both are of a spread that is smoothed: a share of
the range of all values is added to it, so that a class with a few values does not rule out all others.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.jit.fast import fast_below, fast_log2
from thalweg.jit.gaussian import below
from thalweg.jit.impurity import GAIN, cost, total

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Watched = NDArray[np.int32]

LAST, MAJORITY_RIGHT, BAYES_RIGHT, NUMBERS, HEADER = 0, 1, 2, 3, 4
LANES = 4
"""Numeric attributes of a group."""
SEEN, LOW, HIGH, OWN = 0, 1, 2, 3
"""Rows of a group that are of all classes together."""
WEIGHT, MEAN, M2, LEAST, GREATEST, INV, LOG, NUMERIC_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7
"""Rows of a class."""

ROOM, VALUES, PATCH = 0, 1, 2
"""Rows of ``layout``: room for values of each attribute (0: numeric), how many it has so far; patches of trees."""

HUGE = 1e150
"""Values beyond ±HUGE are missing to the observers: their squares would overflow and ruin the leaf."""

WORK_ROWS = 5
"""Rows of ``work``, where the tests of an attribute are weighed; it has a column for each threshold and each class."""

STEEP, TINY = 8e307, 1e-307
"""Nearly half the greatest number, which 1/(2σ²) is not taken to exceed; nearly the smallest one to divide by."""

_INV_PI = 1.0 / math.pi
_HALF_LN_2 = 0.5 * math.log(2.0)


@inlined
def block_size(room: int, classes: int) -> int:
    """Cells of an attribute with room for so many values (0: numeric)."""
    return OWN + NUMERIC_COLUMNS * classes if room == 0 else 1 + classes + room * classes


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
    return HEADER + (j - j % LANES) * block_size(0, classes) + j % LANES


@inlined
def clear_number(stats: Floats, slot: int, start: int, lanes: int, classes: int) -> None:
    """Make a numeric attribute that has seen nothing."""
    stats[slot, start + lanes * SEEN] = 0.0
    stats[slot, start + lanes * LOW] = math.inf
    stats[slot, start + lanes * HIGH] = -math.inf
    for c in range(classes):
        a = start + lanes * (OWN + NUMERIC_COLUMNS * c)
        stats[slot, a + lanes * WEIGHT] = 0.0
        stats[slot, a + lanes * MEAN] = 0.0
        stats[slot, a + lanes * M2] = 0.0
        stats[slot, a + lanes * LEAST] = math.inf
        stats[slot, a + lanes * GREATEST] = -math.inf
        stats[slot, a + lanes * INV] = 0.0
        stats[slot, a + lanes * LOG] = -math.inf


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
    numbers, first = int(stats[slot, NUMBERS]), whole_lanes(classes)
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
            a = start + LANES * (OWN + NUMERIC_COLUMNS * y)
            own, cells = stats[slot, start : start + LANES * OWN], stats[slot, a : a + LANES * NUMERIC_COLUMNS]
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
    """Let a whole group take its values x: a loop without branches, of which the compiler makes one pass for all."""
    for k in range(len(x)):
        v = x[k]
        low, high = min(own[LANES * LOW + k], v), max(own[LANES * HIGH + k], v)
        own[LANES * SEEN + k] += w
        own[LANES * LOW + k] = low
        own[LANES * HIGH + k] = high
        cells[LANES * LEAST + k] = min(cells[LANES * LEAST + k], v)
        cells[LANES * GREATEST + k] = max(cells[LANES * GREATEST + k], v)
        weight = cells[LANES * WEIGHT + k] + w
        mean, m2 = welford(weight, cells[LANES * MEAN + k], cells[LANES * M2 + k], v, w)
        inv = inverse(weight, m2, smoothing * (high - low))
        cells[LANES * WEIGHT + k] = weight
        cells[LANES * MEAN + k] = mean
        cells[LANES * M2 + k] = m2
        cells[LANES * INV + k] = inv
        cells[LANES * LOG + k] = log_scale(inv)


@inlined
def observe_lanes(stats: Floats, slot: int, start: int, lanes: int, x: Floats, y: int, w: float,
                  smoothing: float) -> None:  # fmt: skip
    """Let a group of so many attributes take those of its values x that are not missing, one after the other."""
    a = start + lanes * (OWN + NUMERIC_COLUMNS * y)
    own, cells = stats[slot, start : start + lanes * OWN], stats[slot, a : a + lanes * NUMERIC_COLUMNS]
    for k in range(lanes):
        v = x[k]
        if not abs(v) <= HUGE:
            continue
        low, high = min(own[lanes * LOW + k], v), max(own[lanes * HIGH + k], v)
        own[lanes * SEEN + k] += w
        own[lanes * LOW + k] = low
        own[lanes * HIGH + k] = high
        cells[lanes * LEAST + k] = min(cells[lanes * LEAST + k], v)
        cells[lanes * GREATEST + k] = max(cells[lanes * GREATEST + k], v)
        weight = cells[lanes * WEIGHT + k] + w
        mean, m2 = welford(weight, cells[lanes * MEAN + k], cells[lanes * M2 + k], v, w)
        inv = inverse(weight, m2, smoothing * (high - low))
        cells[lanes * WEIGHT + k] = weight
        cells[lanes * MEAN + k] = mean
        cells[lanes * M2 + k] = m2
        cells[lanes * INV + k] = inv
        cells[lanes * LOG + k] = log_scale(inv)


@inlined
def welford(weight: float, mean: float, m2: float, v: float, w: float) -> tuple[float, float]:
    """Mean and M2 after a value v of weight w, which ``weight`` has in it already."""
    off = v - mean
    mean = v if weight == w else mean + w * off / weight  # exact for the first value: w * v / w need not be v
    return mean, m2 + w * off * (v - mean)


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
    numbers = int(stats[slot, NUMBERS])
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
        seen = v < layout[ROOM, f]
        for c in range(classes):
            n = stats[slot, a + c]
            if n > 0.0:
                logs[c] += math.log(((stats[slot, here + c] if seen else 0.0) + 1.0) / (n + layout[VALUES, f]))
            else:
                logs[c] = -math.inf


@inlined
def add_lanes(stats: Floats, watched: Watched, slot: int, j: int, lanes: int, classes: int, X: Floats, r: int,
              logs: Floats) -> None:  # fmt: skip
    """Add the likelihoods of the group that begins with the j-th attribute, one attribute after the other."""
    start = start_of(j, classes)
    own = stats[slot, start : start + lanes * OWN]
    x0 = value(own, watched, slot, j, 0, X, r)
    x1 = value(own, watched, slot, j, 1, X, r) if lanes > 1 else 0.0
    x2 = value(own, watched, slot, j, 2, X, r) if lanes > 2 else 0.0
    x3 = value(own, watched, slot, j, 3, X, r) if lanes > 3 else 0.0
    a = start + lanes * OWN
    if abs(x0) <= HUGE and abs(x1) <= HUGE and abs(x2) <= HUGE and abs(x3) <= HUGE:
        for c in range(classes):
            cells = stats[slot, a : a + lanes * NUMERIC_COLUMNS]
            log = logs[c] + term(cells, 0, lanes, x0)
            log = log + term(cells, 1, lanes, x1) if lanes > 1 else log
            log = log + term(cells, 2, lanes, x2) if lanes > 2 else log
            logs[c] = log + term(cells, 3, lanes, x3) if lanes > 3 else log
            a += lanes * NUMERIC_COLUMNS
        return
    for k in range(lanes):
        v = value(own, watched, slot, j, k, X, r)
        if abs(v) <= HUGE:
            for c in range(classes):
                cells = stats[slot, a + c * lanes * NUMERIC_COLUMNS : a + (c + 1) * lanes * NUMERIC_COLUMNS]
                logs[c] += term(cells, k, lanes, v)


@inlined
def value(own: Floats, watched: Watched, slot: int, j: int, k: int, X: Floats, r: int) -> float:
    """What row r has for lane k of the group that begins with the j-th attribute; NaN: nothing to reckon with."""
    f = watched[slot, j + k, 0]
    return float(X[r, f]) if f >= 0 and own[k] > 0.0 else math.nan


@inlined
def term(cells: Floats, k: int, lanes: int, v: float) -> float:
    """ln p(v | c) of lane k, where the cells are those of class c; -∞: never seen."""
    off = v - cells[lanes * MEAN + k]
    square = off * off
    return float(cells[lanes * LOG + k] - (square * cells[lanes * INV + k] if square > 0.0 else 0.0))


@inlined
def bayes(counts: Floats, i: int, logs: Floats, classes: int, votes: Floats) -> bool:
    """Naive Bayes votes n_c · Π_j p(x_j | c), scaled by the greatest likelihood; False: every class has a zero factor.

    ``counts[i, 1:]`` holds the class weights. Working in logarithms keeps hundreds of attributes from underflowing.
    """
    top = -math.inf
    for c in range(classes):
        if counts[i, 1 + c] > 0.0 and logs[c] > top:  # NaN is never greater
            top = logs[c]
    if top == -math.inf:
        return False
    for c in range(classes):
        n = counts[i, 1 + c]
        if n > 0.0 and logs[c] > -math.inf:
            votes[c] = n * math.exp(logs[c] - top) if logs[c] < top else n
        else:
            votes[c] = 0.0
    return True


# -- candidates for a split -------------------------------------------------------------------------------------------


@inlined
def merit_of_two(criterion: int, whole: float, left: Floats, right: Floats, min_share: float) -> float:
    """Merit of a binary split, -∞ unless both branches hold enough weight. ``whole``: impurity of the leaf."""
    a, b = total(left), total(right)
    least = min(a, b)
    if least <= 0.0 or (criterion == GAIN and least <= min_share * (a + b)):
        return -math.inf
    mean = (cost(criterion, left) + cost(criterion, right)) / (a + b)
    return float(whole - mean if criterion == GAIN else 1.0 - mean)


@inlined
def divide_number(stats: Floats, slot: int, start: int, lanes: int, classes: int, t: float, left: Floats,
                  right: Floats) -> None:  # fmt: skip
    """Class weights that a test ``x ≤ t`` is predicted to send left and right, from the Gaussians."""
    for c in range(classes):
        a = start + lanes * (OWN + NUMERIC_COLUMNS * c)
        n = stats[slot, a + lanes * WEIGHT]
        if n == 0.0 or t < stats[slot, a + lanes * LEAST]:
            left[c] = 0.0
        elif t >= stats[slot, a + lanes * GREATEST]:
            left[c] = n
        else:
            inv = stats[slot, a + lanes * INV]
            off = t - stats[slot, a + lanes * MEAN]
            if inv == math.inf:
                left[c] = n if off >= 0.0 else 0.0
            else:
                left[c] = n * below(off * math.sqrt(2.0 * min(inv, STEEP)))
        right[c] = max(0.0, n - left[c])


@inlined
def vectors(points: int) -> int:
    """Columns for so many thresholds: they are weighed eight at a time."""
    return (points + 7) // 8 * 8


@called
def best_number(stats: Floats, slot: int, start: int, lanes: int, classes: int, criterion: int, whole: float,
                min_share: float, points: int, work: Floats) -> tuple[float, float]:  # fmt: skip
    """Find the best threshold of a numeric attribute: (merit, threshold), the first among equals.

    All thresholds are weighed at once, in the columns of ``work``; those beyond ``points`` do not count.
    """
    least, greatest = math.inf, -math.inf
    for c in range(classes):
        a = start + lanes * (OWN + NUMERIC_COLUMNS * c)
        least = min(least, stats[slot, a + lanes * LEAST])
        greatest = max(greatest, stats[slot, a + lanes * GREATEST])
    best, where = -math.inf, math.nan
    if not least < greatest:
        return best, where
    columns = vectors(points)
    at, left, right = work[0, :columns], work[1, :columns], work[2, :columns]
    in_left, in_right = work[3, :columns], work[4, :columns]
    for k in range(len(at)):
        at[k] = least + (greatest - least) * (k + 1) / (points + 1)
        left[k], right[k], in_left[k], in_right[k] = 0.0, 0.0, 0.0, 0.0
    for c in range(classes):
        a = start + lanes * (OWN + NUMERIC_COLUMNS * c)
        if stats[slot, a + lanes * WEIGHT] > 0.0:
            add_class(stats, slot, a, lanes, criterion, at, left, right, in_left, in_right)
    merits = in_left
    if criterion == GAIN:
        for k in range(len(at)):
            n, m = left[k], right[k]
            costs = n * fast_log2(n) + m * fast_log2(m) - in_left[k]
            merits[k] = whole - costs / (n + m) if min(n, m) > min_share * (n + m) else -math.inf
    else:
        for k in range(len(at)):
            n, m = left[k], right[k]
            costs = (n - in_left[k] / max(n, TINY)) + (m - in_right[k] / max(m, TINY))
            merits[k] = 1.0 - costs / (n + m) if min(n, m) > 0.0 else -math.inf
    for k in range(points):
        if merits[k] > best and least < at[k] < greatest:
            best, where = merits[k], at[k]
    return best, where


@inlined
def add_class(stats: Floats, slot: int, a: int, lanes: int, criterion: int, at: Floats, left: Floats, right: Floats,
              in_left: Floats, in_right: Floats) -> None:  # fmt: skip
    """Add a class to what lies left and right of each threshold; apart, its weight × log2 weight or (Gini) squared."""
    n, mean, inv = stats[slot, a + lanes * WEIGHT], stats[slot, a + lanes * MEAN], stats[slot, a + lanes * INV]
    least, greatest = stats[slot, a + lanes * LEAST], stats[slot, a + lanes * GREATEST]
    scale = math.sqrt(2.0 * min(inv, STEEP))
    if inv == math.inf:  # all of it is at its mean
        least = greatest = min(max(mean, least), greatest)
    if criterion == GAIN:
        for k in range(len(at)):
            x = n * share_below(at[k], mean, scale, least, greatest)
            left[k] += x
            right[k] += n - x
            in_left[k] += x * fast_log2(x) + (n - x) * fast_log2(n - x)
    else:
        for k in range(len(at)):
            x = n * share_below(at[k], mean, scale, least, greatest)
            left[k] += x
            right[k] += n - x
            in_left[k] += x * x
            in_right[k] += (n - x) * (n - x)


@inlined
def share_below(t: float, mean: float, scale: float, least: float, greatest: float) -> float:
    """Share of a class that a test ``x ≤ t`` is predicted to send left."""
    share = fast_below((t - mean) * scale)
    share = 0.0 if t < least else share
    return 1.0 if t >= greatest else share


@called
def best_value(
    stats: Floats,
    slot: int,
    start: int,
    classes: int,
    values: int,
    multiway: bool,
    criterion: int,
    whole: float,
    min_share: float,
    work: Floats,
) -> tuple[float, float]:
    """Find the best test of a nominal attribute: (merit, v ≥ 0 for "equals v", -values for one branch per value)."""
    left, right = work[0, :classes], work[1, :classes]
    seen = stats[slot, start]
    best, where = -math.inf, math.nan
    if multiway:
        costs, filled = 0.0, 0
        for v in range(values):
            for c in range(classes):
                left[c] = stats[slot, start + 1 + (1 + v) * classes + c]
            costs += cost(criterion, left)
            if total(left) > (min_share * seen if criterion == GAIN else 0.0):
                filled += 1
        if filled >= 2:
            best, where = (whole - costs / seen if criterion == GAIN else 1.0 - costs / seen), -float(values)
    for v in range(values):
        for c in range(classes):
            left[c] = stats[slot, start + 1 + (1 + v) * classes + c]
            right[c] = max(0.0, stats[slot, start + 1 + c] - left[c])
        m = merit_of_two(criterion, whole, left, right, min_share)
        if m > best:
            best, where = m, float(v)
    return best, where
