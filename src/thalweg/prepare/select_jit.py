"""How much columns of numbers say about the label, and the few that say most."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import hot
from thalweg.jit.welford import welford
from thalweg.prepare.scaling_jit import FAR, HEAVY, near

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BINS = 9
"""Eight of half a standard deviation around the mean, of which the outer ones are open, and one for missing values."""
CLASSES = 16
"""Classes that are told apart; those beyond count as the last."""
WEIGHT, MEAN, SQUARES = range(3)
WAIT, ROWS = range(2)


class Choice(NamedTuple):
    """Which columns are chosen; k: places."""

    chosen: Annotated[Ints, table("k", least=-1, most="c - 1")]
    """k: the column in each place; -1: none."""
    clock: Annotated[Ints, table(2, least=0, most=EXACT)]
    """2: rows to learn until the next choice, and rows learned."""


class Told(NamedTuple):
    """What columns tell; c: columns that may be chosen."""

    stats: Annotated[Floats, table(3, "c", least=0, most=1e305, cells={(MEAN,): span(-FAR, FAR)})]
    """3 × c: weight, mean and sum of squared deviations."""
    counts: Annotated[Floats, table("c", BINS, CLASSES, least=0, most=HEAVY)]
    """c × 9 × 16: weight of the rows by bin of the column and by class; older ones fade."""


class Known(NamedTuple):
    """What a learner beside is told."""

    classes: Annotated[Ints, table(1, least=0, most="classes")]
    """1: how many classes there are."""


@hot
def take(
    chosen: Ints, clock: Ints, columns: Ints, others: Ints, X: Floats, learned: Bools, start: int, out: Floats
) -> int:
    """Write the chosen columns, then the others; stop behind the row with which a new choice is due. Give where."""
    k = len(chosen)
    for i in range(start, len(X)):
        x, z = X[i], out[i]
        for j in range(k):
            z[j] = x[columns[chosen[j]]] if chosen[j] >= 0 else math.nan
        for j in range(len(others)):
            z[k + j] = x[others[j]]
        if learned[i]:
            clock[ROWS] += 1
            clock[WAIT] -= 1
            if clock[WAIT] == 0:
                return i + 1
    return len(X)


@hot
def count(stats: Floats, counts: Floats, columns: Ints, X: Floats, y: Ints, w: Floats, learned: Bools) -> None:
    """Count rows by bin and class; a bin is a distance from the mean before the row."""
    for i in range(len(X)):
        if not learned[i]:
            continue
        c = min(max(y[i], 0), CLASSES - 1)
        for k in range(len(columns)):
            v = X[i, columns[k]]
            if math.isnan(v):
                counts[k, BINS - 1, c] += w[i]
                continue
            v = near(v)
            weight, mean, squares = stats[WEIGHT, k], stats[MEAN, k], stats[SQUARES, k]
            spread = math.sqrt(squares / weight) if weight > 0.0 else 0.0
            far = (v - mean) / spread if spread > 0.0 else 0.0
            b = 4 + math.floor(2.0 * max(-2.0, min(1.75, far)))
            counts[k, b, c] += w[i]
            weight += w[i]
            mean, squares = welford(weight, mean, squares, v, w[i])
            stats[WEIGHT, k], stats[MEAN, k], stats[SQUARES, k] = weight, mean, max(0.0, squares)


@hot
def information(counts: Floats, decay: float, scores: Floats) -> None:
    """Give the mutual information of each column's bins with the classes, in nats; then let the counts fade."""
    for k in range(len(counts)):
        total = 0.0
        for b in range(BINS):
            for c in range(CLASSES):
                total += counts[k, b, c]
        scores[k] = 0.0
        for b in range(BINS):
            row = 0.0
            for c in range(CLASSES):
                row += counts[k, b, c]
            for c in range(CLASSES):
                if counts[k, b, c] > 0.0:
                    column = 0.0
                    for other in range(BINS):
                        column += counts[k, other, c]
                    scores[k] += counts[k, b, c] / total * math.log(counts[k, b, c] / row * (total / column))
        for b in range(BINS):
            for c in range(CLASSES):
                counts[k, b, c] *= decay


@hot
def choose(chosen: Ints, scores: Floats, margin: float, noise: float) -> None:
    """Let the best column that is not chosen take the place of the worst one that is, while it is clearly better."""
    for _ in range(len(chosen)):
        best = worst = -1
        for f in range(len(scores)):
            there = False
            for j in range(len(chosen)):
                there = there or chosen[j] == f
            if not there and (best < 0 or scores[f] > scores[best]):
                best = f
        for j in range(len(chosen)):
            if worst < 0 or (chosen[worst] >= 0 and (chosen[j] < 0 or scores[chosen[j]] < scores[chosen[worst]])):
                worst = j
        if best < 0 or (chosen[worst] >= 0 and scores[best] <= margin * scores[chosen[worst]] + noise):
            return
        chosen[worst] = best
