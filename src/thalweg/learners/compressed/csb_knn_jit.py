"""Which rows a member of an ensemble learns, and when a detector says that one has become bad."""

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors.any_jit import feed, mean_error
from thalweg.jit.compile import hot
from thalweg.jit.random import poisson

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@hot
def draw(dice: NDArray[np.uint64], rate: float, counts: Ints) -> None:
    """Draw from Poisson(rate) for each member and each row: counts[i, n]."""
    for i in range(counts.shape[0]):
        for n in range(counts.shape[1]):
            counts[i, n] = poisson(dice, i, rate)


@hot
def watch(table: Floats, code: int, rules: Floats, errors: Floats, start: int) -> int:
    """Show each row's errors, from row ``start`` on, to the members' detectors; stop after a row with a drift.

    errors[i, n]: member i, row n. Gives the number of rows shown in all; the last of them may be one with a drift.
    """
    for n in range(start, errors.shape[1]):
        drift = False
        for i in range(errors.shape[0]):
            if feed(code, table, i, errors[i, n], rules) == 2:
                drift = True
        if drift:
            return n + 1
    return int(errors.shape[1]) + 1


@hot
def find_worst(table: Floats, code: int) -> int:
    """Find the member with the most errors as its detector sees them."""
    worst = 0
    for i in range(1, len(table)):
        if mean_error(code, table, i) > mean_error(code, table, worst):
            worst = i
    return worst
