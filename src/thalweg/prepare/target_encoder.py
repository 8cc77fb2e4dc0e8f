"""Nominal columns as numbers: what the labels before say about a value."""

from typing import final

import numpy as np

from thalweg.core.declared import check
from thalweg.core.fields import number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature
from thalweg.prepare import target_jit as jit
from thalweg.prepare.columns import Plan
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer


@final
class TargetEncoder(Transformer):
    """Replace each nominal column by the share of each class, but the first, among the rows before with the same value.

    The share is drawn towards that of all rows, the more the fewer rows there are. A missing value, or one that was
    never learned, gets the share of all rows. Labels of the row itself and of later ones have no say.

    Examples
    --------
    >>> encoder = TargetEncoder(smoothing=0)
    >>> for hue, label in (("red", "no"), ("red", "yes"), ("blue", "yes")):
    ...     _ = encoder.learn_one({"hue": hue}, label)
    >>> encoder.transform_one({"hue": "red"}), encoder.transform_one({"hue": "blue"})
    ({'hue[class 1]': 0.5}, {'hue[class 1]': 1.0})
    """

    kind = "nominal"
    labelled = True

    classes: int = whole(
        default=2, doc="Classes that are encoded, in the order in which they were declared or appeared.", least=2,
        most=1000,
    )  # fmt: skip
    smoothing: float = number(default=10.0, doc="Rows that the share of all rows counts for.", least=0, most=1e9)

    __slots__ = ("_shares",)

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        return tuple(Feature(f"{feature.name}[class {c}]") for c in range(1, self.classes))

    @staticmethod
    def _values(plan: Plan) -> int:
        return max((plan.schema.features[f].cardinality for f in plan.columns), default=0)

    def _start(self, plan: Plan) -> None:
        counts = np.zeros((len(plan.columns), self._values(plan), self.classes))
        self._shares = jit.Shares(counts, np.zeros(self.classes))

    def _extend(self, plan: Plan) -> None:
        counts, overall = self._shares
        wider = len(plan.columns) - counts.shape[0], self._values(plan) - counts.shape[1]
        if any(wider):
            self._shares = jit.Shares(np.pad(counts, ((0, wider[0]), (0, wider[1]), (0, 0))), overall)

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        jit.encode(*self._shares, plan.columns, plan.places, float(self.smoothing), X, y, w, learned, out)

    def _tables(self) -> State:
        return self._shares._asdict()

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Shares, tables, c=len(plan.columns), v=self._values(plan), k=int(self.classes))
        self._shares = jit.Shares(tables["counts"], tables["overall"])
