"""How far tensors lie from a reference, and when the distances add up to a drift.

measures, n × 2: the distance of a tensor from the reference, and the log of its norm. Each depends on one tensor and
the reference only, so that chunks do not matter.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot, inlined
from thalweg.jit.vectors import dot

Floats = NDArray[np.float64]

FARTHER, LARGER, SMALLER, MEAN, SD, LOG_MEAN, LOG_SD, LEVEL, CHANGES, OLDEST, MOVES, COLUMNS = range(12)
"""Columns of ``table``. FARTHER: C, the sum of how much farther than usual the tensors lie; LARGER: the same for the
log of the norm; SMALLER: for that with the other sign; MEAN, SD: mu_0 and sd_0 of the distances of the reference;
LOG_MEAN, LOG_SD: of the logs of the norms; LEVEL of the last tensor: 0 none, 1 alarm, 2 drift; CHANGES: drifts so far;
OLDEST: the row of the window that the next tensor takes (rule "paper"); MOVES: tensors that took a row since the sum of
the window was exact."""
CLIP, SLACK, ALARM, DRIFT = 4.0, 0.5, 5.0, 15.0
"""A single tensor counts for CLIP at most, less SLACK; what C must exceed."""
PAPER_ALARM, PAPER_DRIFT = 1.0, 3.0
"""Standard deviations."""
FARTHEST, TINY = 1e100, 1e-300
LEAST_LOG_SD = 1e-9
"""Norms that differ by less than this share are the same."""
EXACT = 10
"""The sum of a window of w tensors is made afresh after this many times w moves."""


class Watch(NamedTuple):
    """What a detector knows beside its reference."""

    table: Annotated[
        Floats,
        table(
            COLUMNS,
            cells={
                SD: span(0),
                LOG_SD: span(0),
                LEVEL: span(0, 2, whole=True),
                CHANGES: span(0, 2**53, whole=True),
                OLDEST: span(0, "max(0, w - 1)", whole=True),
                MOVES: span(0),
            },
        ),
    ]
    """COLUMNS."""
    residuals: Annotated[Floats, table("w")]
    """w: the distances of the reference, in the order of its window."""


# -- measures ---------------------------------------------------------------------------------------------------------


@inlined
def distance(x: Floats, mean: Floats, share: float, n: int) -> float:
    """‖x - share · mean‖, in eight parts as in a dot product."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = n - n % 8
    for j in range(0, whole, 8):
        d0, d1 = x[j] - share * mean[j], x[j + 1] - share * mean[j + 1]
        d2, d3 = x[j + 2] - share * mean[j + 2], x[j + 3] - share * mean[j + 3]
        d4, d5 = x[j + 4] - share * mean[j + 4], x[j + 5] - share * mean[j + 5]
        d6, d7 = x[j + 6] - share * mean[j + 6], x[j + 7] - share * mean[j + 7]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
        s4 += d4 * d4
        s5 += d5 * d5
        s6 += d6 * d6
        s7 += d7 * d7
    for j in range(whole, n):
        d0 = x[j] - share * mean[j]
        s0 += d0 * d0
    return bounded(((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7)))


@inlined
def bounded(square: float) -> float:
    """The root of a square, 0 where rounding made it negative, and never beyond what can be averaged."""
    if not square < FARTHEST * FARTHEST:  # nor where something overflowed on the way
        return FARTHEST
    return math.sqrt(max(0.0, square))


@inlined
def log_norm(x: Floats, n: int) -> float:
    """The log of the norm, which is the distance from 0."""
    return math.log(max(distance(x, x, 0.0, n), TINY))


@hot
def measure_dense(X: Floats, mean: Floats, out: Floats) -> None:
    """Measure flattened tensors against the mean of the reference."""
    n, size = X.shape
    for i in range(n):
        out[i, 0], out[i, 1] = distance(X[i], mean, 1.0, size), log_norm(X[i], size)


@hot
def measure_inner(squares: Floats, inner: Floats, mean_square: float, out: Floats) -> None:
    """Measure by inner products: ‖A - m‖² = <A, A> - (2 / w) Σ <A, A_i> + ‖m‖². inner: n × w."""
    n, w = inner.shape
    for i in range(n):
        total = 0.0
        for k in range(w):
            total += inner[i, k]
        out[i, 0] = bounded(squares[i] - 2.0 * total / w + mean_square)
        out[i, 1] = math.log(max(bounded(squares[i]), TINY))


