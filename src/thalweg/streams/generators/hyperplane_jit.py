"""Hyperplane, row by row.

| table   | shape    | dtype   | meaning                                              |
| random  | 1 / 3    | uint64  | random state, see draw_jit                           |
| weights | features | float64 | the plane                                            |
| turns   | drifting | float64 | +1 or -1: which way a drifting weight goes           |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import chance, uniform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]


@compiled
def build(random: Seeds, java: bool, weights: Floats) -> None:
    """Draw the plane."""
    for f in range(len(weights)):
        weights[f] = uniform(random, java)


@compiled
def fill(
    random: Seeds,
    weights: Floats,
    turns: Floats,
    magnitude: float,
    noise: float,
    reversal: float,
    java: bool,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows and their labels; the plane moves after each row."""
    for r in range(len(y)):
        total = 0.0
        whole = 0.0
        for f in range(len(weights)):
            v = uniform(random, java)
            X[r, f] = v
            total += weights[f] * v
            whole += weights[f]
        label = 1 if total >= whole * 0.5 else 0
        y[r] = 1 - label if chance(random, java, noise) else label
        for f in range(len(turns)):
            weights[f] += turns[f] * magnitude
            if chance(random, java, reversal):
                turns[f] = -turns[f]
