"""When a leaf has seen enough to split, and what becomes of it."""

import math

import numpy as np

from thalweg.jit.bounds import bound
from thalweg.jit.compile import called, inlined
from thalweg.jit.impurity import GAIN, cost, total
from thalweg.pool.leaf_jit import (
    LAST,
    NUMBERS,
    PATCH,
    ROOM,
    VALUES,
    WORK_ROWS,
    Floats,
    best_number,
    best_value,
    divide_number,
    lanes_of,
    vectors,
)
from thalweg.pool.tables_jit import (
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
    release,
    take_nodes,
)


@called
def attempt(p: Trees, t: int, known: int, i: int) -> None:
    """Split leaf i if its best attribute is better than the second by more than ε, or ε < τ (Domingos, Hulten 2000)."""
    rules, classes = p.rules, n_classes(p)
    slot = left_of(p.nodes, i)
    n = p.tally[i, 0]
    p.stats[slot, LAST] = n
    counts = p.tally[i, 1:]
    present = 0
    for c in range(classes):
        present += counts[c] > 0.0
    if present < 2:
        return
    criterion = int(rules[R_CRITERION])
    whole = cost(criterion, counts) / total(counts)
    span, most = 1.0, 1.0  # no merit is greater than most
    if criterion == GAIN:
        span, most = math.log2(max(2.0, float(present if rules[R_LEAF_RANGE] > 0.0 else known))), whole
    epsilon = bound(int(rules[R_BOUND]), span, rules[R_DELTA], n)
    no_tie = epsilon >= rules[R_TAU] and rules[R_DROP_POOR] == 0.0
    work = work_space(p)
    merits = np.full(p.watched.shape[1], -math.inf)
    best, second, winner, where = -math.inf, -math.inf, -1, math.nan
    candidates = 0
    if rules[R_PRUNE] > 0.0:  # not to split competes too
        if criterion != GAIN:
            best = 1.0 - whole
        elif rules[R_NULL] == NULL_ZERO:
            best = 0.0
    null = best
    may_draw = p.watched.shape[1] < p.layout.shape[1] and p.layout.shape[0] == PATCH
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
    if p.layout[ROOM, f] == 0:
        lanes = lanes_of(j, int(p.stats[slot, NUMBERS]))
        return best_number(
            p.stats, slot, start, lanes, classes, criterion, whole, rules[R_MIN_SHARE], int(rules[R_POINTS]), work
        )
    return best_value(
        p.stats,
        slot,
        start,
        classes,
        p.layout[VALUES, f],
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
    nominal = p.layout[ROOM, f] > 0
    k = int(-where) if nominal and where < 0.0 else 2
    first = take_nodes(p, k)
    for child in range(first, first + k):
        p.nodes[child]["feature"] = LEAF
        p.nodes[child]["left"] = FRESH
        p.nodes[child]["threshold"] = 0.0
    if not nominal:
        lanes = lanes_of(j, int(p.stats[slot, NUMBERS]))
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
