"""Multinomial logistic regression, one step of normalised adaptive gradient descent for each row.

A value x of a column is z = x / s, where s is the largest |x| that was learned. A weight v then speaks about z, so a
column that grows changes no weight (Ross, Mineiro, Langford 2013, Algorithm 2, with w = v / s). Only columns that are
not 0 are looked at.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import hot, inlined
from thalweg.learners.networks.net_jit import L_START, L_WIDTH, MOST_VALUES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

H_ROWS, H_NORM = range(2)
LEAST = 1.0  # keeps the steps small where gradients are: else weights grow on and on where no mistake is made
LARGEST = 1e3  # a value this many times larger than any that was learned counts as this


class Line(NamedTuple):
    """The state."""

    weights: Annotated[Floats, table("C", "D")]
    """classes × columns: v."""
    squares: Annotated[Floats, table("C", "D", least=0)]
    """classes × columns: the faded sum of the squared gradients."""
    shift: Annotated[Floats, table("C", 2)]
    """classes × 2: the weight of a column that is always 1, and its squares."""
    scale: Annotated[Floats, table("D", least=0)]
    """columns: the largest |x| that was learned."""
    layout: Annotated[Ints, table("features", 2, cells={L_START: span(0, "D"), L_WIDTH: span(-1, MOST_VALUES)})]
    """features × 2: first column, and how many; -1: a number, which has one."""
    head: Annotated[Floats, table(2, least=0)]
    """H_ROWS, H_NORM: faded counts of rows, and of Σ z²."""


@inlined
def gather(layout: Ints, X: Floats, r: int, at: Ints, x: Floats) -> int:
    """Note the columns of a row that are known and not 0, and their values; give how many there are."""
    n = 0
    for f in range(X.shape[1]):
        v = X[r, f]
        if v != v:
            continue
        width = layout[f, L_WIDTH]
        if width < 0:
            if v != 0.0:
                at[n], x[n] = layout[f, L_START], v
                n += 1
        elif v < width:
            at[n], x[n] = layout[f, L_START] + int(v), 1.0
            n += 1
    return n


@inlined
def gather_sparse(data: Floats, indices: Ints, first: int, last: int, at: Ints, x: Floats) -> int:
    """Note the columns of a sparse row, whose features are all numbers."""
    for k in range(first, last):
        at[k - first], x[k - first] = indices[k], data[k]
    return last - first


@inlined
def answer(m: Line, n: int, at: Ints, x: Floats, known: int, p: Floats) -> None:
    """Give the probability of each known class: the softmax of the sums; one that nothing was learned about has 0."""
    top = -math.inf
    for c in range(known):
        learned = c < m.shift.shape[0]
        total = m.shift[c, 0] if learned else 0.0
        for k in range(n if learned else 0):
            s = m.scale[at[k]]
            if s > 0.0:
                total += m.weights[c, at[k]] * min(max(x[k] / s, -LARGEST), LARGEST)
        p[c] = total
        top = max(top, total)
    total = 0.0
    for c in range(known):
        p[c] = math.exp(p[c] - top)
        total += p[c]
    for c in range(known):
        p[c] /= total


@inlined
def learn(
    m: Line, n: int, at: Ints, x: Floats, y: int, w: float, known: int, p: Floats, rate: float, keep: float
) -> None:
    """Take one step: v -= η √(t / N) g / (LEAST + √G)."""
    norm = 1.0
    for k in range(n):
        a = abs(x[k])
        if a > m.scale[at[k]]:
            m.scale[at[k]] = a
        z = x[k] / m.scale[at[k]]
        norm += z * z
    m.head[H_ROWS] = keep * m.head[H_ROWS] + 1.0
    m.head[H_NORM] = keep * m.head[H_NORM] + norm
    step = rate * math.sqrt(m.head[H_ROWS] / m.head[H_NORM])
    answer(m, n, at, x, known, p)
    for c in range(known):
        error = w * (p[c] - (1.0 if c == y else 0.0))
        m.shift[c, 1] = keep * m.shift[c, 1] + error * error
        m.shift[c, 0] -= step * error / (LEAST + math.sqrt(m.shift[c, 1]))
        for k in range(n):
            i = at[k]
            g = error * (x[k] / m.scale[i])
            m.squares[c, i] = keep * m.squares[c, i] + g * g
            m.weights[c, i] -= step * g / (LEAST + math.sqrt(m.squares[c, i]))


@hot
def play(
    tables: Any, work: Any, rates: Any, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int
) -> None:
    """Carry out the events on dense rows."""
    m = Line(*tables)
    at, x, p = work
    for e in events:
        n = gather(m.layout, X, e if e >= 0 else ~e, at, x)
        if e >= 0:
            answer(m, n, at, x, known, p)
            for c in range(known):
                out[e, c] = p[c]
        else:
            known = max(known, y[~e] + 1)
            learn(m, n, at, x, y[~e], w[~e], known, p, rates[0], rates[1])


@hot
def play_sparse(
    tables: Any, work: Any, rates: Any, rows: Any, y: Ints, w: Floats, events: Ints, out: Floats, known: int
) -> None:
    """Carry out the events on sparse rows: values, columns, and where each row begins."""
    m = Line(*tables)
    at, x, p = work
    data, indices, starts = rows
    for e in events:
        r = e if e >= 0 else ~e
        n = gather_sparse(data, indices, starts[r], starts[r + 1], at, x)
        if e >= 0:
            answer(m, n, at, x, known, p)
            for c in range(known):
                out[e, c] = p[c]
        else:
            known = max(known, y[r] + 1)
            learn(m, n, at, x, y[r], w[r], known, p, rates[0], rates[1])
