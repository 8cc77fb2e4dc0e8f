"""The area under the ROC curve over rows of the ring that ``metrics_jit`` keeps."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.evaluate.metrics_jit import SCORES
from thalweg.jit.compile import hot, inlined
from thalweg.jit.score_bins import BINS, bin_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PAIRS = 2048  # of rows that are compared, where there are many classes
ONE, OTHER = 0.7548776662466927, 0.5698402909980532  # pairs of their multiples fall evenly into the unit square


@hot
def binned_auc(ring: Floats, ranks: Floats) -> float:
    """Give the chance that a row of class 1 is scored above one of class 0; NaN: there are none of one of them.

    ranks: zeros, by class and bin.
    """
    for i in range(len(ring)):
        ranks[int(ring[i, 0]), bin_of(ring[i, SCORES + 1])] += ring[i, 2]
    below, own, won = 0.0, 0.0, 0.0
    for b in range(BINS):
        won += ranks[1, b] * (below + 0.5 * ranks[0, b])
        below += ranks[0, b]
        own += ranks[1, b]
    return won / (below * own) if below * own > 0.0 else math.nan


@inlined
def above(mine: float, theirs: float) -> float:
    """Say whether a score is higher: 1, or 0, or a half for equal ones."""
    return 0.5 * ((1.0 if mine > theirs else 0.0) + (1.0 if mine >= theirs else 0.0))


@hot
def sample_auc(ring: Floats, starts: Ints, order: Ints) -> float:
    """Give the mean over the pairs of classes that occur of how well their rows are told apart, from a sample.

    starts: one more zero than there are classes. order: of as many rows. Each pair of classes gets the same number of
    pairs of rows, spread evenly over both; where they have no more, all of them.
    """
    classes, n = len(starts) - 1, len(ring)
    for i in range(n):
        starts[int(ring[i, 0]) + 1] += 1
    present, alike = 0, 0
    for c in range(classes):
        present += 1 if starts[c + 1] > 0 else 0
        alike += starts[c + 1] * starts[c + 1]
        starts[c + 1] += starts[c]
    for i in range(n):
        c = int(ring[i, 0])
        order[starts[c]] = i
        starts[c] += 1
    for c in range(classes, 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0

    pairs = present * (present - 1) // 2
    if pairs == 0:
        return math.nan
    all_rows = (n * n - alike) // 2 <= PAIRS
    each, stride = max(PAIRS // pairs, 1), max((pairs + PAIRS - 1) // PAIRS, 1)
    total, used, number, u, v = 0.0, 0, 0, 0.5, 0.5
    for one in range(classes):
        mine = starts[one + 1] - starts[one]
        if mine == 0:
            continue
        for other in range(one + 1, classes):
            theirs = starts[other + 1] - starts[other]
            if theirs == 0:
                continue
            number += 1
            if number % stride != 0:
                continue
            whole = all_rows or mine * theirs <= each
            won, weight = 0.0, 0.0
            for t in range(mine * theirs if whole else each):
                if whole:
                    a, b = t // theirs, t % theirs
                else:
                    a, b = int(u * mine), int(v * theirs)
                    u += ONE if u + ONE < 1.0 else ONE - 1.0
                    v += OTHER if v + OTHER < 1.0 else OTHER - 1.0
                i, j = order[starts[one] + a], order[starts[other] + b]
                w = ring[i, 2] * ring[j, 2]
                weight += w
                won += w * (
                    above(ring[i, SCORES + one], ring[j, SCORES + one])
                    + above(ring[j, SCORES + other], ring[i, SCORES + other])
                )
            total += 0.5 * won / weight
            used += 1
    return total / used
