"""Random projections: each output is a random mixture of all columns, or of a few."""

import math
from typing import Annotated, NamedTuple, final

import numpy as np

from thalweg.core.declared import check, table
from thalweg.core.fields import flag, number
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.projections import matrix_jit as jit
from thalweg.projections.projection import Columns, Floats, Linear


@final
class GaussianProjection(Linear):
    """Every entry of the matrix is drawn from N(0, 1/p): squared distances are kept on average, ± √(2/p) each.

    References
    ----------
    S. Dasgupta, A. Gupta, "An elementary proof of a theorem of Johnson and Lindenstrauss", 2003.

    Examples
    --------
    >>> GaussianProjection(epsilon=0.5).dimension, GaussianProjection().dimension
    (332, 40)
    """

    __slots__ = ()

    def _draw(self, schema: Schema, columns: Columns) -> None:
        self._matrix = np.empty((len(columns.keys), self.dimension))
        jit.draw_gaussian(self._key, columns.keys, 1.0 / math.sqrt(self.dimension), self._matrix)


@final
class BernoulliProjection(Linear):
    """Every entry of the matrix is +1/√p or -1/√p: as good as the Gaussian one.

    References
    ----------
    D. Achlioptas, "Database-friendly random projections", 2003.

    Examples
    --------
    >>> sorted(set((BernoulliProjection(p=4).transform(np.eye(9)) * 2.0).ravel().tolist()))
    [-1.0, 1.0]
    """

    __slots__ = ()

    def _draw(self, schema: Schema, columns: Columns) -> None:
        self._matrix = np.empty((len(columns.keys), self.dimension))
        jit.draw_signs(self._key, columns.keys, 1.0 / math.sqrt(self.dimension), self._matrix)


class Drawn(NamedTuple):
    """The state of a projection that is drawn by chance."""

    density: Annotated[Floats, table(1, least=0, most=1)]
    """1: the share of the entries that are not 0, as it followed from the first rows."""


@final
class VerySparseProjection(Linear):
    """Most entries of the matrix are 0, so that a row costs little; the others are ± 1/√(p · density).

    References
    ----------
    P. Li, T. Hastie, K. Church, "Very sparse random projections", KDD 2006.

    Examples
    --------
    >>> projected = VerySparseProjection(density=0.1).transform(np.eye(1000))
    >>> bool(0.08 < (projected != 0.0).mean() < 0.12)
    True
    """

    density: float | None = number(
        default=None,
        doc="Share of the entries that are not 0. None: 1/√columns (Li), as many as there are at the first row; 1/3 is "
        "Achlioptas's. The fewer, the more a distance that lies in few columns may change.",
        above=0,
        most=1,
    )

    __slots__ = ("_share",)

    def _prepare(self) -> None:
        super()._prepare()
        self._share = 0.0 if self.density is None else float(self.density)

    def _draw(self, schema: Schema, columns: Columns) -> None:
        n = len(columns.keys)
        self._share = self._share or 1.0 / math.sqrt(n)
        scale = 1.0 / math.sqrt(self.dimension * self._share)
        starts, room = np.empty(n + 1, dtype=np.int64), 0
        while True:
            targets, values = np.empty(room, dtype=np.int64), np.empty(room)
            need = jit.draw_few(self._key, columns.keys, self.dimension, self._share, scale, starts, targets, values)
            if need <= room:
                break
            room = need
        self._starts, self._targets, self._values = starts, targets, values

    def tables(self) -> State:
        """Give the density, which follows from the first rows."""
        return {"density": np.array([self._share])}

    def adopt(self, tables: State, schema: Schema) -> None:
        """Continue from what ``tables`` gave."""
        check(Drawn, tables)
        share = float(tables["density"][0])
        if share != self.density and (
            self.density is not None or share < 1.0 / math.sqrt(len(Columns.of(schema).keys))
        ):
            raise ValueError(f"its table 'density' must hold the density of this projection, and holds {share}")
        self._share = share
        self.begin(schema)


@final
class HashProjection(Linear):
    """The hashing trick: each column is added to, or taken from, one output. The cheapest, and works for any width.

    References
    ----------
    K. Weinberger et al., "Feature hashing for large scale multitask learning", ICML 2009.

    Examples
    --------
    >>> HashProjection(p=2, seed=3).transform([[5.0, 0.0], [0.0, 7.0]]).tolist()
    [[0.0, -5.0], [-7.0, 0.0]]
    """

    binary: bool = flag(
        default=False,
        doc="A value other than 0 counts 1, and one hash gives output and sign, as MOA's filter does: rows without "
        "zeros then all look alike.",
    )

    __slots__ = ()

    def _draw(self, schema: Schema, columns: Columns) -> None:
        n = len(columns.keys)
        self._starts, self._targets, self._values = np.arange(n + 1), np.empty(n, dtype=np.int64), np.empty(n)
        jit.draw_hashes(self._key, columns.keys, self.dimension, self.binary, self._targets, self._values)

    @property
    def ones(self) -> bool:
        """Does any value but 0 count 1?"""
        return self.binary


@final
class FourierProjection(Linear):
    """Some frequencies of each row, its features taken as a signal: p/2 of them, cosine and sine.

    The order of the features matters, and there must be more than p + 1 of them; none can join later.

    Examples
    --------
    >>> bool((abs(FourierProjection(p=4).transform(np.ones((1, 20)))) < 1e-9).all())  # a constant has no frequency
    True
    """

    __slots__ = ()

    def _draw(self, schema: Schema, columns: Columns) -> None:
        n, p = len(columns.keys), self.dimension
        if self._schema is not None:
            raise ValueError(f"a Fourier projection is made for {self._schema.n_features} features: none can join")
        if p >= n - 1:
            raise ValueError(
                f"p must be less than the number of columns - 1 for a Fourier projection, got {shown(p)} of {n}"
            )
        rng = np.random.default_rng(self.seed)
        frequencies = 1 + np.sort(rng.choice((n + 1) // 2 - 1, (p + 1) // 2, replace=False))
        angles = 2.0 * np.pi * (np.outer(np.arange(n), frequencies) % n) / n
        matrix = np.empty((n, p))
        matrix[:, ::2], matrix[:, 1::2] = np.cos(angles), -np.sin(angles)[:, : p // 2]
        self._matrix = np.ascontiguousarray(matrix * math.sqrt(2.0 / p))
