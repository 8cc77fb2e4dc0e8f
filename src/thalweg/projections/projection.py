"""What all projections share: rows of many columns in, rows of few columns out, distances about the same."""

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.fields import Parametrised, number, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.projections import matrix_jit as jit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIMENSION = 40
"""p where neither p nor epsilon is given."""
_MOST_PAIRS = 5_000
_VALUES = 20  # bits of a column's key for the value of a nominal feature


class Distortion(NamedTuple):
    """What a projection did to squared distances: r = after / before, over pairs of rows.

    Examples
    --------
    >>> from thalweg import GaussianProjection
    >>> GaussianProjection(p=100).distortion([[1.0, 0.0], [0.0, 1.0]]).pairs
    1
    """

    pairs: int
    """How many pairs of rows were compared."""
    mean: float
    """Of r; NaN where there was no pair of different rows."""
    spread: float
    """Standard deviation of r."""
    worst: float
    """The greatest |r - 1|: each distance was kept within this."""


class Columns(NamedTuple):
    """Where the features of a record lie among the columns that are projected; see matrix_jit.py."""

    first: Ints
    widths: Ints
    keys: NDArray[np.uint64]

    @classmethod
    def of(cls, schema: Schema) -> "Columns":
        """Lay out a column for each number and one for each value of a nominal feature.

        >>> from thalweg import Feature
        >>> Columns.of(Schema((Feature("size"), Feature("hue", values=("red", "blue"))))).first.tolist()
        [0, 1]
        """
        widths = np.array([max(1, f.cardinality) if f.nominal else 0 for f in schema.features], dtype=np.int64)
        taken = np.maximum(widths, 1)
        first = np.cumsum(taken) - taken
        feature = np.repeat(np.arange(len(taken)), taken)
        value = np.arange(len(feature)) - first[feature] + (widths[feature] > 0)
        return cls(first, widths, ((feature << _VALUES) + value).astype(np.uint64))


def least_dimension(points: int, epsilon: float) -> int:
    """Give a p that keeps all squared distances between so many points within 1 ± epsilon, most likely.

    Parameters
    ----------
    points : int
        Number of points whose distances are to be kept.
    epsilon : float
        Largest relative change of a squared distance.

    References
    ----------
    W. B. Johnson, J. Lindenstrauss 1984; the constant of S. Dasgupta, A. Gupta, 2003.

    Examples
    --------
    >>> least_dimension(1000, 0.5)
    332
    """
    params.whole("points", points, least=1)
    params.number("epsilon", epsilon, above=0, below=1)
    return max(1, math.ceil(4.0 * math.log(points) / (epsilon**2 / 2.0 - epsilon**3 / 3.0)))


