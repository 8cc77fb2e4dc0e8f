"""Principal components that follow the rows (CCIPCA): one pass, no covariance matrix.

J. Weng, Y. Zhang, W.-S. Hwang, "Candid covariance-free incremental principal component analysis", 2003.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, table
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.vectors import add, dot
from thalweg.projections.matrix_jit import tamed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FAR = 1e50  # of a value from the mean: squares of lengths must stay finite
_LONGEST = 1e120  # of a component: the square of the longest row, and the amnesia, are far below


class Components(NamedTuple):
    """The state; D: columns, then zeros to 8, 16, …"""

    vectors: Annotated[Floats, table("p", "D", least=-_LONGEST, most=_LONGEST)]
    """p × D: the components, as long as their eigenvalues."""
    lengths: Annotated[Floats, table("p", least=0, most=_LONGEST)]
    """p: their lengths."""
    mean: Annotated[Floats, table("D", least=-_FAR, most=_FAR)]
    """D: of the rows; zeros where rows are not centred."""
    learned: Annotated[Ints, table(1, least=0, most=EXACT)]
    """1: rows learned."""


class Cells(NamedTuple):
    """Sparse rows: row r has the values from ends[r] to ends[r + 1], in the columns ``at``. Empty for dense rows."""

    ends: Ints
    at: Ints
    values: Floats


@inlined
def near(v: float) -> float:
    """Give the number that counts for a value."""
    return max(-_FAR, min(_FAR, v))


@called
def product(a: Floats, b: Floats, in_order: bool) -> float:
    """Give the inner product: in order where columns may join between others, else in eight parts.

    Columns that join are zeros at first, and must not change any bit of the sum: at the end they do not change that of
    a part, since the length is a multiple of eight.
    """
    if not in_order:
        return dot(a, b, len(a))
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@called
def lay_out(first: Ints, widths: Ints, x: Floats, mean: Floats, u: Floats) -> None:
    """Write a dense row, a column for each number and nominal value, to u; what is missing is the mean."""
    for f in range(len(x)):
        i = first[f]
        if widths[f] == 0:
            u[i] = mean[i] if math.isnan(x[f]) else near(x[f])
        else:
            for j in range(widths[f]):
                u[i + j] = mean[i + j] if math.isnan(x[f]) else (1.0 if x[f] == j else 0.0)


@called
def lay_out_sparse(at: Ints, cells: Floats, u: Floats) -> None:
    """Write a sparse row to u."""
    for i in range(len(u)):
        u[i] = 0.0
    for e in range(len(at)):
        u[at[e]] = near(tamed(cells[e], False))


@called
def turn(components: Components, in_order: bool, room: Floats, y: Floats) -> None:
    """Project the row onto the components; nothing for those that are not there yet."""
    vectors, lengths, mean = components.vectors, components.lengths, components.mean
    x, u = room
    for f in range(len(u)):
        u[f] = x[f] - mean[f]
    for i in range(len(y)):
        y[i] = product(u, vectors[i], in_order) / lengths[i] if lengths[i] > 0.0 else 0.0


@called
def learn(components: Components, amnesia: float, centre: bool, in_order: bool, u: Floats) -> None:
    """Let the components take one more row, that in u; u is used up.

    v_i ← (n - 1 - l) / n v_i + (1 + l) / n u (u · v_i / |v_i|), then u ← u - (u · v_i / |v_i|) v_i / |v_i| for the
    next one (Weng et al. 2003, Algorithm 1; l: amnesia).
    """
    vectors, lengths, mean, count = components
    count[0] += 1
    n = float(count[0])
    if centre:
        for f in range(len(u)):
            mean[f] += (u[f] - mean[f]) / n
            u[f] -= mean[f]
    fade = max(0.0, min(amnesia, n - 2.0))
    keep, take = (n - 1.0 - fade) / n, (1.0 + fade) / n
    for i in range(min(len(vectors), count[0])):
        v = vectors[i]
        if i + 1 == count[0] or lengths[i] == 0.0:
            for f in range(len(u)):
                v[f] = u[f]
            lengths[i] = math.sqrt(product(v, v, in_order))
            if lengths[i] > 0.0:
                break
            continue
        along = take * (product(u, v, in_order) / lengths[i])
        for f in range(len(u)):
            v[f] = keep * v[f] + along * u[f]
        square = product(v, v, in_order)
        lengths[i] = math.sqrt(square)
        if square > 0.0:
            add(u, -product(u, v, in_order) / square, v, len(u))
        else:
            lengths[i] = 0.0


@hot
def follow(
    components: Components, amnesia: float, centre: bool, in_order: bool, room: Floats, first: Ints, widths: Ints,
    X: Floats, sparse: Cells, events: Ints, Y: Floats,
) -> None:  # fmt: skip
    """Project the row of each event at its moment; an event that learns moves the components after that."""
    components, sparse = Components(*components), Cells(*sparse)
    ends, at, values = sparse
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        if len(ends) == 0:
            lay_out(first, widths, X[r], components.mean, room[0])
        else:
            lay_out_sparse(at[ends[r] : ends[r + 1]], values[ends[r] : ends[r + 1]], room[0])
        if e > 0 and events[e - 1] == r:  # predicted just before it is learned: nothing has moved
            for i in range(Y.shape[1]):
                Y[e, i] = Y[e - 1, i]
        else:
            turn(components, in_order, room, Y[e])
        if events[e] < 0:
            learn(components, amnesia, centre, in_order, room[0])
