"""Chunks of tensors in three forms: an array (n, N1, …, NL), sparse coordinates, and factors (CP)."""

import math
from collections.abc import Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.door import MOST_MODES, Rows
from thalweg.core.params import choice, shown, whole
from thalweg.core.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shape = tuple[int, ...]

LARGEST_DENSE = 10_000_000
"""Values of one tensor that may be written out as an array."""
LARGEST_ROWS = 1_000_000
"""Values of one sparse tensor that may be the features of a row."""
LARGEST_FULL = 200_000
"""Values of one tensor up to which a learner works on all of them, sparse or not (256 × 256 × 3 are fewer)."""


@final
class CPTensors:
    """Tensors as sums of outer products: Σ_q weights[q] · a_q^(1) ∘ … ∘ a_q^(L), all of one shape and one rank.

    Parameters
    ----------
    weights : object
        (n, r).
    factors : Sequence[Any]
        One array (n, N_k, r) for each mode k.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> tensors = CPTensors(np.ones((5, 2)), [rng.random((5, size, 2)) for size in (4, 3, 6)])
    >>> len(tensors), tensors.shape, tensors.rank, tensors[:2].dense().shape
    (5, (4, 3, 6), 2, (2, 4, 3, 6))
    """

    __slots__ = ("columns", "shape", "weights")

    weights: Floats
    columns: Floats
    """The columns of the factors, (n, L, r, N) for the longest mode N; shorter ones end in zeros."""
    shape: tuple[int, ...]

    def __init__(self, weights: Any, factors: Sequence[Any]) -> None:
        w = _real("weights", weights)
        parts = [_real(f"factors[{k}]", factor) for k, factor in enumerate(factors)]
        whole("the number of factors", len(parts), least=1, most=MOST_MODES)
        if w.ndim != 2 or w.shape[1] == 0:
            raise ValueError(f"weights must have the shape (tensors, rank), rank at least 1, got {w.shape}")
        for k, part in enumerate(parts):
            if part.ndim != 3 or part.shape[1] == 0 or (part.shape[0], part.shape[2]) != w.shape:
                rule = f"({w.shape[0]}, size of the mode, {w.shape[1]})"
                raise ValueError(f"factors[{k}] must have the shape {rule}, got {part.shape}")
        _finite("weights", w)
        self.shape = tuple(part.shape[1] for part in parts)
        columns = np.zeros((len(w), len(parts), w.shape[1], max(self.shape)))
        for k, part in enumerate(parts):
            _finite(f"factors[{k}]", part)
            columns[:, k, :, : part.shape[1]] = part.swapaxes(1, 2)
        self.weights, self.columns = w, columns

    @classmethod
    def one(cls, weights: Any, factors: Sequence[Any]) -> Self:
        """Make a chunk of a single tensor from weights (r) and factors (N_k, r).

        Examples
        --------
        >>> CPTensors.one([2.0], [[[1.0], [0.0]], [[0.0], [3.0]]]).dense()[0].tolist()
        [[0.0, 6.0], [0.0, 0.0]]
        """
        return cls(np.asarray(weights)[None], [np.asarray(factor)[None] for factor in factors])

    @classmethod
    def from_columns(cls, weights: Floats, columns: Floats, shape: tuple[int, ...]) -> Self:
        """Wrap arrays that are known to be right: weights (n, r), columns (n, L, r, N)."""
        made = cls.__new__(cls)
        made.weights, made.columns, made.shape = weights, columns, shape
        return made

    @property
    def order(self) -> int:
        """The number of modes."""
        return len(self.shape)

    @property
    def rank(self) -> int:
        """The number of outer products of each tensor."""
        return int(self.weights.shape[1])

    @property
    def factors(self) -> tuple[Floats, ...]:
        """One array (n, N_k, r) for each mode."""
        return tuple(self.columns[:, k, :, :size].swapaxes(1, 2) for k, size in enumerate(self.shape))

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: Any) -> Self:
        return self.from_columns(
            np.atleast_2d(self.weights[rows]), _with_rows(self.columns[rows], self.columns.ndim), self.shape
        )

    def as_rows(self) -> tuple[Floats, Schema]:
        """Write each tensor as a row: its weights, then for each mode and each product a vector.

        Examples
        --------
        >>> CPTensors.one([2.0], [[[1.0], [0.0]], [[0.0], [3.0]]]).as_rows()[0].tolist()
        [[2.0, 1.0, 0.0, 0.0, 3.0]]
        """
        vectors = [self.columns[:, k, :, :size].reshape(len(self), -1) for k, size in enumerate(self.shape)]
        return np.concatenate([self.weights, *vectors], axis=1), Schema.tensor(self.shape, rank=self.rank)

    @classmethod
    def from_rows(cls, rows: Floats, schema: Schema) -> Self:
        """Undo ``as_rows``."""
        shape, r = schema.shape or (), schema.rank or 1
        n, first = len(rows), r
        columns = np.zeros((n, len(shape), r, max(shape)))
        for k, size in enumerate(shape):
            columns[:, k, :, :size] = rows[:, first : first + r * size].reshape(n, r, size)
            first += r * size
        return cls.from_columns(np.ascontiguousarray(rows[:, :r]), columns, shape)

    def dense(self) -> Floats:
        """Write the tensors out as an array (n, N1, …, NL)."""
        _small(self.shape)
        grown = self.weights[:, None, :]
        for factor in self.factors:
            grown = (grown[:, :, None, :] * factor[:, None]).reshape(len(self), -1, self.rank)
        total = np.zeros(grown.shape[:2])
        for q in range(self.rank):  # in order, so that a tensor is the same in any chunk
            total += grown[:, :, q]
        return total.reshape(len(self), *self.shape)


