"""How mixed a vector of class weights is. Costs are impurity × weight, so that branches add up."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import inlined

GAIN, GINI = 0, 1
"""Codes of the split criteria: information gain, Gini."""


@inlined
def x_log2_x(x: float) -> float:
    """x · log2 x, with 0 · log2 0 = 0."""
    return x * math.log2(x) if x > 0.0 else 0.0


@inlined
def cost(criterion: int, counts: NDArray[np.float64]) -> float:
    """Weight × entropy (GAIN) or weight × Gini impurity (GINI) of the class weights."""
    total = 0.0
    inside = 0.0
    if criterion == GAIN:
        for n in counts:
            total += n
            inside += x_log2_x(n)
        return x_log2_x(total) - inside
    for n in counts:
        total += n
        inside += n * n
    return total - inside / total if total > 0.0 else 0.0
