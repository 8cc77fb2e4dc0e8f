"""Missing values filled in."""

from typing import Literal, final

import numpy as np

from thalweg.core.declared import check
from thalweg.core.fields import choice, flag
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.prepare import imputer_jit as jit
from thalweg.prepare.columns import Plan, refuse_codes
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer

_RULES = {"mean": jit.MEAN, "last": jit.LAST, "most_frequent": jit.FREQUENT}


@final
class Imputer(Transformer):
    """Fill in missing values with the mean, the last or the most frequent value of their column so far.

    A missing nominal value becomes the most frequent one, also where ``strategy="mean"``. The most frequent value is
    exact for columns with up to 64 values, and nearly so for others. Before any value is known, 0 is filled in, or the
    first nominal value.

    Examples
    --------
    >>> imputer = Imputer(indicator=True).partial_fit([[1.0], [3.0]])
    >>> imputer.transform([[np.nan], [7.0]]).tolist()
    [[2.0, 1.0], [7.0, 0.0]]
    """

    kind = ""

    strategy: Literal["mean", "last", "most_frequent"] = choice(default="mean", doc="What is filled in.")
    indicator: bool = flag(
        default=False, doc="Put a column behind each that says where values were missing, 1, or not, 0?"
    )

    __slots__ = ("_fills",)

    def _prepare(self) -> None:
        self.missing = "filled" if self.columns is None else "kept"

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        return (feature, Feature(f"{feature.name}[missing]")) if self.indicator else (feature,)

    def _planned(self, schema: Schema) -> Plan:
        plan = super()._planned(schema)
        for f in plan.columns:
            if schema.ceilings[0][f] == 0:
                raise ValueError(f"columns of Imputer must have a value to fill in, {schema.names[f]!r} has none")
        frequent = [self.strategy == "most_frequent" or (self.strategy == "mean" and schema.features[f].nominal)
                    for f in plan.columns]  # fmt: skip
        rules = np.where(frequent, jit.FREQUENT, _RULES[self.strategy])
        return plan._replace(more=(rules, np.cumsum(frequent, dtype=np.int64) - np.array(frequent, dtype=np.int64)))

    def _start(self, plan: Plan) -> None:
        self._fills = jit.Fills(np.zeros((2, 0)), np.zeros((0, jit.SLOTS)), np.zeros((0, jit.SLOTS)))
        self._extend(plan)

    def _extend(self, plan: Plan) -> None:
        fills, values, counts = self._fills
        c = int((plan.more[0] == jit.FREQUENT).sum()) - len(values)
        fills = np.pad(fills, ((0, 0), (0, plan.schema.n_features - fills.shape[1])))
        self._fills = jit.Fills(fills, np.pad(values, ((0, c), (0, 0))), np.pad(counts, ((0, c), (0, 0))))

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        rules, rows = plan.more
        jit.impute(*self._fills, plan.columns, rules, rows, plan.places, self.indicator, X, w, learned, out)

    def _tables(self) -> State:
        return self._fills._asdict()

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Fills, tables, d=plan.schema.n_features, c=int((plan.more[0] == jit.FREQUENT).sum()))
        rules, rows = plan.more
        for k, f in enumerate(plan.columns):
            if plan.schema.features[f].nominal:
                counted = tables["values"][rows[k]] if rules[k] == jit.FREQUENT else np.zeros(0)
                refuse_codes("fills", np.append(counted, tables["fills"][jit.FILL, f]), plan.schema, int(f))
        self._fills = jit.Fills(**{name: tables[name] for name in jit.Fills._fields})
