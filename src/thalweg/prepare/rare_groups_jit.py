"""How often nominal values came, and the rare ones put together."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import hot
from thalweg.prepare.rows_jit import keep
from thalweg.prepare.scaling_jit import HEAVY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Counts(NamedTuple):
    """The state; c: columns, v: 1 more than the most values of one of them."""

    counts: Annotated[Floats, table("c", "v", least=0, most=HEAVY)]
    """c × v: the weight of all rows with a value, then of those with each value."""


@hot
def group(
    counts: Floats, columns: Ints, least: float, share: float, X: Floats, w: Floats, learned: Bools, out: Floats
) -> None:
    """Write 0 for a value that was rare before the row, and 1 more than its code for another; then count it."""
    for i in range(len(X)):
        x, z = X[i], out[i]
        keep(x, z)
        for k in range(len(columns)):
            v = x[columns[k]]
            if math.isnan(v):
                continue
            known = v + 1.0 < counts.shape[1]
            had = counts[k, int(v) + 1] if known else 0.0
            z[columns[k]] = v + 1.0 if had > 0.0 and had >= least and had >= share * counts[k, 0] else 0.0
            if learned[i] and known:
                counts[k, int(v) + 1] += w[i]
                counts[k, 0] += w[i]
