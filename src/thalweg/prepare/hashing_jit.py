"""Counts of n-grams arranged, and nominal values hashed to a fixed number of columns."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import hot
from thalweg.prepare.rows_jit import carry_over

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COUNT, ONCE, UNIT = range(3)
"""What becomes of counts."""


class Nothing(NamedTuple):
    """The state of what learns nothing."""

    nothing: Annotated[Floats, table(1, least=0, most=0)]
    """A file of a model needs at least one table."""


@hot
def arrange(firsts: Ints, width: int, rule: int, out: Floats) -> None:
    """Let the counts of each text, which begin at one of ``firsts``, be counts, 0 or 1, or of length 1."""
    if rule == COUNT:
        return
    for i in range(len(out)):
        for first in firsts:
            squares = 0.0
            for f in range(first, first + width):
                if rule == ONCE:
                    out[i, f] = min(1.0, out[i, f])
                else:
                    squares += out[i, f] * out[i, f]
            if squares > 0.0:
                for f in range(first, first + width):
                    out[i, f] /= math.sqrt(squares)


class Learned(NamedTuple):
    """The state of an encoder of nominal values; c: columns, v: most values of one of them."""

    known: Annotated[Ints, table("c", "v", least=0, most=1)]
    """c × v: has the value with this code been learned?"""


@hot
def spread(
    known: Ints, slots: Ints, columns: Ints, places: Ints, width: int, X: Floats, learned: Bools, out: Floats
) -> None:
    """Write a 1 to the column of the hash of each value that has been learned."""
    for i in range(len(X)):
        x, z = X[i], out[i]
        carry_over(x, z, places)
        for k in range(len(columns)):
            first, v = places[columns[k]], x[columns[k]]
            for j in range(first, first + width):
                z[j] = 0.0
            if v >= 0.0 and v < known.shape[1]:  # neither missing nor never learned
                code = int(v)
                if known[k, code] == 1 and slots[k, code] >= 0:
                    z[first + slots[k, code]] = 1.0
                if learned[i]:
                    known[k, code] = 1
