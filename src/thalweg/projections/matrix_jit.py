"""The matrices of the projections, and their product with rows.

D columns go in, p come out. A projection is a dense matrix, or a list of few entries for each column:

| table   | shape  | dtype   | meaning                                                              |
| matrix  | D × p  | float64 | the matrix; no rows where it is kept as lists                        |
| starts  | D + 1  | int64   | column i has the entries from starts[i] to starts[i + 1]             |
| targets | n      | int64   | the outputs that an entry adds to                                    |
| values  | n      | float64 | what it adds for a value of 1                                        |
| first   | d      | int64   | the column of feature f, or of the first value of a nominal feature  |
| widths  | d      | int64   | how many columns a nominal feature has; 0: it is a number            |

All that belongs to a column is drawn from a generator of its own, which its key and the seed name: a column is the same
whatever other columns there are. A row is added up in the order of its features and without its zeros, so that dense
and sparse rows, alone or in a chunk, give the same bits.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled, hot, inlined
from thalweg.jit.fast import fast_log2
from thalweg.jit.random import bits, uniform
from thalweg.jit.vectors import add

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]

LARGEST_VALUE = 1e150
"""Numbers beyond are taken for this, so that no sum overflows."""
_LN_2 = math.log(2.0)
_ONE, _SIGNS = np.uint64(1), 64
_MIX = np.uint64(0xD1342543DE82EF95)


# -- drawing ----------------------------------------------------------------------------------------------------------


@inlined
def seed_column(rng: Keys, seed: np.uint64, key: np.uint64) -> None:
    """Set the generator to where the draws for a column begin."""
    rng[0] = seed ^ (key * _MIX)
    rng[0] = bits(rng, 0)


@inlined
def normal(rng: Keys) -> float:
    """Draw from N(0, 1) by the polar method, with a logarithm that is the same on every machine."""
    u, v, r = 0.0, 0.0, 0.0
    while r >= 1.0 or r == 0.0:
        u = 2.0 * uniform(rng, 0) - 1.0
        v = 2.0 * uniform(rng, 0) - 1.0
        r = u * u + v * v
    return u * math.sqrt(-2.0 * _LN_2 * fast_log2(r) / r)


@compiled
def draw_gaussian(seed: np.uint64, keys: Keys, scale: float, matrix: Floats) -> None:
    """Fill the rows of the matrix with draws from N(0, scale²)."""
    rng = np.zeros(1, dtype=np.uint64)
    for i in range(len(keys)):
        seed_column(rng, seed, keys[i])
        for j in range(matrix.shape[1]):
            matrix[i, j] = scale * normal(rng)


@compiled
def draw_signs(seed: np.uint64, keys: Keys, scale: float, matrix: Floats) -> None:
    """Fill the rows of the matrix with +scale and -scale, a coin each."""
    rng = np.zeros(1, dtype=np.uint64)
    for i in range(len(keys)):
        seed_column(rng, seed, keys[i])
        coins = np.uint64(0)
        for j in range(matrix.shape[1]):
            if j % _SIGNS == 0:
                coins = bits(rng, 0)
            matrix[i, j] = scale if coins & _ONE else -scale
            coins >>= _ONE


@compiled
def draw_few(
    seed: np.uint64, keys: Keys, p: int, density: float, scale: float, starts: Ints, targets: Ints, values: Floats
) -> int:
    """Draw +scale or -scale for each output with chance ``density``; count what there is room for or not."""
    rng = np.zeros(1, dtype=np.uint64)
    n = 0
    for i in range(len(keys)):
        seed_column(rng, seed, keys[i])
        starts[i] = n
        for j in range(p):
            u = uniform(rng, 0)
            if u < density:
                if n < len(targets):
                    targets[n], values[n] = j, scale if u < 0.5 * density else -scale
                n += 1
    starts[len(keys)] = n
    return n


@compiled
def draw_hashes(seed: np.uint64, keys: Keys, p: int, one_hash: bool, targets: Ints, values: Floats) -> None:
    """Give each column one output and a sign. one_hash: both from the same bits."""
    rng = np.zeros(1, dtype=np.uint64)
    for i in range(len(keys)):
        seed_column(rng, seed, keys[i])
        drawn = bits(rng, 0)
        targets[i] = np.int64(drawn % np.uint64(p))
        if not one_hash:
            drawn = bits(rng, 0)
        values[i] = 1.0 if (drawn >> np.uint64(63)) & _ONE else -1.0


# -- products ---------------------------------------------------------------------------------------------------------


@inlined
def add_column(matrix: Floats, starts: Ints, targets: Ints, values: Floats, i: int, v: float, y: Floats) -> None:
    """Add v times column i to the outputs."""
    if len(matrix) > 0:
        add(y, v, matrix[i], len(y))
    else:
        for e in range(starts[i], starts[i + 1]):
            y[targets[e]] += v * values[e]


@inlined
def tamed(v: float, ones: bool) -> float:
    """Give the number that counts for a value: nothing for a missing one, 1 for any but 0 if ``ones``."""
    if math.isnan(v) or v == 0.0:
        return 0.0
    return 1.0 if ones else max(-LARGEST_VALUE, min(LARGEST_VALUE, v))


@called
def add_four(matrix: Floats, x: Floats, y: Floats) -> None:
    """Add a row of numbers to the outputs, four columns at a time, each output in the order of the columns."""
    d = len(x)
    i = 0
    while i + 4 <= d:
        a, b, c, e = tamed(x[i], False), tamed(x[i + 1], False), tamed(x[i + 2], False), tamed(x[i + 3], False)
        if a != 0.0 and b != 0.0 and c != 0.0 and e != 0.0:
            first, second, third, fourth = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
            for j in range(len(y)):
                y[j] = (((y[j] + a * first[j]) + b * second[j]) + c * third[j]) + e * fourth[j]
        else:
            for k in range(i, i + 4):
                add_one(matrix, x, k, y)
        i += 4
    for k in range(i, d):
        add_one(matrix, x, k, y)


@inlined
def add_one(matrix: Floats, x: Floats, i: int, y: Floats) -> None:
    """Add column i of a row of numbers to the outputs."""
    v = tamed(x[i], False)
    if v != 0.0:
        add(y, v, matrix[i], len(y))


@hot
def project(
    matrix: Floats, starts: Ints, targets: Ints, values: Floats, first: Ints, widths: Ints, ones: bool, plain: bool,
    X: Floats, rows: Ints, Y: Floats,
) -> None:  # fmt: skip
    """Project rows. plain: all features are numbers. Rows are chosen by ``rows``; Y comes filled with zeros."""
    for n in range(len(rows)):
        project_row(matrix, starts, targets, values, first, widths, ones, plain, X[rows[n]], Y[n])


@inlined
def project_row(
    matrix: Floats, starts: Ints, targets: Ints, values: Floats, first: Ints, widths: Ints, ones: bool, plain: bool,
    x: Floats, y: Floats,
) -> None:  # fmt: skip
    """Project a row; y comes filled with zeros."""
    if plain and not ones and len(matrix) > 0:
        add_four(matrix, x, y)
        return
    for f in range(len(x)):
        if widths[f] == 0:
            v = tamed(x[f], ones)
            if v != 0.0:
                add_column(matrix, starts, targets, values, first[f], v, y)
        elif 0.0 <= x[f] < widths[f]:  # neither missing nor a value that was never seen
            add_column(matrix, starts, targets, values, first[f] + int(x[f]), 1.0, y)


@hot
def project_sparse(
    matrix: Floats, starts: Ints, targets: Ints, values: Floats, ones: bool, ends: Ints, at: Ints, cells: Floats,
    rows: Ints, Y: Floats,
) -> None:  # fmt: skip
    """Project sparse rows of numbers: row r has the ``cells`` from ends[r] to ends[r + 1], in the columns ``at``."""
    for n in range(len(rows)):
        y = Y[n]
        for e in range(ends[rows[n]], ends[rows[n] + 1]):
            v = tamed(cells[e], ones)
            if v != 0.0:
                add_column(matrix, starts, targets, values, at[e], v, y)


# -- distances between rows -------------------------------------------------------------------------------------------


@hot
def gaps(widths: Ints, X: Floats, rows: Ints, others: Ints, last: Floats, out: Floats) -> None:
    """Give the squared distance of each row from its other; -1 stands for ``last``.

    Missing is 0, as for the projection; two values of a nominal feature are two columns.
    """
    for n in range(len(rows)):
        x = X[rows[n]]
        z = last if others[n] < 0 else X[others[n]]
        total = 0.0
        for f in range(len(x)):
            if widths[f] == 0:
                gap = tamed(x[f], False) - tamed(z[f], False)
                total += gap * gap
            elif x[f] != z[f]:
                total += (1.0 if x[f] >= 0.0 else 0.0) + (1.0 if z[f] >= 0.0 else 0.0)
        out[n] = total


@hot
def gaps_sparse(
    ends: Ints, at: Ints, cells: Floats, rows: Ints, others: Ints, last_at: Ints, last: Floats, out: Floats
) -> None:
    """Do the same for sparse rows; the last row has the cells ``last`` in the columns ``last_at``."""
    for n in range(len(rows)):
        e, top = ends[rows[n]], ends[rows[n] + 1]
        b, stop, z_at, z = 0, len(last_at), last_at, last
        if others[n] >= 0:
            b, stop, z_at, z = ends[others[n]], ends[others[n] + 1], at, cells
        total = 0.0
        while e < top or b < stop:
            gap = 0.0
            if b == stop or (e < top and at[e] < z_at[b]):
                gap = tamed(cells[e], False)
                e += 1
            elif e == top or z_at[b] < at[e]:
                gap = tamed(z[b], False)
                b += 1
            else:
                gap = tamed(cells[e], False) - tamed(z[b], False)
                e += 1
                b += 1
            total += gap * gap
        out[n] = total
