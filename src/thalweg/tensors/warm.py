"""Leading directions of a matrix, by a few steps of block power iteration from those of matrices that came before."""

import numpy as np

from thalweg.tensors.forms import Floats

FAR = 10
"""A shorter side of at most this many times the columns has its Gram matrix made, and then a second step is cheap."""


def leading(A: Floats, columns: int) -> Floats:
    """Give the leading eigenvectors of the mean Gram matrix of matrices (n, N, P), on the shorter side.

    >>> A = np.diag([1.0, 3.0, 2.0])[None]
    >>> np.abs(leading(A, 2)).round(6).T.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    M = _shorter_first(A)
    total = np.zeros((M.shape[1], M.shape[1]))
    for one in M:
        total += one @ one.T
    return np.ascontiguousarray(np.linalg.eigh(total / len(M))[1][:, ::-1][:, :columns])


def follow(A: Floats, start: Floats, most: int) -> tuple[Floats, Floats]:
    """Give squared singular values (n, k), and right singular vectors as rows (n, most, P), of matrices (n, N, P).

    start: (shorter side, k), with k ≥ most. U ← orth(A Aᵀ U) from U = start; then the best within that space
    (Rayleigh, Ritz). Nothing depends on the other matrices. A row whose singular value is 0 is not of length 1.

    >>> A = np.diag([3.0, 2.0, 0.0])[None]
    >>> squares, rows = follow(A, np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), 1)
    >>> squares.round(6).tolist(), np.abs(rows).round(6).tolist()
    ([[9.0, 4.0]], [[[1.0, 0.0, 0.0]]])
    """
    M = _shorter_first(A)
    turned = M.swapaxes(1, 2)
    if M.shape[1] <= FAR * start.shape[1]:
        G = M @ turned
        U, _ = np.linalg.qr(G @ start)
        U, _ = np.linalg.qr(G @ U)
        H = U.swapaxes(1, 2) @ (G @ U)
    else:
        U, _ = np.linalg.qr(M @ (turned @ start))
        B = U.swapaxes(1, 2) @ M
        H = B @ B.swapaxes(1, 2)
    w, Y = np.linalg.eigh(H)
    squares = np.maximum(0.0, w[:, ::-1])
    top = np.ascontiguousarray((U @ np.ascontiguousarray(Y[:, :, ::-1][:, :, :most])).swapaxes(1, 2))
    if M is not A:
        return squares, top
    s = np.sqrt(squares[:, :most])
    return squares, (top @ A) / np.where(s > 0.0, s, 1.0)[:, :, None]


def _shorter_first(A: Floats) -> Floats:
    """Turn matrices so that they have no more rows than columns."""
    return A if A.shape[1] <= A.shape[2] else A.swapaxes(1, 2)
