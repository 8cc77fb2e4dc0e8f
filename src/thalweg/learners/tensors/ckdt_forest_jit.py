"""The vote of a forest: a weighted geometric mean of what its members say."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled

Floats = NDArray[np.float64]

DOUBT = 0.01
"""Added to each probability, so that no member alone rules a class out."""


@compiled
def vote(opinions: Floats, i: int, weights: Floats, known: int, out: Floats) -> None:
    """Write the vote on record i over the known classes to out; opinions[t, i] is what member t says."""
    total = 0.0
    for t in range(len(weights)):
        total += weights[t]
    highest = -np.inf
    for k in range(known):
        mean = 0.0
        for t in range(len(weights)):
            mean += weights[t] * math.log(opinions[t, i, k] + DOUBT)
        out[k] = mean / total if total > 0.0 else 0.0
        highest = max(highest, out[k])
    whole = 0.0
    for k in range(known):
        out[k] = math.exp(out[k] - highest)
        whole += out[k]
    for k in range(known):
        out[k] /= whole
