"""The core of tensors along bases that leave sparse errors aside, and follow the stream."""

import math
from typing import Annotated, NamedTuple, final

import numpy as np

from thalweg.core.declared import table
from thalweg.core.protocols import State
from thalweg.learners.tensors.lrtd import leading, mean_squares
from thalweg.learners.tensors.maps import one_array
from thalweg.learners.tensors.tucker import CoreMap, core_shape, unit_columns
from thalweg.tensors.bases import flatten, fold
from thalweg.tensors.forms import CPTensors, Floats, Tensors

ROUNDS = 3
"""Of coefficients and errors for each tensor."""


class Robust(NamedTuple):
    """What the directions of one mode are found from."""

    L: Annotated[Floats, table("N", "r")]
    """N × r: the basis."""
    coefficients: Annotated[Floats, table("r", "r")]
    """r × r: A, the sum of the products of the coefficients."""
    products: Annotated[Floats, table("N", "r")]
    """N × r: B, that of the products of tensors and coefficients."""


@final
class LRTCRMap(CoreMap):
    """Online robust low-rank modelling: X ≈ L_k R_kᵀ in each mode, but for a sparse error E; features: the core.

    For each tensor, three times: R_k, the ridge coefficients of the flattening of X - E on L_k; E, the soft threshold
    of X less the average over the modes of L_k R_kᵀ; ridge and threshold 1 / sqrt(longest mode). Then A_k += R_kᵀ R_k,
    B_k += (X - E)_(k) R_k, and one pass over the columns of L_k. An array counts with mean square 1, a CP tensor with
    norm 1; that has no error E and stays factors. The core is X along the orthonormalised L_k. L_k begins as the first
    eigenvectors of the first tensors.

    P. Li et al., "Online robust low-rank tensor modeling for streaming data analysis", 2019.

    >>> X = np.random.default_rng(1).normal(size=(100, 8, 8, 3))
    >>> LRTCRMap().fit(X).learn(X).transform(X).shape
    (100, 48)
    """

    _mode = Robust

    def _prepare(self) -> None:
        super()._prepare()
        self._L: list[Floats] = []
        self._coefficients: list[Floats] = []
        self._products: list[Floats] = []

    def _begin(self, X: Tensors) -> None:
        self._count = 0
        ranks = core_shape(self._shape, self.rank)
        self._L = [np.ascontiguousarray(U.T) for U in leading(mean_squares(X), ranks)]
        self._coefficients = [np.zeros((r, r)) for r in ranks]
        self._products = [np.zeros((size, r)) for size, r in zip(self._shape, ranks, strict=True)]
        for i in range(len(X)):
            self._learn(X, i)
        self._look()

    def _follow(self, X: Tensors, i: int) -> None:
        self._learn(X, i)
        self._look()

    def _learn(self, X: Tensors, i: int) -> None:
        self._count += 1
        if isinstance(X, CPTensors):
            self._add_factors(X, i)
        else:
            self._add_array(one_array(X, i))
        for L, A, B in zip(self._L, self._coefficients, self._products, strict=True):
            for c in range(L.shape[1]):  # block descent on tr(LᵀL (A + weight I)) / 2 - tr(LᵀB)
                L[:, c] += (B[:, c] - L @ A[:, c] - self._weight * L[:, c]) / (A[c, c] + self._weight)

    @property
    def _weight(self) -> float:
        return 1.0 / math.sqrt(max(self._shape))

    def _ridge(self, L: Floats) -> Floats:
        """Give the matrix (r, N) that turns columns into their ridge coefficients on L."""
        return np.linalg.solve(L.T @ L + self._weight * np.eye(L.shape[1]), L.T).astype(np.float64, copy=False)

    def _add_array(self, X: Floats) -> None:
        X = X / (np.abs(X).max() or 1.0)
        X = X / (math.sqrt(float(np.mean(X * X))) or 1.0)
        modes = range(X.ndim)
        ridges, E = [self._ridge(L) for L in self._L], np.zeros(X.shape)
        for step in range(ROUNDS):
            clean = [_columns(X - E, k) for k in modes]
            R = [ridge @ part for ridge, part in zip(ridges, clean, strict=True)]
            if step == ROUNDS - 1:
                break
            close = sum((_folded(self._L[k] @ R[k], k, X.shape) for k in modes), np.zeros(X.shape)) / X.ndim
            E = np.copysign(np.maximum(np.abs(X - close) - self._weight, 0.0), X - close)
        for k in modes:
            self._coefficients[k] += R[k] @ R[k].T
            self._products[k] += clean[k] @ R[k].T

    def _add_factors(self, X: CPTensors, i: int) -> None:
        """As for an array, with E = 0: R_kᵀ = T K_kᵀ, T = ridge · A_k, and K_kᵀ K_k with the loads is W_k."""
        units, others = unit_columns(X, i)
        for k, (unit, W) in enumerate(zip(units, others, strict=True)):
            T = self._ridge(self._L[k]) @ unit
            self._coefficients[k] += T @ W @ T.T
            self._products[k] += unit @ W @ T.T

    def _look(self) -> None:
        self._bases = [orthonormal(L) for L in self._L]

    def _sums(self) -> State:
        parts = {"L": self._L, "coefficients": self._coefficients, "products": self._products}
        return {f"{name}_{k}": part for name, some in parts.items() for k, part in enumerate(some)}

    def _use(self, sums: State) -> None:
        modes = range(len(self._shape))
        self._L, self._coefficients, self._products = ([sums[f"{n}_{k}"] for k in modes] for n in Robust._fields)


def orthonormal(L: Floats) -> Floats:
    """Give an orthonormal basis of the columns as rows, each with the sign of its column.

    >>> orthonormal(np.array([[-2.0, 1.0], [0.0, 3.0]])).tolist()
    [[-1.0, 0.0], [0.0, 1.0]]
    """
    Q, R = np.linalg.qr(L)
    return np.ascontiguousarray((Q * np.where(np.diagonal(R) < 0.0, -1.0, 1.0)).T) + 0.0


def _columns(X: Floats, k: int) -> Floats:
    """Flatten one tensor; a vector is one column."""
    return X[:, None] if X.ndim == 1 else flatten(X[None], k)[0]


def _folded(matrix: Floats, k: int, shape: tuple[int, ...]) -> Floats:
    return matrix.reshape(shape) if len(shape) == 1 else fold(matrix[None], k, shape)[0]
