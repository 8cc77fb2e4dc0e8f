"""The scale of rows: by mean and deviation, or by range, of the rows so far; unit vectors; Mahalanobis' space."""

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot
from thalweg.jit.welford import welford

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

S_COUNT, S_MEAN, S_SQUARES, S_LEAST, S_GREATEST, S_ROWS = 0, 1, 2, 3, 4, 5
"""The rows of ``spans``, of the rows learned: count, mean, sum of squared deviations, least, greatest."""
Spans = Annotated[Floats, table(S_ROWS, "d", cells={
    (S_COUNT,): span(0), (S_SQUARES,): span(0, math.inf), (S_LEAST,): span(most=math.inf),
    (S_GREATEST,): span(least=-math.inf),
})]  # fmt: skip
"""5 × d."""
UNSCALED, ONLINE, MINMAX = 0, 1, 2
SCALES = {None: UNSCALED, "online": ONLINE, "minmax": MINMAX}

LARGEST = 1e150  # numbers beyond are taken for this: their squares are added up
LARGEST_IN_PRODUCTS = 1e70  # the same where products of four are added up
CLIP = 10.0


def new_spans(d: int) -> Floats:
    """Make the table of no rows."""
    spans = np.zeros((S_ROWS, d))
    spans[S_LEAST], spans[S_GREATEST] = np.inf, -np.inf
    return spans


@hot
def scale(row: Floats, z: Floats, spans: Floats, nominal: Ints, kind: int, largest: float) -> None:
    """Scale a row as if it had been counted already; nominal values stay as they are."""
    d = len(z)
    if kind == ONLINE:
        count, mean, squares = spans[S_COUNT], spans[S_MEAN], spans[S_SQUARES]
        for f in range(d):
            v = row[f]
            v = v if v < LARGEST else LARGEST
            v = v if v > -LARGEST else -LARGEST
            n, gap = count[f] + 1.0, v - mean[f]
            now = mean[f] + gap / n
            deviation = math.sqrt((squares[f] + gap * (v - now)) / n)
            v = (v - now) / (deviation if deviation > 0.0 else 1.0)
            v = v if v < CLIP else CLIP
            v = v if v > -CLIP else -CLIP
            z[f] = v if deviation > 0.0 else 0.0
    else:
        for f in range(d):
            z[f] = max(-largest, min(largest, row[f]))
        if kind == MINMAX:
            for f in range(d):
                least = min(spans[S_LEAST, f], z[f])
                width = max(spans[S_GREATEST, f], z[f]) - least
                z[f] = (z[f] - least) / width if width > 0.0 else 0.0
    for f in range(d):
        if nominal[f] != 0:
            z[f] = row[f]


@hot
def make_unit(x: Floats) -> None:
    """Give a vector the length 1; one without length stays as it is."""
    squares = 0.0
    for f in range(len(x)):
        squares += x[f] * x[f]
    length = math.sqrt(squares)
    if length > 0.0:
        for f in range(len(x)):
            x[f] /= length


@hot
def whiten(z: Floats, x: Floats, middle: Floats, root: Floats) -> None:
    """x = √n L⁻¹ (z - mean): in these coordinates the covariance of the rows is 1."""
    d = len(z)
    by = math.sqrt(middle[d] + 1.0)
    for i in range(d):
        v = z[i] - middle[i]
        for j in range(i):
            v -= root[i, j] * x[j]
        x[i] = v / root[i, i]
    for i in range(d):
        x[i] *= by


@hot
def observe(row: Floats, spans: Floats, nominal: Ints) -> None:
    """Let mean, squared deviations, least and greatest take one more row."""
    for f in range(len(row)):
        if nominal[f] != 0:
            continue
        v = max(-LARGEST, min(LARGEST, row[f]))
        spans[S_COUNT, f] += 1.0
        mean, squares = welford(spans[S_COUNT, f], spans[S_MEAN, f], spans[S_SQUARES, f], v, 1.0)
        spans[S_MEAN, f], spans[S_SQUARES, f] = mean, squares
        spans[S_LEAST, f], spans[S_GREATEST, f] = min(spans[S_LEAST, f], v), max(spans[S_GREATEST, f], v)


@hot
def observe_scatter(z: Floats, middle: Floats, root: Floats, v: Floats) -> None:
    """Let mean and scatter of the scaled rows take one more: L Lᵀ ← L Lᵀ + v vᵀ, column by column."""
    d = len(z)
    n = middle[d] + 1.0
    by = math.sqrt(1.0 - 1.0 / n)
    for i in range(d):
        gap = z[i] - middle[i]
        middle[i] += gap / n
        v[i] = gap * by
    middle[d] = n
    for k in range(d):
        old = root[k, k]
        new = math.sqrt(old * old + v[k] * v[k])
        c, s = new / old, v[k] / old
        root[k, k] = new
        for i in range(k + 1, d):
            root[i, k] = (root[i, k] + s * v[i]) / c
            v[i] = c * v[i] - s * root[i, k]
