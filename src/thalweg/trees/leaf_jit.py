"""What a leaf observes: one row of float64 per active leaf.

A row of ``stats`` is a header and one block per watched attribute; ``watched[slot, j]`` holds the attribute's number
(-1: given up) and where its block starts. C is the room for classes, V the room for values of a nominal attribute.

| part           | cells  | meaning                                                              |
| header         | 3      | weight at the last split attempt; weight that majority / Bayes got right |
| numeric block  | 3 + 7C | weight seen; per class: weight, mean, M2, least, greatest, 1/(2σ²), ln(1/(σ√2π)); |
|                |        | least and greatest value of all classes                              |
| nominal block  | 1+C+VC | weight seen; per class: weight; per value and class: weight          |

The last two columns of a numeric block are there so that naive Bayes needs no logarithm and no division: 1/(2σ²) is
infinite for a class without variance, the logarithm -∞ for a class never seen. Both are of a spread that is smoothed: a
share of the range of all values is added to it, so that a class with a few values does not rule out all others.
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

LAST, MAJORITY_RIGHT, BAYES_RIGHT, HEADER = 0, 1, 2, 3
WEIGHT, MEAN, M2, LEAST, GREATEST, INV, LOG, NUMERIC_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7
RANGE = 2
"""Cells at the end of a numeric block."""

ROOM, VALUES, PATCH = 0, 1, 2
"""Rows of ``layout``: room for values of each attribute (0: numeric), how many it has so far; patches of trees."""

HUGE = 1e150
"""Values beyond ±HUGE are missing to the observers: their squares would overflow and ruin the leaf."""

WORK_ROWS = 5
"""Rows of ``work``, where the tests of an attribute are weighed; it has a column for each threshold and each class."""

STEEP, TINY = 8e307, 1e-307
"""Nearly half the greatest number, which 1/(2σ²) is not taken to exceed; nearly the smallest one to divide by."""

_INV_PI = 1.0 / math.pi
_SQRT_HALF = math.sqrt(0.5)


@inlined
def block_size(room: int, classes: int) -> int:
    """Cells of the block of an attribute with room for so many values (0: numeric)."""
    return 1 + NUMERIC_COLUMNS * classes + RANGE if room == 0 else 1 + classes + room * classes


@inlined
def clear_block(stats: Floats, slot: int, start: int, nominal_values: int, classes: int) -> None:
    """Make a block that has seen nothing."""
    if nominal_values > 0:
        for a in range(start, start + 1 + classes + nominal_values * classes):
            stats[slot, a] = 0.0
        return
    stats[slot, start] = 0.0
    for c in range(classes):
        a = start + 1 + c
        stats[slot, a + WEIGHT * classes] = 0.0
        stats[slot, a + MEAN * classes] = 0.0
        stats[slot, a + M2 * classes] = 0.0
        stats[slot, a + LEAST * classes] = math.inf
        stats[slot, a + GREATEST * classes] = -math.inf
        stats[slot, a + INV * classes] = 0.0
        stats[slot, a + LOG * classes] = -math.inf
    stats[slot, start + 1 + NUMERIC_COLUMNS * classes] = math.inf
    stats[slot, start + 2 + NUMERIC_COLUMNS * classes] = -math.inf


@inlined
def observe(stats: Floats, watched: Watched, slot: int, layout: Ints, classes: int, X: Floats, r: int, y: int, w: float,
            smoothing: float) -> None:  # fmt: skip
    """Show row r with label y and weight w to every watched attribute. A missing value is skipped."""
    for j in range(watched.shape[1]):
        f = watched[slot, j, 0]
        if f < 0:
            continue
        v = X[r, f]
        if not abs(v) <= HUGE:
            continue
        start = watched[slot, j, 1]
        stats[slot, start] += w
        if layout[ROOM, f] == 0:
            observe_number(stats, slot, start + 1, y, classes, v, w, smoothing)
        else:
            stats[slot, start + 1 + y] += w
            stats[slot, start + 1 + (1 + int(v)) * classes + y] += w


@inlined
def observe_number(stats: Floats, slot: int, first: int, y: int, classes: int, v: float, w: float,
                   smoothing: float) -> None:  # fmt: skip
    """Welford's update of class y: weight, mean, M2, range, and what naive Bayes reads. ``first``: its first column."""
    a, low = first + y, first + NUMERIC_COLUMNS * classes
    stats[slot, low] = min(stats[slot, low], v)
    stats[slot, low + 1] = max(stats[slot, low + 1], v)
    blur = smoothing * (stats[slot, low + 1] - stats[slot, low])
    weight = stats[slot, a] + w
    mean = stats[slot, a + MEAN * classes]
    off = v - mean
    mean = v if weight == w else mean + w * off / weight  # exact for the first value: w * v / w need not be v
    m2 = stats[slot, a + M2 * classes] + w * off * (v - mean)
    stats[slot, a] = weight
    stats[slot, a + MEAN * classes] = mean
    stats[slot, a + M2 * classes] = m2
    stats[slot, a + LEAST * classes] = min(stats[slot, a + LEAST * classes], v)
    stats[slot, a + GREATEST * classes] = max(stats[slot, a + GREATEST * classes], v)
    if weight > 1.0:
        m2 += (weight - 1.0) * blur * blur
        inv = 0.5 * (weight - 1.0) / m2 if m2 > 0.0 else math.inf
    else:
        inv = 0.5 / (blur * blur) if blur > 0.0 else math.inf
    stats[slot, a + INV * classes] = inv
    stats[slot, a + LOG * classes] = 0.5 * math.log(inv * _INV_PI) if inv < math.inf else 0.0


