"""The chordal distance as it is written: two projectors, and the norm of their difference."""

import numpy as np


def flattening(A, mode):
    """Rows by one mode; the columns run over the others in C order, one element at a time."""
    if A.ndim == 1:
        return A[None, :]
    shape = A.shape
    others = shape[:mode] + shape[mode + 1 :]
    out = np.zeros((shape[mode], int(np.prod(others))))
    for at in np.ndindex(*shape):
        column = 0
        for k, size in enumerate(shape):
            if k != mode:
                column = column * size + at[k]
        out[at[mode], column] = A[at]
    return out


def row_space(M, rank, max_rank=5, energy=0.95):
    """The right singular vectors that the rank rule keeps, and the gap behind them (1: nothing was cut)."""
    _, s, V = np.linalg.svd(M, full_matrices=False)
    known = int((s > max(M.shape) * 2.2e-16 * s[0]).sum()) if s[0] > 0 else 0
    r = known
    if rank != "numerical":
        if rank == "energy":
            held = np.cumsum(s**2)
            r = min(max_rank, int(np.argmax(held >= energy * held[-1])) + 1) if known else 0
        else:
            r = min(rank, known)
        r = min(r, max(1, M.shape[1] // 2))
    gap = 1.0 if r == known or r == 0 else (s[r - 1] - s[r]) / s[0]
    return V[:r], gap


def distance(A, B, mode, rank="numerical", max_rank=5):
    """‖Π_A - Π_B‖² by the projectors themselves, and the smaller gap."""
    (D, gap), (E, other) = (row_space(flattening(X, mode), rank, max_rank) for X in (A, B))
    return float(((D.T @ D - E.T @ E) ** 2).sum()), min(gap, other)


def distances(A, B, rank="numerical", max_rank=5):
    """All of them: (n, s, L), and the smallest gap."""
    out = np.zeros((len(A), len(B), A.ndim - 1))
    least = 1.0
    for i, k, j in np.ndindex(*out.shape):
        out[i, k, j], gap = distance(A[i], B[k], j, rank, max_rank)
        least = min(least, gap)
    return out, least
