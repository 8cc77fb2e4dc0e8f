"""The class counts of a stream."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Counts(NamedTuple):
    """The state."""

    counts: Annotated[Floats, table("n", least=0)]
    """n ≤ classes: the weight of each class seen."""


@compiled
def play(counts: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
    """Predict the class shares; learn by counting."""
    for e in events:
        if e >= 0:
            total = 0.0
            for c in range(known):
                total += counts[c]
            for c in range(known):
                out[e, c] = counts[c] / total if total > 0.0 else 1.0 / known
        else:
            c = y[~e]
            counts[c] += w[~e]
            known = max(known, c + 1)
