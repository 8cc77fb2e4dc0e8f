"""Running mean and spread, and running range, of columns; rows scaled by them."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot, inlined
from thalweg.jit.welford import welford
from thalweg.prepare.rows_jit import keep

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FAR = 1e75
"""Numbers beyond are taken for this, so that no sum of squares overflows."""
HEAVY = 1e150
"""More than the weight of any number of rows."""
WEIGHT, MEAN, SQUARES, UP_TO = range(4)
LOW, HIGH = range(2)


class Spread(NamedTuple):
    """The state of a standard scaler."""

    stats: Annotated[
        Floats,
        table(4, "d", least=0, most=HEAVY, cells={(MEAN,): span(-FAR, FAR), (SQUARES,): span(0, 1e305)}),
    ]
    """4 × d: weight, mean and sum of squared deviations of each column, and the weight of all rows up to which they are
    counted: the zeros of sparse rows are made up for when the column is next seen."""
    total: Annotated[Floats, table(1, least=0, most=HEAVY)]
    """1: the weight of all rows learned."""


class Range(NamedTuple):
    """The state of a min-max scaler."""

    range: Annotated[Floats, table(2, "d", least=-np.inf, most=np.inf)]
    """2 × d: least and greatest value of each column; ∞ and -∞ before the first."""


@inlined
def near(v: float) -> float:
    """Give the number that counts for a value."""
    return max(-FAR, min(FAR, v))


@inlined
def caught_up(stats: Floats, f: int, total: float) -> tuple[float, float, float]:
    """Give weight, mean and squares of a column, with the zeros that are not counted yet (Chan et al. 1979)."""
    weight, mean, squares = stats[WEIGHT, f], stats[MEAN, f], stats[SQUARES, f]
    zeros = total - stats[UP_TO, f]
    if zeros > 0.0:
        both = weight + zeros
        squares += mean * mean * (weight * zeros / both)
        mean *= weight / both
        weight = both
    return weight, mean, squares


@inlined
def scaled(v: float, weight: float, mean: float, squares: float, centre: bool) -> float:
    """Give (v - mean) / spread, or v / spread; without a spread 0, or v as it is."""
    variance = squares / weight if weight > 0.0 else 0.0
    if variance > 0.0:
        return (v - mean if centre else v) / math.sqrt(variance)
    return 0.0 if centre else v


@inlined
def count(stats: Floats, f: int, kept: tuple[float, float, float], decay: float, v: float, w: float) -> None:
    """Let a column have one more value."""
    weight, mean, squares = kept
    weight = decay * weight + w
    mean, squares = welford(weight, mean, decay * squares, v, w)
    stats[WEIGHT, f], stats[MEAN, f], stats[SQUARES, f] = weight, mean, max(0.0, squares)


@hot
def scale(
    stats: Floats, total: Floats, columns: Ints, decay: float, centre: bool, X: Floats, w: Floats, learned: Bools,
    out: Floats,
) -> None:  # fmt: skip
    """Scale row after row by the mean and the spread before it; a missing value stays missing."""
    for i in range(len(X)):
        x, z = X[i], out[i]
        keep(x, z)
        for k in range(len(columns)):
            f = columns[k]
            if not math.isnan(x[f]):
                v, kept = near(x[f]), caught_up(stats, f, total[0])
                z[f] = scaled(v, kept[0], kept[1], kept[2], centre)
                if learned[i]:
                    count(stats, f, kept, decay, v, w[i])
            if learned[i]:
                stats[UP_TO, f] = total[0] + w[i]
        if learned[i]:
            total[0] += w[i]


@hot
def scale_sparse(
    stats: Floats, total: Floats, chosen: Bools, ends: Ints, at: Ints, cells: Floats, w: Floats, learned: Bools,
    out: Floats,
) -> None:  # fmt: skip
    """Divide the cells of sparse rows, which are those from ends[i] to ends[i + 1], by the spread before the row."""
    for i in range(len(ends) - 1):
        for e in range(ends[i], ends[i + 1]):
            f = at[e]
            out[e] = cells[e]
            if chosen[f]:
                v, kept = near(cells[e]), caught_up(stats, f, total[0])
                out[e] = scaled(v, kept[0], kept[1], kept[2], False)
                if learned[i]:
                    count(stats, f, kept, 1.0, v, w[i])
                    stats[UP_TO, f] = total[0] + w[i]
        if learned[i]:
            total[0] += w[i]


@hot
def stretch(range_: Floats, columns: Ints, clip: bool, X: Floats, learned: Bools, out: Floats) -> None:
    """Map the range that each column had before the row to 0 … 1."""
    for i in range(len(X)):
        x, z = X[i], out[i]
        keep(x, z)
        for k in range(len(columns)):
            f = columns[k]
            if math.isnan(x[f]):
                continue
            v, low, high = near(x[f]), range_[LOW, f], range_[HIGH, f]
            z[f] = (v - low) / (high - low) if high > low else 0.0
            if clip:
                z[f] = max(0.0, min(1.0, z[f]))
            if learned[i]:
                range_[LOW, f], range_[HIGH, f] = min(low, v), max(high, v)
