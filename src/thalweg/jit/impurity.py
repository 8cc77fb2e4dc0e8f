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
def total(counts: NDArray[np.float64]) -> float:
    """Sum in order. (``counts.sum()`` adds in another order when it is not compiled.)"""
    n = 0.0
    for x in counts:
        n += x
    return n


@inlined
def cost(criterion: int, counts: NDArray[np.float64]) -> float:
    """Weight × entropy (GAIN) or weight × Gini impurity (GINI) of the class weights."""
    whole = total(counts)
    inside = 0.0
    if criterion == GAIN:
        for n in counts:
            inside += x_log2_x(n)
        return x_log2_x(whole) - inside
    for n in counts:
        inside += n * n
    return whole - inside / whole if whole > 0.0 else 0.0
