"""When a leaf has seen enough to split, and what becomes of it."""

import math

import numpy as np

from thalweg.jit.bounds import bound
from thalweg.jit.compile import called, inlined
from thalweg.jit.fast import fast_below, fast_log2
from thalweg.jit.gaussian import below
from thalweg.jit.impurity import GAIN, cost, total
from thalweg.pool.leaf_jit import (
    C_GREATEST,
    C_INV,
    C_LEAST,
    C_MEAN,
    C_ROWS,
    C_WEIGHT,
    G_CLASSES,
    L_PATCH,
    L_ROOM,
    L_VALUES,
    S_LAST,
    S_NUMBERS,
    Floats,
    lanes_of,
)
from thalweg.pool.pool_jit import (
    FRESH,
    LEAF,
    NULL_ZERO,
    R_BINARY,
    R_BOUND,
    R_CRITERION,
    R_DELTA,
    R_DROP_POOR,
    R_LEAF_RANGE,
    R_MIN_SHARE,
    R_NULL,
    R_POINTS,
    R_PRUNE,
    R_TAU,
    Trees,
    draw,
    left_of,
    n_classes,
    no_literal,
    release,
    take_nodes,
)

WORK_ROWS = 5
"""Rows of ``work``, where the tests of an attribute are weighed; it has a column for each threshold and each class."""
STEEP, TINY = 8e307, 1e-307
"""Nearly half the greatest number, which 1/(2σ²) is not taken to exceed; nearly the smallest one to divide by."""


@inlined
def weigh_up(p: Trees, known: int, i: int, slot: int) -> tuple[int, float, float]:
    """Begin an attempt at node i: give the number of its classes, their impurity, and ε of a comparison.

    Hoeffding's bound: ε = √(R² ln(1/δ) / (2 n)) after weight n (Domingos, Hulten 2000), where the range R
    of information gain is log2 of the number of classes, that of Gini gain 1; jit/bounds.py has McDiarmid's too.
    """
    rules = p.rules
    n = p.tally[i, 0]
    p.stats[slot, S_LAST] = n
    counts = p.tally[i, 1:]
    present = 0
    for c in range(n_classes(p)):
        present += counts[c] > 0.0
    if present < 2:
        return present, 0.0, 0.0
    criterion = int(rules[R_CRITERION])
    span = 1.0
    if criterion == GAIN:
        span = math.log2(max(2.0, float(present if rules[R_LEAF_RANGE] > 0.0 else known)))
    whole = cost(criterion, counts) / total(counts)
    return present, whole, bound(int(rules[R_BOUND]), span, rules[R_DELTA], n)


@called
def attempt(p: Trees, t: int, known: int, i: int) -> None:
    """Split leaf i if its best attribute is better than the second by more than ε, or ε < τ.

    ΔG = G(best) - G(second) > ε, or a tie: ε < τ (Domingos, Hulten 2000; there G is the information gain, and not to
    split is a candidate of merit 0).
    """
    rules = p.rules
    slot = left_of(p.nodes, i)
    present, whole, epsilon = weigh_up(p, known, i, slot)
    if present < 2:
        return
    criterion = int(rules[R_CRITERION])
    most = whole if criterion == GAIN else 1.0  # no merit is greater
    no_tie = epsilon >= rules[R_TAU] and rules[R_DROP_POOR] == 0.0
    work = work_space(p)
    merits = np.full(p.watched.shape[1], -math.inf)
    best, second, winner, where = -math.inf, -math.inf, no_literal(-1), math.nan
    candidates = 0
    if rules[R_PRUNE] > 0.0:  # not to split competes too
        if criterion != GAIN:
            best = 1.0 - whole
        elif rules[R_NULL] == NULL_ZERO:
            best = 0.0
    null = best
    may_draw = p.watched.shape[1] < p.layout.shape[1] and p.layout.shape[0] == L_PATCH
    for j in range(p.watched.shape[1]):
        if no_tie and most - max(second, null) <= epsilon and (candidates > 0 or not may_draw):
            return  # whatever the others are worth: the second of a split is never less than not to split
        merit, test = best_test(p, slot, j, criterion, whole, work)
        if merit == -math.inf:
            continue
        candidates += 1
        merits[j] = merit
        if merit >= best:
            best, second, winner, where = merit, best, j, test
        else:
            second = max(second, merit)
    if candidates == 0 and may_draw:
        draw(p, t, slot)  # nothing to split on: let a random-subspace leaf look elsewhere
    if winner < 0:
        return
    alone = candidates == 1 and rules[R_PRUNE] == 0.0
    if alone or best - second > epsilon or epsilon < rules[R_TAU]:
        split(p, i, slot, winner, where)
    elif rules[R_DROP_POOR] > 0.0:
        for j in range(p.watched.shape[1]):
            if -math.inf < merits[j] < best - epsilon:
                p.watched[slot, j, 0] = -1


@called
def work_space(p: Trees) -> Floats:
    """Make what ``best_test`` works in: a column for each threshold, and for each class."""
    return np.empty((WORK_ROWS, max(vectors(int(p.rules[R_POINTS])), n_classes(p))))


