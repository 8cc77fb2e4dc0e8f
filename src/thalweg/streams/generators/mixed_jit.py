"""Mixed, row by row.

| table  | shape | dtype  | meaning                                    |
| random | 1 / 3 | uint64 | random state, see draw_jit                 |
| wanted | 1     | int64  | the class that comes next, where balanced  |
| bands  | n × 2 | float64 | bounds of the curve, see sine_jit (fixed)  |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import uniforms
from thalweg.streams.generators.sine_jit import is_below

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]


@compiled
def fill(
    random: Seeds, wanted: Ints, bands: Floats, function: int, balance: bool, java: bool, X: Floats, y: Ints
) -> None:
    """Write the next rows and their labels."""
    for r in range(len(y)):
        found = False
        label = 0
        while not found:
            x = X[r]
            uniforms(random, java, x)
            v, w = int(x[0] >= 0.5), int(x[1] >= 0.5)
            x[0], x[1] = float(v), float(w)
            positive = v + w + is_below(3, bands, x[2], x[3]) >= 2
            label = int(positive) if function == 2 else 1 - int(positive)
            found = not balance or label == wanted[0]
        wanted[0] = 1 - wanted[0]
        y[r] = label
