"""Rare nominal values as one."""

from typing import final

import numpy as np
from msgspec import structs

from thalweg.core.declared import check
from thalweg.core.fields import number
from thalweg.core.protocols import State
from thalweg.core.schema import Feature
from thalweg.prepare import rare_groups_jit as jit
from thalweg.prepare.columns import Plan
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer

OTHER = "(other)"


@final
class RareGroups(Transformer):
    """Put the values of a nominal column that have been rare so far together in one, "(other)".

    A value counts for itself while the rows before have it often enough: ``least`` times, and in ``share`` of them.
    What was never learned is "(other)", too; missing values stay missing.

    Examples
    --------
    >>> groups = RareGroups(least=2)
    >>> for hue in ("red", "blue", "red"):
    ...     _ = groups.learn_one({"hue": hue})
    >>> groups.schema_out.features[0].values
    ('(other)', 'red', 'blue')
    >>> groups.transform_one({"hue": "red"}), groups.transform_one({"hue": "blue"})
    ({'hue': 1.0}, {'hue': 0.0})
    """

    kind = "nominal"

    least: float = number(default=10, doc="Rows, by weight, that a value must have had.", least=0, most=1e15)
    share: float = number(default=0.0, doc="Share of the rows so far that it must have had.", least=0, below=1)

    __slots__ = ("_counts",)

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        name, values = OTHER, feature.values or ()
        while name in values:
            name += "'"
        return (structs.replace(feature, values=(name, *values)),)

    @staticmethod
    def _values(plan: Plan) -> int:
        return max((plan.schema.features[f].cardinality for f in plan.columns), default=0)

    def _start(self, plan: Plan) -> None:
        self._counts = np.zeros((len(plan.columns), self._values(plan) + 1))

    def _extend(self, plan: Plan) -> None:
        c, v = self._counts.shape
        self._counts = np.pad(self._counts, ((0, len(plan.columns) - c), (0, self._values(plan) + 1 - v)))

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        jit.group(self._counts, plan.columns, float(self.least), float(self.share), X, w, learned, out)

    def _tables(self) -> State:
        return {"counts": self._counts}

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Counts, tables, c=len(plan.columns), v=self._values(plan) + 1)
        self._counts = tables["counts"]