@final
class SparseTensors:
    """Tensors of which few values are not 0, by their coordinates; values at the same coordinates are added up.

    Parameters
    ----------
    coords : object
        (m, L), those of the first tensor first.
    values : object
        (m).
    starts : object
        (n + 1), tensor i has the values from starts[i] to starts[i + 1].
    shape : Sequence[int]
        (N1, …, NL).

    Examples
    --------
    >>> tensors = SparseTensors([[0, 1], [2, 0], [1, 1]], [5.0, 6.0, 7.0], starts=[0, 2, 3], shape=(3, 2))
    >>> len(tensors), tensors[1:].dense()[0].tolist()
    (2, [[0.0, 0.0], [0.0, 7.0], [0.0, 0.0]])
    """

    __slots__ = ("coords", "shape", "starts", "values")

    def __init__(self, coords: Any, values: Any, *, starts: Any, shape: Sequence[int]) -> None:
        whole("the order of shape", len(shape), least=1, most=MOST_MODES)
        for size in shape:
            whole("each size in shape", size, least=1)
        v, at, ends = _real("values", values), np.asarray(coords), np.asarray(starts)
        if at.size == 0:
            at = np.zeros((0, len(shape)), dtype=np.int64)
        if v.ndim != 1 or at.shape != (len(v), len(shape)):
            raise ValueError(f"coords must have the shape ({v.size}, {len(shape)}), got {at.shape}")
        if at.dtype.kind not in "iu" or ends.dtype.kind not in "iu":
            raise TypeError(f"coords and starts must be whole numbers, got {at.dtype} and {ends.dtype}")
        steps_up = ends.ndim == 1 and len(ends) > 0 and bool((ends[:-1] <= ends[1:]).all())
        if not steps_up or ends[0] != 0 or ends[-1] != len(v):
            raise ValueError(f"starts must rise from 0 to {len(v)}, the number of values, got {shown(starts)}")
        wrong = np.argwhere((at < 0) | (at >= np.array(shape, dtype=np.int64)))
        if len(wrong):
            i, k = wrong[0]
            raise ValueError(f"coords[{i}, {k}] must lie in [0, {shape[k]}), got {at[i, k]}")
        _finite("values", v)
        self.coords, self.values = np.ascontiguousarray(at, dtype=np.int64), v
        self.starts, self.shape = np.ascontiguousarray(ends, dtype=np.int64), tuple(int(size) for size in shape)

    @classmethod
    def one(cls, coords: Any, values: Any, shape: Sequence[int]) -> Self:
        """Make a chunk of a single tensor.

        Examples
        --------
        >>> SparseTensors.one([[0, 1]], [5.0], (1, 2)).dense().tolist()
        [[[0.0, 5.0]]]
        """
        return cls(coords, values, starts=[0, len(values)], shape=shape)

    @classmethod
    def from_dense(cls, tensors: Any) -> Self:
        """Keep the values of an array (n, N1, …, NL) that are not 0.

        Examples
        --------
        >>> SparseTensors.from_dense(np.eye(3)[None]).values.tolist()
        [1.0, 1.0, 1.0]
        """
        X = dense_tensors(tensors)
        found = np.argwhere(X)
        starts = np.concatenate([[0], np.cumsum(np.bincount(found[:, 0], minlength=len(X)))])
        return cls(found[:, 1:], X[tuple(found.T)], starts=starts.astype(np.int64), shape=X.shape[1:])

    @property
    def order(self) -> int:
        """The number of modes."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, rows: Any) -> Self:
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        counts = np.diff(self.starts)[chosen]
        cells = [np.arange(self.starts[i], self.starts[i + 1]) for i in chosen]
        at = np.concatenate([np.zeros(0, dtype=np.int64), *cells])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return type(self)(self.coords[at], self.values[at], starts=starts, shape=self.shape)

    def as_rows(self) -> tuple[Any, Schema]:
        """Write each tensor as a sparse row of all its values, the last index running fastest.

        Examples
        --------
        >>> SparseTensors.one([[1, 1]], [5.0], (2, 2)).as_rows()[0].toarray().tolist()
        [[0.0, 0.0, 0.0, 5.0]]
        """
        from scipy.sparse import coo_array

        if math.prod(self.shape) > LARGEST_ROWS:
            rule = f"X must hold sparse tensors of at most {LARGEST_ROWS} values for a learner"
            raise ValueError(f"{rule}, got shape {self.shape}")
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        cells = np.ravel_multi_index(tuple(self.coords.T), self.shape)
        n, width = len(self), math.prod(self.shape)
        return coo_array((self.values, (owner, cells)), shape=(n, width)).tocsr(), Schema.tensor(self.shape)

    @classmethod
    def from_rows(cls, rows: Any, shape: tuple[int, ...]) -> Self:
        """Take the rows of a ``csr_array`` for tensors of this shape."""
        coords = np.stack(np.unravel_index(rows.indices, shape), axis=1)
        return cls(coords, rows.data, starts=rows.indptr, shape=shape)

    def dense(self) -> Floats:
        """Write the tensors out as an array (n, N1, …, NL)."""
        _small(self.shape)
        X = np.zeros((len(self), *self.shape))
        owner = np.repeat(np.arange(len(self)), np.diff(self.starts))
        np.add.at(X, (owner, *self.coords.T), self.values)
        return X


Tensors = Floats | CPTensors | SparseTensors
"""A chunk of tensors in any form."""


def form(tensors: Tensors) -> str:
    """Name the form of a chunk: "dense", "cp" or "sparse".

    >>> form(np.zeros((1, 2, 2)))
    'dense'
    """
    if isinstance(tensors, np.ndarray):
        return "dense"
    return "cp" if isinstance(tensors, CPTensors) else "sparse"


def shape_of(tensors: Tensors) -> tuple[int, ...]:
    """Give the shape of each tensor of a chunk.

    >>> shape_of(np.zeros((1, 2, 3)))
    (2, 3)
    """
    return tensors.shape[1:] if isinstance(tensors, np.ndarray) else tensors.shape


def tensors_in(X: Any, *, name: str = "X", missing: str = "reject", shape: tuple[int, ...] | None = None) -> Tensors:
    """Let a chunk of tensors in, or say in one sentence what is wrong with it.

    missing: "reject" NaN, or take it for "zero". shape: what each tensor must have.

    >>> tensors_in(np.zeros((2, 8, 9)), shape=(8, 8))
    Traceback (most recent call last):
    ValueError: X must hold tensors of shape (8, 8), got tensors of shape (8, 9)
    """
    choice("missing", missing, ("reject", "zero"))
    found = X if isinstance(X, (CPTensors, SparseTensors)) else dense_tensors(X, name=name, missing=missing)
    got = shape_of(found)
    if shape is not None and len(got) != len(shape):
        rule = f"{name} must hold tensors of order {len(shape)}, shape {shape}"
        raise ValueError(f"{rule}, got tensors of order {len(got)}, shape {got}")
    if shape is not None and got != shape:
        raise ValueError(f"{name} must hold tensors of shape {shape}, got tensors of shape {got}")
    return found


def dense_tensors(X: Any, *, name: str = "X", missing: str = "reject") -> Floats:
    """Let an array (n, N1, …, NL) of finite real numbers in.

    >>> dense_tensors([[[1, 2], [3, 4]]]).dtype
    dtype('float64')
    """
    A = _real(name, X)
    if not 2 <= A.ndim <= MOST_MODES + 1:
        raise ValueError(f"{name} must be an array of tensors, 1 + (1 to {MOST_MODES}) axes, got shape {A.shape}")
    if 0 in A.shape[1:]:
        raise ValueError(f"{name} must hold tensors without an empty mode, got tensors of shape {A.shape[1:]}")
    if missing == "zero" and np.isnan(A).any():
        A = np.where(np.isnan(A), 0.0, A)
    _finite(name, A)
    return A


def tensors_of_rows(rows: Rows, schema: Schema, shape: tuple[int, ...]) -> Tensors:
    """Take the rows that a learner gets for tensors of a shape: as factors where the schema has a rank, else as arrays;
    large ones stay sparse.

    >>> tensors_of_rows(np.arange(8.0).reshape(2, 4), Schema.numeric(4), (2, 2))[0].tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    if schema.rank is not None:
        return CPTensors.from_rows(rows if isinstance(rows, np.ndarray) else rows.toarray(), schema)
    if math.prod(shape) > LARGEST_FULL:
        return SparseTensors.from_rows(rows if not isinstance(rows, np.ndarray) else _csr(rows), shape)
    return (rows if isinstance(rows, np.ndarray) else rows.toarray()).reshape(rows.shape[0], *shape)


