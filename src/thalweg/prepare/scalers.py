"""Scalers: columns of numbers on one scale."""

from typing import Any, final

import numpy as np

from thalweg.core.declared import check
from thalweg.core.door import Rows
from thalweg.core.fields import flag, number
from thalweg.core.protocols import State
from thalweg.prepare import scaling_jit as jit
from thalweg.prepare.columns import Plan
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer


@final
class StandardScaler(Transformer):
    """Subtract the running mean of each column, and divide by its running standard deviation.

    Mean and deviation are those of the rows before; where there is no deviation yet, the result is 0. Missing values
    stay missing, nominal columns stay as they are. Sparse rows are only divided, which needs ``centre=False`` and
    ``decay=1``.

    Examples
    --------
    >>> scaler = StandardScaler().partial_fit([[1.0], [3.0]])
    >>> scaler.transform([[2.0], [4.0]]).tolist()
    [[0.0], [2.0]]
    """

    decay: float = number(
        default=1.0,
        doc="What is left of the weight of older rows with each new one: 1 counts all rows alike, 0.999 about the last "
        "thousand.",
        above=0,
        most=1,
    )
    centre: bool = flag(default=True, doc="Subtract the mean?")

    __slots__ = ("_spread",)

    def _prepare(self) -> None:
        self.sparse = not self.centre and self.decay == 1

    def _start(self, plan: Plan) -> None:
        self._spread = jit.Spread(np.zeros((4, plan.schema.n_features)), np.zeros(1))

    def _extend(self, plan: Plan) -> None:
        stats, total = self._spread
        known = stats.shape[1]
        stats = np.pad(stats, ((0, 0), (0, plan.schema.n_features - known)))
        stats[jit.UP_TO, plan.columns[plan.columns >= known]] = total[0]  # what joins now was missing before
        self._spread = jit.Spread(stats, total)

    def _follow(self, plan: Plan, X: Rows, y: Ints, w: Floats, learned: Bools, out: Floats) -> Any:
        stats, total = self._spread
        if isinstance(X, np.ndarray):
            jit.scale(stats, total, plan.columns, float(self.decay), self.centre, X, w, learned, out)
            return out
        scaled, chosen = X.copy(), np.zeros(X.shape[1], dtype=np.bool_)
        chosen[plan.columns] = True
        jit.scale_sparse(stats, total, chosen, X.indptr, X.indices, X.data, w, learned, scaled.data)
        return scaled

    def _tables(self) -> State:
        return self._spread._asdict()

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Spread, tables, d=plan.schema.n_features)
        self._spread = jit.Spread(tables["stats"], tables["total"])


@final
class MinMaxScaler(Transformer):
    """Map the running range of each column to 0 … 1.

    The range is that of the rows before: a row beyond it falls outside of 0 … 1, unless ``clip``. Before there is a
    range the result is 0. Missing values stay missing, nominal columns stay as they are.

    Examples
    --------
    >>> MinMaxScaler().partial_fit([[10.0], [20.0]]).transform([[15.0], [30.0]]).tolist()
    [[0.5], [2.0]]
    """

    clip: bool = flag(default=False, doc="Cut what falls outside of 0 … 1?")

    __slots__ = ("_range",)

    def _start(self, plan: Plan) -> None:
        self._range = _no_range(plan.schema.n_features)

    def _extend(self, plan: Plan) -> None:
        wide = _no_range(plan.schema.n_features)
        wide[:, : self._range.shape[1]] = self._range
        self._range = wide

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        jit.stretch(self._range, plan.columns, self.clip, X, learned, out)

    def _tables(self) -> State:
        return {"range": self._range}

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Range, tables, d=plan.schema.n_features)
        found = tables["range"]
        if not ((np.abs(found) <= jit.FAR) | (found == _no_range(1))).all():
            raise ValueError("its table 'range' must hold numbers that a column can have")
        self._range = found


def _no_range(d: int) -> Floats:
    return np.repeat([[np.inf], [-np.inf]], d, axis=1)