@inlined
def likelihoods(
    stats: Floats, watched: Watched, slot: int, layout: Ints, classes: int, X: Floats, r: int, logs: Floats
) -> None:
    """Fill ``logs`` with Σ_j ln p(x_j | c) over the attributes that have seen something and are present in row r."""
    for c in range(classes):
        logs[c] = 0.0
    for j in range(watched.shape[1]):
        f = watched[slot, j, 0]
        if f < 0:
            continue
        v = X[r, f]
        start = watched[slot, j, 1]
        if not abs(v) <= HUGE or stats[slot, start] == 0.0:
            continue
        a = start + 1
        if layout[ROOM, f] == 0:
            for c in range(classes):
                off = v - stats[slot, a + MEAN * classes + c]
                square = off * off
                far = square * stats[slot, a + INV * classes + c] if square > 0.0 else 0.0
                logs[c] += stats[slot, a + LOG * classes + c] - far
        else:
            here = a + (1 + int(v)) * classes
            seen = v < layout[ROOM, f]
            for c in range(classes):
                n = stats[slot, a + c]
                if n > 0.0:
                    logs[c] += math.log(((stats[slot, here + c] if seen else 0.0) + 1.0) / (n + layout[VALUES, f]))
                else:
                    logs[c] = -math.inf


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
def divide_number(stats: Floats, slot: int, start: int, classes: int, t: float, left: Floats, right: Floats) -> None:
    """Class weights that a test ``x ≤ t`` is predicted to send left and right, from the Gaussians."""
    for c in range(classes):
        a = start + 1 + c
        n = stats[slot, a]
        if n == 0.0 or t < stats[slot, a + LEAST * classes]:
            left[c] = 0.0
        elif t >= stats[slot, a + GREATEST * classes]:
            left[c] = n
        else:
            inv = stats[slot, a + INV * classes]
            off = t - stats[slot, a + MEAN * classes]
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
def best_number(stats: Floats, slot: int, start: int, classes: int, criterion: int, whole: float, min_share: float,
                points: int, work: Floats) -> tuple[float, float]:  # fmt: skip
    """Find the best threshold of a numeric attribute: (merit, threshold), the first among equals.

    All thresholds are weighed at once, in the columns of ``work``; those beyond ``points`` do not count.
    """
    least, greatest = math.inf, -math.inf
    for c in range(classes):
        least = min(least, stats[slot, start + 1 + LEAST * classes + c])
        greatest = max(greatest, stats[slot, start + 1 + GREATEST * classes + c])
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
        if stats[slot, start + 1 + c] > 0.0:
            add_class(stats, slot, start + 1 + c, classes, criterion, at, left, right, in_left, in_right)
    merits = in_left
    if criterion == GAIN:
        for k in range(len(at)):
            a, b = left[k], right[k]
            costs = a * fast_log2(a) + b * fast_log2(b) - in_left[k]
            merits[k] = whole - costs / (a + b) if min(a, b) > min_share * (a + b) else -math.inf
    else:
        for k in range(len(at)):
            a, b = left[k], right[k]
            costs = (a - in_left[k] / max(a, TINY)) + (b - in_right[k] / max(b, TINY))
            merits[k] = 1.0 - costs / (a + b) if min(a, b) > 0.0 else -math.inf
    for k in range(points):
        if merits[k] > best and least < at[k] < greatest:
            best, where = merits[k], at[k]
    return best, where


@inlined
def add_class(stats: Floats, slot: int, a: int, classes: int, criterion: int, at: Floats, left: Floats, right: Floats,
              in_left: Floats, in_right: Floats) -> None:  # fmt: skip
    """Add a class to what lies left and right of each threshold; apart, its weight × log2 weight or (Gini) squared."""
    n, mean, inv = stats[slot, a], stats[slot, a + MEAN * classes], stats[slot, a + INV * classes]
    least, greatest = stats[slot, a + LEAST * classes], stats[slot, a + GREATEST * classes]
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