@inlined
def best_test(p: Trees, slot: int, j: int, criterion: int, whole: float, work: Floats) -> tuple[float, float]:
    """Find the best test of the j-th attribute that a slot watches: (merit, test); merit -∞: it has none."""
    rules, classes = p.rules, n_classes(p)
    f, start = int(np.int64(p.watched[slot, j, 0])), int(np.int64(p.watched[slot, j, 1]))
    if f < 0 or p.stats[slot, start] == 0.0:
        return -math.inf, math.nan
    if p.layout[L_ROOM, f] == 0:
        lanes = lanes_of(j, int(p.stats[slot, S_NUMBERS]))
        return best_number(
            p.stats, slot, start, lanes, classes, criterion, whole, rules[R_MIN_SHARE], int(rules[R_POINTS]), work
        )
    return best_value(
        p.stats,
        slot,
        start,
        classes,
        p.layout[L_VALUES, f],
        rules[R_BINARY] == 0.0,
        criterion,
        whole,
        rules[R_MIN_SHARE],
        work,
    )


@called
def split(p: Trees, i: int, slot: int, j: int, where: float) -> None:
    """Turn leaf i into a test of its j-th attribute; its slot is free for others."""
    branch_out(p, i, slot, j, where)
    release(p.watched, p.head, slot)


@called
def branch_out(p: Trees, i: int, slot: int, j: int, where: float) -> None:
    """Make node i a test of the j-th attribute of a slot; children start with the weights predicted for them."""
    classes = n_classes(p)
    f, start = p.watched[slot, j, 0], p.watched[slot, j, 1]
    nominal = p.layout[L_ROOM, f] > 0
    k = int(-where) if nominal and where < 0.0 else 2
    first = take_nodes(p, k)
    for child in range(first, first + k):
        p.nodes[child]["feature"] = LEAF
        p.nodes[child]["left"] = FRESH
        p.nodes[child]["threshold"] = 0.0
    if not nominal:
        lanes = lanes_of(j, int(p.stats[slot, S_NUMBERS]))
        divide_number(p.stats, slot, start, lanes, classes, where, p.tally[first, 1:], p.tally[first + 1, 1:])
    else:
        for c in range(classes):
            if where < 0.0:
                for v in range(k):
                    p.tally[first + v, 1 + c] = p.stats[slot, start + 1 + (1 + v) * classes + c]
            else:
                equal = p.stats[slot, start + 1 + (1 + int(where)) * classes + c]
                p.tally[first, 1 + c] = equal
                p.tally[first + 1, 1 + c] = max(0.0, p.stats[slot, start + 1 + c] - equal)
    for child in range(first, first + k):
        p.tally[child, 0] = total(p.tally[child, 1:])
    p.nodes[i]["feature"] = -2 - f if nominal else f
    p.nodes[i]["threshold"] = where
    p.nodes[i]["left"] = first


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
        a = start + lanes * (G_CLASSES + C_ROWS * c)
        n = stats[slot, a + lanes * C_WEIGHT]
        if n == 0.0 or t < stats[slot, a + lanes * C_LEAST]:
            left[c] = 0.0
        elif t >= stats[slot, a + lanes * C_GREATEST]:
            left[c] = n
        else:
            inv = stats[slot, a + lanes * C_INV]
            off = t - stats[slot, a + lanes * C_MEAN]
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
        a = start + lanes * (G_CLASSES + C_ROWS * c)
        least = min(least, stats[slot, a + lanes * C_LEAST])
        greatest = max(greatest, stats[slot, a + lanes * C_GREATEST])
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
        a = start + lanes * (G_CLASSES + C_ROWS * c)
        if stats[slot, a + lanes * C_WEIGHT] > 0.0:
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
    n, mean, inv = stats[slot, a + lanes * C_WEIGHT], stats[slot, a + lanes * C_MEAN], stats[slot, a + lanes * C_INV]
    least, greatest = stats[slot, a + lanes * C_LEAST], stats[slot, a + lanes * C_GREATEST]
    scale = math.sqrt(2.0 * min(inv, STEEP))
    if inv == math.inf:  # all of it is at its mean
        least = greatest = min(max(mean, least), greatest)
    first, last = 0, len(at)
    if at[1] < least or at[len(at) // 2] >= greatest:  # all of it lies on one side of many thresholds
        last = 0
        for k in range(len(at)):
            first += at[k] < least
            last += at[k] < greatest
        if last - first > 2:  # weighed eight at a time, where that is no more work
            columns = vectors(last - first)
            first = min(first, len(at) - columns)
            last = first + columns
        all_in_one = n * fast_log2(n) if criterion == GAIN else n * n
        for k in range(len(at)):
            left[k] += n if k >= last else 0.0
            right[k] += n if k < first else 0.0
        if criterion == GAIN:
            for k in range(len(at)):
                in_left[k] += all_in_one if k < first or k >= last else 0.0
        else:
            for k in range(len(at)):
                in_left[k] += all_in_one if k >= last else 0.0
                in_right[k] += all_in_one if k < first else 0.0
    at, left, right = at[first:last], left[first:last], right[first:last]
    in_left, in_right = in_left[first:last], in_right[first:last]
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
