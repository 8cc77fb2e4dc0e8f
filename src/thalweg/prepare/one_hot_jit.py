"""Nominal values as columns of 0 and 1."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import hot
from thalweg.prepare.rows_jit import carry_over

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Known(NamedTuple):
    """The state of a one-hot encoder; c: columns."""

    known: Annotated[Ints, table("c", "slots", least=0, most=1)]
    """c × slots: has the value with this code been learned?"""


@hot
def encode(known: Ints, columns: Ints, places: Ints, X: Floats, learned: Bools, out: Floats) -> None:
    """Write a 1 to the column of each value; what was never learned, or has no column, is "other"."""
    slots = known.shape[1]
    for i in range(len(X)):
        x, z = X[i], out[i]
        carry_over(x, z, places)
        for k in range(len(columns)):
            first, v = places[columns[k]], x[columns[k]]
            for j in range(first, first + slots + 1):
                z[j] = 0.0
            if v >= 0.0:  # not missing
                code = int(v) if v < slots else slots
                z[first + (code if code < slots and known[k, code] == 1 else slots)] = 1.0
                if learned[i] and code < slots:
                    known[k, code] = 1
