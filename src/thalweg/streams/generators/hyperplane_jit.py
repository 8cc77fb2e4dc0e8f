"""Hyperplane, row by row.

| table   | shape    | dtype   | meaning                                              |
| random  | 1 / 3    | uint64  | random state, see draw_jit                           |
| weights | features | float64 | the plane                                            |
| turns   | drifting | float64 | +1 or -1: which way a drifting weight goes           |
"""

import numpy as np

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, chances, uniform, uniforms

_TOGETHER = 32


@compiled
def build(random: Seeds, java: bool, weights: Floats) -> None:
    """Draw the plane."""
    for f in range(len(weights)):
        weights[f] = uniform(random, java)


@inlined
def _draw(s: Seeds, java: bool, d: int, draws: Floats) -> None:
    """Draw for each row its values, then what noise and reversals are decided by."""
    if not java:
        uniforms(s, java, draws.reshape(-1))
        return
    for u in draws:
        uniforms(s, java, u[:d])
        chances(s, java, u[d:])


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
    d, k = len(weights), len(turns)
    draws = np.empty((_TOGETHER, d + 1 + k))
    for start in range(0, len(y), _TOGETHER):
        m = min(_TOGETHER, len(y) - start)
        _draw(random, java, d, draws[:m])
        for r in range(m):
            u = draws[r]
            total = 0.0
            whole = 0.0
            for f in range(d):
                X[start + r, f] = u[f]
                total += weights[f] * u[f]
                whole += weights[f]
            label = int(total >= whole * 0.5)
            y[start + r] = label ^ int(u[d] < noise)
            for f in range(k):
                weights[f] += turns[f] * magnitude
                turns[f] = -turns[f] if u[d + 1 + f] < reversal else turns[f]
