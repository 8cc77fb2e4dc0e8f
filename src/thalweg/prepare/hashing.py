"""Nominal columns as a fixed number of columns, however many values they have."""

from typing import final

import numpy as np
from msgspec import structs

from thalweg.core.declared import check
from thalweg.core.door import hashed_values
from thalweg.core.fields import whole
from thalweg.core.protocols import State
from thalweg.core.readings import Readings
from thalweg.core.schema import Feature, Schema, Text
from thalweg.prepare import hashing_jit as jit
from thalweg.prepare.columns import Plan, choose, kind_of, lay_out
from thalweg.prepare.hashed_text import named_columns
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer


@final
class Hashing(Transformer):
    """Replace each nominal column by ``width`` columns of 0 and 1; the hash of a value says which one is 1.

    Columns that are named are read as they are, and no value is kept: the memory is the same however many values there
    are, and new values need no place. Nominal columns that are not named, or that come as codes, have a value 0
    everywhere until it has been learned. A missing value is 0 everywhere.

    Examples
    --------
    >>> encoder = Hashing("city", width=3).learn_one({"city": "Bonn"})
    >>> encoder.transform_one({"city": "Bonn"})
    {'city[0]': 1.0, 'city[1]': 0.0, 'city[2]': 0.0}
    """

    kind = "nominal"

    width: int = whole(default=64, doc="Columns for each nominal column.", least=1, most=1 << 16)

    __slots__ = ("_known",)

    def _prepare(self) -> None:
        named = [name for name in named_columns(self.columns) or () if name not in ("numeric", "nominal")]
        self.readings = Readings(texts=tuple(Text(name, 0, 0, int(self.width)) for name in named))

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        if feature.text is not None:
            return (structs.replace(feature, text=None),)
        return tuple(Feature(f"{feature.name}[{slot}]") for slot in range(self.width))

    def _planned(self, schema: Schema) -> Plan:
        named = self.columns is not None and self.columns != "nominal"
        columns = choose("Hashing", self.columns, schema, "" if named else "nominal")
        for f in columns:
            if kind_of(schema.features[f]) not in ("nominal", "text"):
                raise ValueError(f"columns of Hashing must be nominal, {schema.names[f]!r} is numeric")
        nominal = np.array([f for f in columns if schema.features[f].nominal], dtype=np.int64)
        values = [schema.features[f].values or () for f in nominal]
        slots = np.full((len(nominal), max(map(len, values), default=0)), -1)
        for k, each in enumerate(values):
            slots[k, : len(each)] = hashed_values(each, int(self.width))
        return lay_out(schema, columns, self._made)._replace(more=(nominal, slots))

    def _start(self, plan: Plan) -> None:
        self._known = np.zeros(plan.more[1].shape, dtype=np.int64)

    def _extend(self, plan: Plan) -> None:
        more = np.subtract(plan.more[1].shape, self._known.shape)
        self._known = np.pad(self._known, ((0, more[0]), (0, more[1])))

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        nominal, slots = plan.more
        jit.spread(self._known, slots, nominal, plan.places, int(self.width), X, learned, out)

    def _tables(self) -> State:
        return {"known": self._known}

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        c, v = plan.more[1].shape
        check(jit.Learned, tables, c=c, v=v)
        self._known = tables["known"]
