"""A scaler that outliers do not impress."""

from typing import final

import numpy as np

from thalweg.core.declared import check, fresh
from thalweg.core.protocols import State
from thalweg.jit.compile import plain
from thalweg.prepare import robust_jit as jit
from thalweg.prepare.columns import Plan
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer


@final
class RobustScaler(Transformer):
    """Subtract the running median of each column, and divide by the distance between its quartiles.

    The quartiles are those of the rows before, all alike, whatever their weights. They are exact up to 255 rows. Then
    they come from a sketch of fixed size, 66 kB a column: the rank of what it gives for the median, or for a quartile,
    has a standard error below 0.6 % of the rows, however many there are, and the last 3 % of the rows may not be in it
    yet. Where the quartiles are equal, only the median is subtracted; before the first value the result is 0. Missing
    values stay missing, nominal columns stay as they are.

    Examples
    --------
    >>> scaler = RobustScaler().partial_fit([[1.0], [2.0], [3.0], [4.0], [1e9]])
    >>> scaler.transform([[3.0], [5.0]]).tolist()
    [[0.0], [1.0]]
    """

    __slots__ = ("_sketch",)

    def _start(self, plan: Plan) -> None:
        self._sketch = jit.Sketch(**fresh(jit.Sketch, c=len(plan.columns)))

    def _extend(self, plan: Plan) -> None:
        more = len(plan.columns) - len(self._sketch.counts)
        if more:
            wider = fresh(jit.Sketch, c=more)
            self._sketch = jit.Sketch(**{n: np.concatenate([t, wider[n]]) for n, t in self._tables().items()})

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        jit.scale(plain(self._sketch), plan.columns, X, learned, out)

    def _tables(self) -> State:
        return self._sketch._asdict()

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Sketch, tables, c=len(plan.columns))
        self._sketch = jit.Sketch(**{name: tables[name] for name in jit.Sketch._fields})
