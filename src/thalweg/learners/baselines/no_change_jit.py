"""The last label of a stream."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Last(NamedTuple):
    """The state."""

    last: Annotated[Ints, table(1, least=-1, most="classes - 1")]
    """1: the code of the last label; -1: none yet."""


@compiled
def play(last: Ints, y: Ints, events: Ints, out: Floats, known: int) -> None:
    """Predict the last label; learn by keeping it."""
    for e in events:
        if e >= 0:
            for c in range(known):
                share = 1.0 if c == last[0] else 0.0
                out[e, c] = share if last[0] >= 0 else 1.0 / known
        else:
            last[0] = y[~e]
            known = max(known, y[~e] + 1)