def _csr(rows: Floats) -> Any:
    from scipy.sparse import csr_array

    return csr_array(rows)


# -- checks -----------------------------------------------------------------------------------------------------------


def _real(name: str, values: Any) -> Floats:
    try:
        A = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must hold tensors of one shape, got {shown(values)}") from None
    if A.dtype.kind == "c":
        raise TypeError(f"{name} must hold real numbers, got {A.dtype}")
    if A.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got {A.dtype}: {shown(values)}")
    return np.asarray(A, dtype=np.float64, order="C")


def _finite(name: str, A: Floats) -> None:
    if not np.isfinite(A).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(A))[0])
        raise ValueError(f"{name} must be finite, got {A[at]} at {list(at)}")


def _small(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > LARGEST_DENSE:
        raise ValueError(f"a tensor written out must have at most {LARGEST_DENSE} values, got shape {shape}")


def _with_rows(A: Floats, ndim: int) -> Floats:
    return A if A.ndim == ndim else A[None]


def check_shape(shape: Any) -> Shape | None:
    """Let a parameter ``shape`` in: sizes, one of them -1 where it is what the width of a row leaves.

    >>> check_shape([8, -1])
    (8, -1)
    """
    if shape is None:
        return None
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else ()
    good = [n for n in sizes if isinstance(n, int) and not isinstance(n, bool) and (n >= 1 or n == -1)]
    if not sizes or len(good) < len(sizes) or sizes.count(-1) > 1:
        raise ValueError(f"shape must be None or sizes of at least 1, one of them may be -1, got {shown(shape)}")
    return sizes


def refuse_shape(name: str, shape: Any) -> None:
    """Refuse what is no parameter ``shape``."""
    check_shape(shape)
