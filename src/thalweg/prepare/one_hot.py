"""Nominal columns as numbers: a column for each value."""

from typing import final

import numpy as np

from thalweg.core.declared import check
from thalweg.core.fields import whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature
from thalweg.prepare import one_hot_jit as jit
from thalweg.prepare.columns import Plan
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer


@final
class OneHot(Transformer):
    """Replace each nominal column by columns of 0 and 1, one for each of its first values and one for all others.

    The first values are those that were declared or that appeared first; more never get a column, so the number of
    columns is fixed. A value that has not been learned yet is "other", too. A missing value is 0 everywhere.

    Examples
    --------
    >>> encoder = OneHot(max_values=2).learn_one({"hue": "red"}).learn_one({"hue": "blue"})
    >>> encoder.transform_one({"hue": "blue"})
    {'hue[0]': 0.0, 'hue[1]': 1.0, 'hue[other]': 0.0}
    >>> encoder.transform_one({"hue": "green"})
    {'hue[0]': 0.0, 'hue[1]': 0.0, 'hue[other]': 1.0}
    """

    kind = "nominal"

    max_values: int = whole(default=16, doc="Values of a column that get a column each.", least=1, most=100_000)

    __slots__ = ("_known",)

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        slots = [*map(str, range(self.max_values)), "other"]
        return tuple(Feature(f"{feature.name}[{slot}]") for slot in slots)

    def _start(self, plan: Plan) -> None:
        self._known = np.zeros((len(plan.columns), self.max_values), dtype=np.int64)

    def _extend(self, plan: Plan) -> None:
        self._known = np.pad(self._known, ((0, len(plan.columns) - len(self._known)), (0, 0)))

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        jit.encode(self._known, plan.columns, plan.places, X, learned, out)

    def _tables(self) -> State:
        return {"known": self._known}

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Known, tables, c=len(plan.columns), slots=int(self.max_values))
        self._known = tables["known"]