@hot
def sum_groups(products: Floats, weights: Floats, others: Floats, out: Floats) -> None:
    """Inner products of CP tensors, n × w, from those of their columns, n × r × (w · q), multiplied over the modes."""
    n, r, _ = products.shape
    w, q = others.shape
    for i in range(n):
        for k in range(w):
            total = 0.0
            for a in range(r):
                part = 0.0
                for b in range(q):
                    part += products[i, a, k * q + b] * others[k, b]
                total += weights[i, a] * part
            out[i, k] = total


@hot
def cp_squares(weights: Floats, columns: Floats, out: Floats) -> None:
    """<A, A> of CP tensors: Σ over pairs of columns of the product of their inner products in each mode."""
    n, modes, r, size = columns.shape
    for i in range(n):
        total = 0.0
        for a in range(r):
            for b in range(a, r):
                product = weights[i, a] * weights[i, b] * (1.0 if a == b else 2.0)
                for k in range(modes):
                    product *= dot(columns[i, k, a], columns[i, k, b], size)
                total += product
        out[i] = total


# -- the CUSUM rule ---------------------------------------------------------------------------------------------------


@inlined
def step(table: Floats, far: float, log: float, norm: bool) -> int:
    """Take one tensor; give its level."""
    z = (far - table[MEAN]) / table[SD]
    table[FARTHER] = max(0.0, table[FARTHER] + min(z, CLIP) - SLACK)
    most = table[FARTHER]
    if norm:
        z = (log - table[LOG_MEAN]) / table[LOG_SD]
        table[LARGER] = max(0.0, table[LARGER] + min(z, CLIP) - SLACK)
        table[SMALLER] = max(0.0, table[SMALLER] + min(-z, CLIP) - SLACK)
        most = max(most, max(table[LARGER], table[SMALLER]))
    level = 2 if most > DRIFT else 1 if most > ALARM else 0
    table[LEVEL] = level
    if level == 2:
        table[CHANGES] += 1.0
        table[FARTHER] = table[LARGER] = table[SMALLER] = 0.0
    return level


@hot
def cusum(measures: Floats, norm: bool, table: Floats, levels: NDArray[np.int8]) -> int:
    """Take tensors in order as far as the first drift; give how many."""
    for i in range(len(measures)):
        levels[i] = step(table, measures[i, 0], measures[i, 1], norm)
        if levels[i] == 2:
            return i + 1
    return len(measures)


@hot
def cusum_dense(X: Floats, mean: Floats, norm: bool, table: Floats, levels: NDArray[np.int8]) -> int:
    """Take flattened tensors in order as far as the first drift; give how many."""
    n, size = X.shape
    for i in range(n):
        levels[i] = step(table, distance(X[i], mean, 1.0, size), log_norm(X[i], size), norm)
        if levels[i] == 2:
            return i + 1
    return len(X)


# -- the paper's rule -------------------------------------------------------------------------------------------------


@inlined
def compare(table: Floats, far: float, residuals: Floats, least: float) -> int:
    """Compare a distance with those of the window; unless it is a drift it takes the place of the oldest."""
    w = len(residuals)
    mean, squares = 0.0, 0.0
    for k in range(w):
        mean += residuals[k]
    mean /= w
    for k in range(w):
        squares += (residuals[k] - mean) * (residuals[k] - mean)
    z = (far - mean) / max(math.sqrt(squares / (w - 1)), least)
    level = 2 if z >= PAPER_DRIFT else 1 if z >= PAPER_ALARM else 0
    table[LEVEL] = level
    if level == 2:
        table[CHANGES] += 1.0
    else:
        residuals[int(table[OLDEST])] = far
    return level


@hot
def compare_one(table: Floats, far: float, residuals: Floats, least: float) -> int:
    """Take one tensor by its distance; give its level. The caller lets it into the window."""
    return compare(table, far, residuals, least)


@hot
def slide_dense(
    X: Floats, window: Floats, sums: Floats, residuals: Floats, precision: float, table: Floats,
    levels: NDArray[np.int8],
) -> int:  # fmt: skip
    """Take flattened tensors in order as far as the first drift; give how many. sums: of the rows of the window."""
    w, size = window.shape
    for i in range(len(X)):
        least = precision * bounded(dot(sums, sums, size)) / w + TINY
        levels[i] = compare(table, distance(X[i], sums, 1.0 / w, size), residuals, least)
        if levels[i] == 2:
            return i + 1
        oldest = int(table[OLDEST])
        for j in range(size):
            sums[j] += X[i, j] - window[oldest, j]
            window[oldest, j] = X[i, j]
        table[OLDEST] = (oldest + 1) % w
        table[MOVES] += 1.0
        if table[MOVES] >= EXACT * w:
            table[MOVES] = 0.0
            sums[:] = 0.0
            for k in range(w):
                for j in range(size):
                    sums[j] += window[k, j]
    return len(X)
