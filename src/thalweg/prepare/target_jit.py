"""How often each class came with a nominal value."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import hot
from thalweg.prepare.rows_jit import carry_over
from thalweg.prepare.scaling_jit import HEAVY

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Shares(NamedTuple):
    """The state; c: columns, v: most values of one of them, k: classes that are encoded."""

    counts: Annotated[Floats, table("c", "v", "k", least=0, most=HEAVY)]
    """c × v × k: weight of all rows with a value, then of those of the classes 1, 2, …"""
    overall: Annotated[Floats, table("k", least=0, most=HEAVY)]
    """k: the same for all rows."""


@hot
def encode(
    counts: Floats, overall: Floats, columns: Ints, places: Ints, smoothing: float, X: Floats, y: Ints, w: Floats,
    learned: Bools, out: Floats,
) -> None:  # fmt: skip
    """Write the share of each class but the first among the rows before with the same value; then count the row.

    (weight of the class with the value + smoothing · overall share) / (weight of the value + smoothing).
    """
    k = len(overall)
    for i in range(len(X)):
        x, z = X[i], out[i]
        carry_over(x, z, places)
        for j in range(len(columns)):
            v, at = x[columns[j]], places[columns[j]]
            known = not math.isnan(v) and v < counts.shape[1]
            for c in range(1, k):
                share = overall[c] / overall[0] if overall[0] > 0.0 else 0.0
                seen = counts[j, int(v), 0] if known else 0.0
                mine = counts[j, int(v), c] if known else 0.0
                z[at + c - 1] = (mine + smoothing * share) / (seen + smoothing) if seen + smoothing > 0.0 else share
            if learned[i] and known:
                counts[j, int(v), 0] += w[i]
                if 0 < y[i] < k:
                    counts[j, int(v), y[i]] += w[i]
        if learned[i]:
            overall[0] += w[i]
            if 0 < y[i] < k:
                overall[y[i]] += w[i]
