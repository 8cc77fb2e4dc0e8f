"""Affine subspaces of classes, learnt row by row; soft residuals of rows to each of them.

The soft residual of a row x to a class is the least of |x - m - U a|² + q Σ a_i² / λ_i over a; m is the mean, U the
directions, λ their variances. It is |d|² - Σ share_i (u_i · d)² with d = x - m; with shares of 1 the squared distance
to an affine subspace.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import called, compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WEIGHT, FRESH = range(2)
UNKNOWN = -1.0
GROWTH = 0.25
"""A class is refreshed when its rows have grown by this share."""


class Subspaces(NamedTuple):
    """The subspaces of K classes of rows of p values."""

    counts: Annotated[Floats, table("K", 2, least=0)]
    """K × 2: WEIGHT of the rows, decayed by later ones of the class; FRESH: weight since the last refresh."""
    sums: Annotated[Floats, table("K", "p")]
    """K × p: decayed sum of the rows."""
    grams: Annotated[Floats, table("K", "p", "p")]
    """K × p × p: decayed sum of their products; the lower triangle."""
    means: Annotated[Floats, table("K", "p")]
    """K × p: the mean, as it was at the last refresh."""
    bases: Annotated[Floats, table("K", "p", "min(rank, p)")]
    """K × p × R: the strongest directions of the class, then."""
    shares: Annotated[Floats, table("K", "min(rank, p)")]
    """K × R: λ / (λ + q): how far a row may go along each for nothing, then; -1 in the first: nothing is known."""


@compiled
def count_until_refresh(counts: Floats, decay: float, y: Ints, w: Floats, events: Ints, first: int, most: int) -> int:
    """How many events from the first on until a class is due to be refreshed, or ``most`` rows have been learned."""
    weight, fresh = counts[:, WEIGHT].copy(), counts[:, FRESH].copy()
    learned = 0
    for j in range(first, len(events)):
        if events[j] < 0:
            k, v = y[~events[j]], w[~events[j]]
            weight[k] = decay * weight[k] + v
            fresh[k] += v
            learned += 1
            if fresh[k] >= GROWTH * weight[k] or learned == most:
                return j + 1 - first
    return len(events) - first


@compiled
def learn_events(
    counts: Floats, sums: Floats, grams: Floats, decay: float, Z: Floats, y: Ints, w: Floats, events: Ints
) -> int:
    """Learn the rows of these events; give the class that is due to be refreshed after the last, or -1."""
    due = -1
    for e in events:
        if e < 0:
            due = add(counts, sums, grams, decay, Z[~e], y[~e], w[~e])
    return due


@called
def add(counts: Floats, sums: Floats, grams: Floats, decay: float, z: Floats, k: int, v: float) -> int:
    """Learn a row of class k and weight v; give k if the class is due to be refreshed, else -1."""
    p = len(z)
    counts[k, WEIGHT] = decay * counts[k, WEIGHT] + v
    counts[k, FRESH] += v
    for i in range(p):
        a = v * z[i]
        sums[k, i] = decay * sums[k, i] + a
        row = grams[k, i]
        for j in range(i + 1):
            row[j] = decay * row[j] + a * z[j]
    return k if counts[k, FRESH] >= GROWTH * counts[k, WEIGHT] else -1


@compiled
def scatter(counts: Floats, sums: Floats, grams: Floats, k: int, own: Floats, pooled: Floats) -> float:
    """Write the scatter of class k, and the mean over all rows of that of their classes; give the weight of all."""
    K, p = sums.shape
    total = 0.0
    pooled[:] = 0.0
    for c in range(K):
        n = counts[c, WEIGHT]
        if n > 0.0:
            total += n
            for i in range(p):
                mean = sums[c, i] / n
                for j in range(i + 1):
                    pooled[i, j] += grams[c, i, j] - mean * sums[c, j]
    n = counts[k, WEIGHT]
    for i in range(p):
        mean = sums[k, i] / n
        for j in range(i + 1):
            own[i, j] = grams[k, i, j] - mean * sums[k, j]
            pooled[i, j] /= total
    return total


@compiled
def residuals(means: Floats, bases: Floats, shares: Floats, Z: Floats, events: Ints, out: Floats) -> None:
    """Write to out[j] the soft residuals of the row of event j to each class; infinite where nothing is known."""
    K, p = means.shape
    R = shares.shape[1]
    apart, along = np.empty(p), np.empty(R)
    before = -1
    for j in range(len(events)):
        e = max(events[j], ~events[j])
        if e == before:
            out[j] = out[j - 1]
        else:
            for k in range(K):
                out[j, k] = residual(means[k], bases[k], shares[k], Z[e], apart, along)
        before = e


@called
def residual(mean: Floats, basis: Floats, shares: Floats, z: Floats, apart: Floats, along: Floats) -> float:
    """Give the soft residual of one row to one class."""
    if shares[0] == UNKNOWN:
        return np.inf
    p, R = basis.shape
    along[:] = 0.0
    total = 0.0
    for i in range(p):
        d = z[i] - mean[i]
        total += d * d
        for r in range(R):
            along[r] += d * basis[i, r]
    for r in range(R):
        total -= shares[r] * along[r] * along[r]
    return max(total, 0.0)
