"""Weights of rows from how often their classes have been seen of late, or drawn with these as their mean."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, table
from thalweg.jit.compile import compiled
from thalweg.jit.random import poisson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]

BALANCED, OVER, UNDER, GIVEN = range(4)
MOST_RATE = 500.0
"""Draws have a mean of at most so much."""


class Weighing(NamedTuple):
    """What is kept to weigh rows."""

    counts: Annotated[Floats, table("known", least=0, most=EXACT)]
    """known: weight of the rows of each class, which fades from row to row."""
    dice: Annotated[Seeds, table(1)]
    """1: the generator for draws."""


@compiled
def weigh(
    counts: Floats, dice: Seeds, y: Ints, w: Floats, rule: int, given: Floats, fade: float, strength: float,
    most: float, draws: bool, out: Floats,
) -> None:  # fmt: skip
    """Give each row, in order, its weight. Its own class counts with it; the first row of a class is never left out."""
    for i in range(len(y)):
        c = y[i]
        first = counts[c] == 0.0
        total, largest, smallest, seen = 0.0, 0.0, np.inf, 0
        for k in range(len(counts)):
            counts[k] *= fade
            if k == c:
                counts[k] = min(counts[k] + w[i], 1e15)
            if counts[k] > 0.0:
                seen += 1
                total += counts[k]
                largest = max(largest, counts[k])
                smallest = min(smallest, counts[k])
        if rule == GIVEN:
            factor = given[c]
        else:
            if rule == BALANCED:
                factor = total / (seen * counts[c])
            elif rule == OVER:
                factor = largest / counts[c]
            else:
                factor = smallest / counts[c]
            factor = min(max(factor, 1.0 / most), most)
            if strength != 1.0:
                factor = factor**strength
        out[i] = w[i] * factor
        if draws:
            out[i] = poisson(dice, 0, min(out[i], MOST_RATE))
            if first:
                out[i] = max(out[i], 1.0)
