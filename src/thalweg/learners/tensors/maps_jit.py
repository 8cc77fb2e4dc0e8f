"""Small loops of the feature maps; they keep no state."""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot
from thalweg.jit.vectors import add, dot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_HALVINGS = 200
_BLOCK = 256
"""Columns that are mixed at a time, to stay in the cache."""


@hot
def heaviest_first(weights: Floats, columns: Floats, logs: Floats, order: Ints) -> None:
    """Order the columns of one CP tensor by |λ| times their lengths; equals stay in order. logs: room for r."""
    modes, r, size = columns.shape
    for q in range(r):
        logs[q] = math.log(abs(weights[q])) if weights[q] != 0.0 else -math.inf
        for k in range(modes):
            square = dot(columns[k, q], columns[k, q], size)
            logs[q] += 0.5 * math.log(square) if square > 0.0 else -math.inf
        at = q
        while at > 0 and logs[order[at - 1]] < logs[q]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = q


@hot
def along_rows(rows: Floats, x: Floats, out: Floats) -> None:
    """Write rows · x, in an order that no number of threads changes."""
    for r in range(len(rows)):
        out[r] = dot(rows[r], x, len(x))


@hot
def split_off(rows: Floats, x: Floats, along: Floats) -> float:
    """Take from x what lies along the orthonormal rows, twice for the sake of rounding; give the length of the rest."""
    size = len(x)
    for r in range(len(rows)):
        along[r] = 0.0
    for _ in range(2):
        for r in range(len(rows)):
            part = dot(rows[r], x, size)
            add(x, -part, rows[r], size)
            along[r] += part
    return math.sqrt(dot(x, x, size))


@hot
def mix_rows(mix: Floats, rows: Floats, out: Floats) -> None:
    """Write mix · rows, in an order that no number of threads changes. out: comes as zeros."""
    size = rows.shape[1]
    for first in range(0, size, _BLOCK):
        n = min(_BLOCK, size - first)
        for c in range(len(mix)):
            to = out[c, first : first + n]
            for r in range(len(rows)):
                add(to, mix[c, r], rows[r, first : first + n], n)


@hot
def common_shift(values: Floats, bulk: float, others: float, total: float) -> float:
    """Find τ so that min(max(l - τ, 0), 1) add up to total over the values and over ``others`` times the bulk.

    values: rising.
    """
    low, high = float(min(values[0], bulk)) - 1.0, float(max(values[-1], bulk))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        found = others * min(max(bulk - middle, 0.0), 1.0)
        for v in values:
            found += min(max(v - middle, 0.0), 1.0)
        if found > total:
            low = middle
        else:
            high = middle
    return high