class Projection(Parametrised, ABC):
    """Rows of many columns become rows of p columns.

    Numbers are a column each, the values of a nominal feature too; a missing value adds nothing. The first rows, or a
    learner that uses the projection, fix the features.
    """

    moves: ClassVar[bool] = False
    """Does it change with the rows that are learned?"""

    p: int | None = whole(
        default=None, doc="Columns that come out; None: 40, or as epsilon says.", least=1, most=1_000_000
    )
    epsilon: float | None = number(
        default=None,
        doc="In place of p, the share by which a squared distance between any two of ``points`` rows may change; p "
        "follows from it.",
        above=0,
        below=1,
    )
    points: int = whole(default=1000, doc="Rows that epsilon is for.", least=2)
    seed: int = whole(default=1, doc="Random seed of the matrix.", least=0)

    __slots__ = ("_columns", "_schema")

    def _prepare(self) -> None:
        if self.p is not None and self.epsilon is not None:
            raise ValueError(f"epsilon must be None where p is given, got {shown(self.epsilon)}")
        self._schema: Schema | None = None

    @property
    def dimension(self) -> int:
        """Columns that come out: p, or what epsilon asks for, or 40."""
        if self.p is not None:
            return int(self.p)
        return DIMENSION if self.epsilon is None else least_dimension(self.points, self.epsilon)

    def transform(self, X: Any) -> Floats:
        """Project rows: an array, a frame, or a sparse matrix of SciPy's. Changes nothing but fixes the features.

        Examples
        --------
        >>> from thalweg import GaussianProjection
        >>> GaussianProjection(p=3).transform([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]).shape
        (3, 3)
        """
        rows, schema = door.rows(X, self._schema, missing=True, learning=self._schema is None, sparse=True)
        if self._schema is None:
            self.begin(schema)
        out = np.zeros((rows.shape[0], self.dimension))
        self.project(rows, np.arange(len(out)), out)
        return out

    def distortion(self, X: Any) -> Distortion:
        """Measure what the projection does to the distances between these rows (5,000 pairs of them at most).

        Examples
        --------
        >>> import numpy as np
        >>> from thalweg import GaussianProjection
        >>> rows = np.random.default_rng(1).normal(size=(100, 500))
        >>> found = GaussianProjection(p=200).distortion(rows)
        >>> abs(found.mean - 1.0) < 0.05, found.worst < 0.5
        (True, True)
        """
        rows, _ = door.rows(X, self._schema, missing=True, learning=self._schema is None, sparse=True)
        n = rows.shape[0]
        if n < 2:
            raise ValueError(f"X must have two rows or more, got {n}")
        left, right = np.triu_indices(n, 1) if n * (n - 1) <= 2 * _MOST_PAIRS else _some_pairs(n, self.seed)
        after = self.transform(X)
        before = self.gaps(rows, left, right, np.zeros(rows.shape[1]))
        return summed_up(before, ((after[left] - after[right]) ** 2).sum(axis=1))

    # -- for learners -------------------------------------------------------------------------------------------------

    def begin(self, schema: Schema) -> None:
        """Take the features: all, or more than before."""
        columns = Columns.of(schema)
        self._draw(schema, columns)
        self._schema, self._columns = schema, columns

    @abstractmethod
    def _draw(self, schema: Schema, columns: Columns) -> None:
        """Make what the product needs."""

    @abstractmethod
    def project(self, X: Any, rows: Ints, out: Floats) -> None:
        """Write the projections of the chosen rows of X (dense or sparse) to ``out``, which comes filled with zeros."""

    def gaps(self, X: Any, rows: Ints, others: Ints, last: Floats) -> Floats:
        """Give the squared distance of each of the rows, as they are, from its other; -1 stands for ``last``."""
        out = np.empty(len(rows))
        if isinstance(X, np.ndarray):
            jit.gaps(self._columns.widths, X, rows, others, last, out)
        else:
            at = np.flatnonzero(last)
            jit.gaps_sparse(*cells(X), rows, others, at, last[at], out)
        return out

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of what the product needs."""

    def tables(self) -> State:
        """Give what does not follow from parameters and features, not copied."""
        return {}

    def adopt(self, tables: State, schema: Schema) -> None:
        """Continue, with these features, from what ``tables`` gave."""
        self.begin(schema)


class Linear(Projection):
    """A projection by a matrix that is drawn once."""

    __slots__ = ("_matrix", "_starts", "_targets", "_values")

    def _prepare(self) -> None:
        super()._prepare()
        self._matrix = np.zeros((0, 0))
        self._starts, self._targets, self._values = np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0)

    @property
    def _key(self) -> np.uint64:
        return np.uint64(np.random.SeedSequence(self.seed).generate_state(1, np.uint64)[0])

    @property
    def ones(self) -> bool:
        """Does any value but 0 count 1?"""
        return False

    @property
    def kept(self) -> tuple[Floats, Ints, Ints, Floats]:
        """The matrix as compiled code takes it: see matrix_jit.py."""
        return self._matrix, self._starts, self._targets, self._values

    @property
    def columns(self) -> Columns:
        """Where the features lie."""
        return self._columns

    def project(self, X: Any, rows: Ints, out: Floats) -> None:
        """Write the projections of the chosen rows of X."""
        if isinstance(X, np.ndarray):
            columns = self._columns
            jit.project(*self.kept, columns.first, columns.widths, self.ones, not columns.widths.any(), X, rows, out)
        else:
            jit.project_sparse(*self.kept, self.ones, *cells(X), rows, out)

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix."""
        return self._matrix.nbytes + self._starts.nbytes + self._targets.nbytes + self._values.nbytes


def cells(X: "csr_array") -> tuple[Ints, Ints, Floats]:
    """Give the tables of sparse rows as the compiled code wants them."""
    return np.asarray(X.indptr, dtype=np.int64), np.asarray(X.indices, dtype=np.int64), X.data


def one_row(X: Any, r: int) -> Floats:
    """Give row r of dense or sparse rows as a dense one of its own."""
    return np.array(X[r]) if isinstance(X, np.ndarray) else X[[r]].toarray()[0]


def summed_up(before: Floats, after: Floats) -> Distortion:
    """Sum up what became of squared distances; pairs of equal rows do not count.

    >>> summed_up(np.array([1.0, 2.0, 0.0]), np.array([1.5, 1.0, 0.0]))
    Distortion(pairs=2, mean=1.0, spread=0.5, worst=0.5)
    """
    there = before > 0.0
    r = after[there] / before[there]
    if not len(r):
        return Distortion(0, math.nan, math.nan, math.nan)
    return Distortion(len(r), float(r.mean()), float(r.std()), float(np.abs(r - 1.0).max()))


def _some_pairs(n: int, seed: int) -> tuple[Ints, Ints]:
    """Draw pairs of different rows."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, _MOST_PAIRS)
    return left, (left + rng.integers(1, n, _MOST_PAIRS)) % n
