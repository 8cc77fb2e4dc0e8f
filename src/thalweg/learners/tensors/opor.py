"""Online principal components of tensors written out as vectors, by projected gradient descent."""

import math
from typing import Annotated, NamedTuple, final

import numpy as np

from thalweg.core import fields
from thalweg.core.declared import check, span, table
from thalweg.core.protocols import State
from thalweg.learners.tensors import maps_jit as jit
from thalweg.learners.tensors.buffer import MANY
from thalweg.learners.tensors.maps import FittedMap, Vectors, vectors_from, vectors_of
from thalweg.tensors.forms import LARGEST_DENSE, Floats, Ints, Tensors


class Directions(NamedTuple):
    """M, as one number for most directions and a small matrix for m others, and the directions in use."""

    rows: Annotated[Floats, table("m", "n")]
    """m × n: the m directions."""
    small: Annotated[Floats, table("m", "m")]
    """m × m: M along them."""
    basis: Annotated[Floats, table("k", "n")]
    """k × n: the directions of the features."""
    bulk: Annotated[Floats, table(1, least=0, most=1)]
    """1: the eigenvalue of all other directions."""


class Counts(NamedTuple):
    """What has been counted."""

    counts: Annotated[Ints, table(2, cells={0: span(0, MANY), 1: span(0, LARGEST_DENSE)})]
    """2: tensors learned; the rank of the vectors, 0 where the tensors are not CP tensors."""


@final
class OPORMap(FittedMap):
    """The k principal directions of the vectors so far, by online gradient descent; features: a vector along them.

    A matrix M with eigenvalues in [0, 1] and trace k stands for the directions. With every vector x of length 1 it
    becomes M + eta x xᵀ, and its eigenvalues are shifted and clipped back, eta = sqrt(k (n - k) / (n t)). M is kept as
    one number for most directions and a small matrix for at most 3k others. The
    largest entry of each direction is positive.

    CP tensors have no vector of values: the entries of their factors stand for it, heaviest columns first.

    J. Nie, W. Kotlowski, M. Warmuth, "Online PCA with optimal regret", 2016.

    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(60, 1, 1)) * np.eye(4) + 0.01 * rng.normal(size=(60, 4, 4))
    >>> OPORMap(k=1).fit(X).transform(np.eye(4)[None]).round(1).tolist()
    [[2.0]]
    """

    k: int = fields.whole(default=20, doc="Directions; at most half of the values of a tensor.", least=1)
    refresh: int = fields.whole(default=50, doc="Tensors after which the features follow M.", least=1)

    def _prepare(self) -> None:
        super()._prepare()
        self._vectors, self._count, self._bulk = Vectors((), 0), 0, 0.0
        self._rows = self._small = self._basis = np.zeros((0, 0))

    def _begin(self, X: Tensors) -> None:
        self._vectors, self._count = vectors_of(X), 0
        n, k = self._vectors.size, self._width
        self._bulk, self._rows, self._small = k / n, np.zeros((0, n)), np.zeros((0, 0))
        self._basis = np.zeros((k, n))
        for i in range(len(X)):
            self._follow(X, i)
        self._look()

    @property
    def _width(self) -> int:
        return min(self.k, max(1, self._vectors.size // 2))

    @property
    def names(self) -> tuple[str, ...]:
        """The directions, that of the greatest eigenvalue first."""
        return tuple(f"direction {c}" for c in range(len(self._basis)))

    def _features(self, X: Tensors, i: int) -> Floats:
        out = np.empty(len(self._basis))
        jit.along_rows(self._basis, np.ascontiguousarray(self._vectors.of(X, i)), out)
        return out

    def _follow(self, X: Tensors, i: int) -> None:
        self._count += 1
        x = self._vectors.of(X, i)
        x = x / (np.abs(x).max() or 1.0)
        length = math.sqrt(float((x * x).sum()))
        if length > 0.0:
            self._step(x / length)
        if self._count % self.refresh == 0:
            self._look()

    def _step(self, x: Floats) -> None:
        """M + eta x xᵀ, brought back to eigenvalues in [0, 1] that add up to k."""
        n, k, m = len(x), self._width, len(self._rows)
        along = np.empty(m)
        length = jit.split_off(self._rows, x, along)  # x is now the rest
        if length > 1e-10 and m < n:
            self._rows = np.concatenate([self._rows, x[None] / length])
            along = np.append(along, length)
            grown = np.diag(np.full(m + 1, self._bulk))
            grown[:m, :m] = self._small
            self._small, m = grown, m + 1
        eta = math.sqrt(k * (n - k) / (n * self._count))
        values, V = np.linalg.eigh(self._small + eta * np.outer(along, along))
        shift = jit.common_shift(values, self._bulk, float(n - m), float(k))
        values = np.clip(values - shift, 0.0, 1.0)
        self._bulk = min(max(self._bulk - shift, 0.0), 1.0)
        if m < 3 * k:
            self._small = (V * values) @ V.T
            return
        kept = 2 * k  # the others join the bulk, which takes up their eigenvalues
        self._bulk = (self._bulk * (n - m) + float(values[:-kept].sum())) / (n - kept)
        self._rows, self._small = _mixed(V[:, -kept:], self._rows), np.diag(values[-kept:])

    def _look(self) -> None:
        """Take the directions of the greatest eigenvalues for the features; none yet: zeros."""
        V = np.linalg.eigh(self._small)[1]
        top = _mixed(V[:, ::-1][:, : len(self._basis)], self._rows)
        self._basis[: len(top)] = positive(top)
        self._basis[len(top) :] = 0.0

    def _tables(self) -> State:
        return {
            "rows": self._rows,
            "small": self._small,
            "basis": self._basis,
            "bulk": np.array([self._bulk]),
            "counts": np.array([self._count, self._vectors.rank], dtype=np.int64),
        }

    def _adopt(self, tables: State) -> None:
        check(Counts, tables)
        count, rank = tables["counts"].tolist()
        self._count, self._vectors = count, vectors_from(rank, self._form, self._shape)
        n, k = self._vectors.size, self._width
        check(Directions, tables, n=n, k=k, most={"m": min(n, 3 * k)})
        self._rows, self._small, self._basis = tables["rows"], tables["small"], tables["basis"]
        self._bulk = float(tables["bulk"][0])


def positive(rows: Floats) -> Floats:
    """Give each row the sign that makes its largest entry positive.

    >>> positive(np.array([[1.0, -2.0], [0.0, 3.0]])).tolist()
    [[-1.0, 2.0], [0.0, 3.0]]
    """
    largest = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)] if rows.size else np.zeros(len(rows))
    return rows * np.where(largest < 0.0, -1.0, 1.0)[:, None]


def _mixed(V: Floats, rows: Floats) -> Floats:
    """Give Vᵀ · rows."""
    out = np.zeros((V.shape[1], rows.shape[1]))
    jit.mix_rows(np.ascontiguousarray(V.T), rows, out)
    return out
