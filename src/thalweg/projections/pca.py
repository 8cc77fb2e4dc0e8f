"""Incremental principal components."""

from typing import Any, ClassVar, final

import numpy as np

from thalweg.core import door
from thalweg.core.declared import check
from thalweg.core.fields import flag, number
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain
from thalweg.projections import pca_jit as jit
from thalweg.projections.projection import Columns, Floats, Ints, Projection, cells

_TABLES = ("vectors", "lengths", "mean", "count")


@final
class PCAProjection(Projection):
    """The first p principal components, which follow the rows that are learned.

    A row is projected by the components as they are before it is learned. What was projected earlier stays as it was.
    Nothing is drawn. Time for a row: proportional to p × columns.

    References
    ----------
    J. Weng, Y. Zhang, W.-S. Hwang, "Candid covariance-free incremental principal component analysis", 2003.

    Examples
    --------
    >>> rows = np.outer([1.0, -2.0, 3.0, -4.0], [0.6, 0.8])
    >>> PCAProjection(p=1, centre=False).learn(rows).transform([[3.0, 4.0]]).round(6).tolist()
    [[5.0]]
    """

    moves: ClassVar[bool] = True

    amnesia: float = number(
        default=0.0,
        doc="How much more the newest rows count (l): 0 all alike, up to 4 where the stream changes.",
        least=0,
        most=1_000_000,
    )
    centre: bool = flag(
        default=True, doc="Subtract the mean; rows of many thousand columns, few of which are not 0, may go without."
    )

    __slots__ = ("_tables",)

    def _prepare(self) -> None:
        super()._prepare()
        self._tables: State = {}

    @property
    def learned(self) -> int:
        """How many rows the components have followed.

        Examples
        --------
        >>> PCAProjection(p=1).learn([[1.0, 2.0], [2.0, 1.0]]).learned
        2
        """
        return int(self._tables["count"][0]) if self._tables else 0

    def learn(self, X: Any) -> "PCAProjection":
        """Let the components follow these rows."""
        rows, schema = door.rows(X, self._schema, missing=True, learning=True, sparse=True)
        if schema is not self._schema:
            self.begin(schema)
        n = rows.shape[0]
        self.follow(rows, ~np.arange(n), np.zeros((n, self.dimension)))
        return self

    def project(self, X: Any, rows: Ints, out: Floats) -> None:
        """Write the projections of the chosen rows of X."""
        self.follow(X, rows, out)

    def follow(self, X: Any, events: Ints, out: Floats) -> None:
        """Project the row of each event: e ≥ 0 row e, ~e row e, which is then learned."""
        columns, dense = self._columns, isinstance(X, np.ndarray)
        none = np.zeros(0, dtype=np.int64)
        sparse = jit.Cells(none, none, np.zeros(0)) if dense else jit.Cells(*cells(X))
        components = jit.Components(*(self._tables[name] for name in _TABLES))
        jit.follow(
            plain(components), float(self.amnesia), self.centre, bool(columns.widths.any()),
            np.zeros((2, len(components.mean))), columns.first, columns.widths, X if dense else np.zeros((0, 0)),
            plain(sparse), events, out,
        )  # fmt: skip

    def _draw(self, schema: Schema, columns: Columns) -> None:
        D, p = -(-len(columns.keys) // 8) * 8, self.dimension
        tables = {
            "vectors": np.zeros((p, D)), "lengths": np.zeros(p), "mean": np.zeros(D), "count": np.zeros(1, np.int64),
        }  # fmt: skip
        if self._tables:
            at, old = np.searchsorted(columns.keys, self._columns.keys), self._tables
            tables |= {"lengths": old["lengths"], "count": old["count"]}
            tables["vectors"][:, at], tables["mean"][at] = old["vectors"][:, : len(at)], old["mean"][: len(at)]
        self._tables = tables

    @property
    def nbytes(self) -> int:
        """Bytes of the components."""
        return sum(table.nbytes for table in self._tables.values())

    def tables(self) -> State:
        """Give the components, not copied."""
        return self._tables

    def adopt(self, tables: State, schema: Schema) -> None:
        """Continue from what ``tables`` gave."""
        self.begin(schema)
        own = {name: tables[name] for name in _TABLES}
        p, D = self._tables["vectors"].shape
        check(jit.Components, own | {"learned": own["count"]}, p=p, D=D)
        if (np.sqrt((own["vectors"] ** 2).sum(axis=1)) > 1.001 * own["lengths"] + 1e-150).any():
            raise ValueError("its table 'lengths' must hold the lengths of its components")
        self._tables = own
