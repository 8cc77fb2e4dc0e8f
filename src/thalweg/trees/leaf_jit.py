"""What a leaf observes: one row of float64 per active leaf.

A row of ``stats`` is a header and one block per watched attribute; ``watched[slot, j]`` holds the attribute's number
(-1: given up) and where its block starts. C is the room for classes, V the room for values of a nominal attribute.

| part           | cells  | meaning                                                              |
| header         | 3      | weight at the last split attempt; weight that majority / Bayes got right |
| numeric block  | 1 + 7C | weight seen; per class: weight, mean, M2, least, greatest, 1/(2σ²), ln(1/(σ√2π)) |
| nominal block  | 1+C+VC | weight seen; per class: weight; per value and class: weight          |

The last two columns of a numeric block are there so that naive Bayes needs no logarithm and no division: 1/(2σ²) is
infinite for a class without variance, the logarithm -∞ for a class never seen.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.jit.gaussian import below
from thalweg.jit.impurity import GAIN, cost, total

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Watched = NDArray[np.int32]

LAST, MAJORITY_RIGHT, BAYES_RIGHT, HEADER = 0, 1, 2, 3
WEIGHT, MEAN, M2, LEAST, GREATEST, INV, LOG, NUMERIC_COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7

ROOM, VALUES, PATCH = 0, 1, 2
"""Rows of ``layout``: room for values of each attribute (0: numeric), how many it has so far; patches of trees."""

HUGE = 1e150
"""Values beyond ±HUGE are missing to the observers: their squares would overflow and ruin the leaf."""

_INV_PI = 1.0 / math.pi
_SQRT_HALF = math.sqrt(0.5)


@inlined
def block_size(room: int, classes: int) -> int:
    """Cells of the block of an attribute with room for so many values (0: numeric)."""
    return 1 + NUMERIC_COLUMNS * classes if room == 0 else 1 + classes + room * classes


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


@inlined
def observe(
    stats: Floats, watched: Watched, slot: int, layout: Ints, classes: int, X: Floats, r: int, y: int, w: float
) -> None:
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
            observe_number(stats, slot, start + 1 + y, classes, v, w)
        else:
            stats[slot, start + 1 + y] += w
            stats[slot, start + 1 + (1 + int(v)) * classes + y] += w


@inlined
def observe_number(stats: Floats, slot: int, a: int, classes: int, v: float, w: float) -> None:
    """Welford's update of one class: weight, mean, M2, range, and what naive Bayes reads."""
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
    inv = 0.5 * (weight - 1.0) / m2 if weight > 1.0 and m2 > 0.0 else math.inf
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
                left[c] = n * below(off * math.sqrt(2.0 * inv))
        right[c] = max(0.0, n - left[c])


@called
def best_number(
    stats: Floats,
    slot: int,
    start: int,
    classes: int,
    criterion: int,
    whole: float,
    min_share: float,
    points: int,
    left: Floats,
    right: Floats,
) -> tuple[float, float]:
    """Find the best threshold of a numeric attribute: (merit, threshold)."""
    least, greatest = math.inf, -math.inf
    for c in range(classes):
        least = min(least, stats[slot, start + 1 + LEAST * classes + c])
        greatest = max(greatest, stats[slot, start + 1 + GREATEST * classes + c])
    best, where, before = -math.inf, math.nan, math.nan
    for k in range(1, points + 1):
        t = least + (greatest - least) * k / (points + 1)
        if not (least < t < greatest) or t == before:
            continue
        before = t
        divide_number(stats, slot, start, classes, t, left, right)
        m = merit_of_two(criterion, whole, left, right, min_share)
        if m > best:
            best, where = m, t
    return best, where


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
    left: Floats,
    right: Floats,
) -> tuple[float, float]:
    """Find the best test of a nominal attribute: (merit, v ≥ 0 for "equals v", -values for one branch per value)."""
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
