"""Ranks, overlaps of subspaces, and bases of tensors in factor form.

A basis of a CP tensor in mode j is K_j C_j, where K_j is the Khatri-Rao product of the other factors, never formed:

| table   | shape         | dtype   | meaning                                                          |
| columns | n × L × r × N | float64 | the columns of the factors, each of length 1, or zeros           |
| turns   | n × L × r × m | float64 | C_j: how the columns of K_j are mixed to an orthonormal basis    |
| ranks   | n × L         | int64   | the columns of C_j that count, the others are zeros              |
| logs    | n             | float64 | log of the norm of the tensor; -inf: all zeros                   |

Every sum has an order that depends on one tensor and the landmarks only, so that a tensor gives the same bits in any
chunk.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled, hot, inlined
from thalweg.jit.vectors import dot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NUMERICAL, ENERGY, FIXED = 0, 1, 2
"""The rank rules."""
KERNEL, DISTANCE, PER_MODE, LOG_OVERLAP, LOG_PER_MODE = 0, 1, 2, 3, 4
"""The features."""
TINY = 1e-300
"""An overlap of which a logarithm is taken counts as this at least."""
_SWEEPS = 60


# -- ranks ------------------------------------------------------------------------------------------------------------


@inlined
def kept(squares: Floats, total: float, rule: int, share: float, tol: float, most: int) -> int:
    """How many singular values count, of those whose squares are given, largest first; ``total``: of all squares."""
    floor = tol * tol * squares[0]
    known = 0
    while known < len(squares) and squares[known] > floor:
        known += 1
    if rule == NUMERICAL:
        return known
    r = known
    if rule == ENERGY:
        so_far = 0.0
        r = 0
        while r < known and so_far < share * total:
            so_far += squares[r]
            r += 1
    return min(r, most)


@hot
def count_ranks(
    squares: Floats, totals: Floats, rule: int, share: float, tol: float, most: int, ranks: Ints
) -> None:  # fmt: skip
    """Apply the rank rule to each row of squared singular values."""
    for i in range(len(squares)):
        ranks[i] = kept(squares[i], totals[i], rule, share, tol, most)


# -- overlaps ---------------------------------------------------------------------------------------------------------


@hot
def add_squares(products: Floats, out: Floats) -> None:
    """Tr(GᵀG) of each tensor and landmark: products is n × m × (s · m'), a block of m' columns for each landmark."""
    n, m, wide = products.shape
    s = out.shape[1]
    width = wide // s if s > 0 else 0
    for i in range(n):
        for a in range(m):
            row = products[i, a]
            for k in range(s):
                total = 0.0
                for b in range(k * width, (k + 1) * width):
                    total += row[b] * row[b]
                out[i, k] += total


@compiled
def cp_overlaps(columns: Floats, turns: Floats, others: Floats, other_turns: Floats, out: Floats) -> None:
    """Tr(GᵀG) for each CP tensor, landmark and mode (n × s × L), G = C_Bᵀ X_jᵀ C_A, X_j = ∘_{k≠j} A_kᵀ B_k."""
    n, modes, p, size = columns.shape
    s, q = len(others), others.shape[2]
    m, w = turns.shape[3], other_turns.shape[3]
    inner, except_one = np.empty((modes, p * q)), np.empty((modes, p * q))
    for i in range(n):
        for k in range(s):
            for j in range(modes):
                for a in range(p):
                    for b in range(q):
                        inner[j, a * q + b] = dot(columns[i, j, a], others[k, j, b], size)
            multiply_others(inner, except_one)
            for j in range(modes):
                total = 0.0
                for c in range(m):
                    for d in range(w):
                        g = 0.0
                        for a in range(p):
                            part = 0.0
                            for b in range(q):
                                part += except_one[j, a * q + b] * other_turns[k, j, b, d]
                            g += turns[i, j, a, c] * part
                        total += g * g
                out[i, k, j] = total


@hot
def fill_features(
    kind: int, overlaps: Floats, ranks: Ints, other_ranks: Ints, width: float, features: Floats
) -> None:  # fmt: skip
    """Make features of the overlaps (n, s, L). features: n × s, or n × (s · L) for those of each mode."""
    n, s, modes = overlaps.shape
    for i in range(n):
        for k in range(s):
            total = 0.0
            for j in range(modes):
                a, b, t = ranks[i, j], other_ranks[k, j], overlaps[i, k, j]
                if kind in (LOG_OVERLAP, LOG_PER_MODE):
                    gap = -math.log(max(t, TINY) / max(1, min(a, b))) if a > 0 or b > 0 else 0.0
                else:
                    gap = max(0.0, float(a + b) - 2.0 * t)
                if kind in (PER_MODE, LOG_PER_MODE):
                    features[i, k * modes + j] = gap
                total += gap
            if kind == KERNEL:
                features[i, k] = math.exp(-total / width)
            elif kind != PER_MODE and kind != LOG_PER_MODE:
                features[i, k] = total


@called
def multiply_others(parts: Floats, out: Floats) -> None:
    """Multiply all rows but one, for each row."""
    modes, width = parts.shape
    for c in range(width):
        product = 1.0
        for j in range(modes):
            out[j, c] = product
            product *= parts[j, c]
        product = 1.0
        for j in range(modes - 1, -1, -1):
            out[j, c] *= product
            product *= parts[j, c]


# -- bases of CP tensors ----------------------------------------------------------------------------------------------


@called
def diagonalise(A: Floats, V: Floats) -> None:
    """Turn the symmetric A into diagonal form by Jacobi's rotations; V: its eigenvectors; largest value first."""
    r = len(A)
    for a in range(r):
        for b in range(r):
            V[a, b] = 1.0 if a == b else 0.0
    for _ in range(_SWEEPS):
        moved = False
        for a in range(r - 1):
            for b in range(a + 1, r):
                if abs(A[a, b]) <= 1e-17 * math.sqrt(abs(A[a, a] * A[b, b])) or abs(A[a, b]) < 1e-300:
                    continue
                moved = True
                theta = (A[b, b] - A[a, a]) / (2.0 * A[a, b])
                if abs(theta) > 1e100:
                    t = 0.5 / theta
                else:
                    t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + math.sqrt(theta * theta + 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(r):
                    x, y = A[k, a], A[k, b]
                    A[k, a], A[k, b] = c * x - s * y, s * x + c * y
                for k in range(r):
                    x, y = A[a, k], A[b, k]
                    A[a, k], A[b, k] = c * x - s * y, s * x + c * y
                    x, y = V[k, a], V[k, b]
                    V[k, a], V[k, b] = c * x - s * y, s * x + c * y
                A[a, b] = A[b, a] = 0.0
        if not moved:
            break
    for a in range(r - 1):  # order by selection: r is small
        top = a
        for b in range(a + 1, r):
            if A[b, b] > A[top, top]:
                top = b
        if top != a:
            A[a, a], A[top, top] = A[top, top], A[a, a]
            for k in range(r):
                V[k, a], V[k, top] = V[k, top], V[k, a]


@called
def normalise(weights: Floats, columns: Floats, lengths: Floats, loads: Floats) -> float:
    """Make every column of the factors 1 long; loads: the weights with their lengths, the largest ±1.

    Gives the logarithm of what the loads were divided by; -inf: the tensor is 0.
    """
    modes, r, size = columns.shape
    largest = -math.inf
    for q in range(r):
        lengths[q] = math.log(abs(weights[q])) if weights[q] != 0.0 else -math.inf
        for k in range(modes):
            x = columns[k, q]
            top = 0.0
            for e in range(size):
                top = max(top, abs(x[e]))
            if top == 0.0:
                lengths[q] = -math.inf
                continue
            for e in range(size):
                x[e] /= top
            length = math.sqrt(dot(x, x, size))
            for e in range(size):
                x[e] /= length
            lengths[q] += math.log(top) + math.log(length)
        largest = max(largest, lengths[q])
    for q in range(r):
        loads[q] = 0.0
        if lengths[q] > -math.inf:
            loads[q] = math.copysign(math.exp(lengths[q] - largest), weights[q])
    return largest


@compiled
def cp_bases(
    weights: Floats, columns: Floats, rule: int, share: float, tol: float, most: Ints, turns: Floats, ranks: Ints,
    logs: Floats,
) -> None:  # fmt: skip
    """Find the bases of CP tensors. columns: made 1 long; turns: come as zeros; most: the rank allowed in each mode."""
    n, modes, r, size = columns.shape
    lengths, loads = np.empty(r), np.empty(r)
    grams, except_one = np.empty((modes, r * r)), np.empty((modes, r * r))
    W, Q, M, V = np.empty((r, r)), np.empty((r, r)), np.empty((r, r)), np.empty((r, r))
    H, squares = np.empty((r, r)), np.empty(r)
    for i in range(n):
        logs[i] = normalise(weights[i], columns[i], lengths, loads)
        for j in range(modes):
            ranks[i, j] = 0
        if logs[i] == -math.inf:
            continue
        for j in range(modes):
            for a in range(r):
                for b in range(a, r):
                    grams[j, a * r + b] = grams[j, b * r + a] = dot(columns[i, j, a], columns[i, j, b], size)
        multiply_others(grams, except_one)
        norm = 0.0
        for a in range(r):
            for b in range(r):
                norm += loads[a] * loads[b] * except_one[0, a * r + b] * grams[0, a * r + b]
        logs[i] = logs[i] + 0.5 * math.log(norm) if norm > 0.0 else -math.inf
        for j in range(modes):
            for a in range(r):
                for b in range(r):
                    W[a, b] = except_one[j, a * r + b]
            diagonalise(W, Q)
            known = 0
            while known < r and W[known, known] > tol * tol * W[0, 0]:
                known += 1
            for a in range(r):
                for b in range(r):
                    H[a, b] = Q[a, b] * math.sqrt(W[b, b]) * loads[a] if b < known else 0.0
            for a in range(r):  # M = Hᵀ (A_jᵀ A_j) H
                for b in range(a, r):
                    total = 0.0
                    for c in range(r):
                        for d in range(r):
                            total += H[c, a] * grams[j, c * r + d] * H[d, b]
                    M[a, b] = M[b, a] = total
            diagonalise(M, V)
            total = 0.0
            for a in range(r):
                squares[a] = max(0.0, M[a, a])
                total += squares[a]
            found = min(known, kept(squares, total, rule, share, tol, most[j]))
            ranks[i, j] = found
            for a in range(r):
                for c in range(found):
                    mixed = 0.0
                    for b in range(known):
                        mixed += Q[a, b] / math.sqrt(W[b, b]) * V[b, c]
                    turns[i, j, a, c] = mixed
