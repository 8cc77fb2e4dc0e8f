"""What stands for a missing value: the mean, the last or the most frequent value of its column so far."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot, inlined
from thalweg.prepare.rows_jit import carry_over
from thalweg.prepare.scaling_jit import FAR, HEAVY, near

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MEAN, LAST, FREQUENT = range(3)
"""Rules."""
FILL, WEIGHT = range(2)
SLOTS = 64
"""Values of a column that are counted; exact as long as there are no more (Space-Saving)."""


class Fills(NamedTuple):
    """The state of an imputer; c: columns in which the most frequent value is counted."""

    fills: Annotated[Floats, table(2, "d", cells={(FILL,): span(-FAR, FAR), (WEIGHT,): span(0, HEAVY)})]
    """2 × d: what stands for a missing value, and the weight behind it."""
    values: Annotated[Floats, table("c", SLOTS, least=-FAR, most=FAR)]
    """c × 64: values, the most frequent first."""
    counts: Annotated[Floats, table("c", SLOTS, least=0, most=HEAVY)]
    """c × 64: their weights; 0: no value is there."""


@inlined
def count_value(values: Floats, counts: Floats, v: float, w: float) -> None:
    """Count a value; when there is no room it takes over the place, and the count, of the rarest one.

    A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005.
    """
    j = 0
    while j < SLOTS - 1 and counts[j] > 0.0 and values[j] != v:
        j += 1
    values[j] = v
    counts[j] += w
    while j > 0 and counts[j] > counts[j - 1]:  # the order stays
        values[j - 1], values[j] = values[j], values[j - 1]
        counts[j - 1], counts[j] = counts[j], counts[j - 1]
        j -= 1


@hot
def impute(
    fills: Floats, values: Floats, counts: Floats, columns: Ints, rules: Ints, rows: Ints, places: Ints,
    indicator: bool, X: Floats, w: Floats, learned: Bools, out: Floats,
) -> None:  # fmt: skip
    """Replace what is missing by what the rows before say; learn from what is there.

    rules, rows: of each chosen column, how it is filled, and its row of values and counts.
    """
    for i in range(len(X)):
        x, z = X[i], out[i]
        carry_over(x, z, places)
        for k in range(len(columns)):
            f = columns[k]
            lacks = math.isnan(x[f])
            if indicator:
                z[places[f] + 1] = 1.0 if lacks else 0.0
            if lacks:
                z[places[f]] = fills[FILL, f]
            elif learned[i]:
                v = near(x[f])
                if rules[k] == MEAN:
                    fills[WEIGHT, f] += w[i]
                    fills[FILL, f] += w[i] * (v - fills[FILL, f]) / fills[WEIGHT, f]
                elif rules[k] == LAST:
                    fills[FILL, f] = v
                else:
                    c = rows[k]
                    count_value(values[c], counts[c], v, w[i])
                    fills[FILL, f] = values[c, 0]
