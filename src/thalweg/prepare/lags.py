"""Earlier values beside those of now."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from thalweg.core import params
from thalweg.core.declared import check
from thalweg.core.fields import flag, free, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.jit.compile import plain
from thalweg.prepare import lags_jit as jit
from thalweg.prepare.columns import Plan, check_columns, choose, lay_out
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer

MOST = 10_000


def _check_steps(name: str, value: Any) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be a list of whole numbers, got {shown(value)}")
    for step in value:
        params.whole(name, step, least=1, most=MOST)


@final
class Lags(Transformer):
    """Put earlier values of a column, and means of its last values, beside the value of now, for each key apart.

    Earlier values are those of rows that have been learned: with labels that come late, they are older. What is not
    there yet is missing. Only about ``max_keys`` keys are remembered; one that was not learned for long gives way.

    Examples
    --------
    >>> lags = Lags("price", key="shop", lags=[1], means=[2])
    >>> for price in (10.0, 20.0):
    ...     _ = lags.learn_one({"shop": "a", "price": price})
    >>> lags.transform_one({"shop": "a", "price": 30.0})
    {'shop': 0.0, 'price': 30.0, 'price[-1]': 20.0, 'price[mean 2]': 15.0}
    """

    key: str | int | None = free(
        default=None,
        doc="The column with the key, by name or position; numbers are rounded down. None: all rows are of one key.",
        check=check_columns,
    )
    lags: Sequence[int] = free(default=(1,), doc="How many rows of the key to look back.", check=_check_steps)
    means: Sequence[int] = free(default=(), doc="Over how many rows of the key to average.", check=_check_steps)
    differences: bool = flag(
        default=False,
        doc="Give by how much the value of now is above each of them, in their stead? Trees, which compare one column "
        "with a number, need it where a change matters.",
    )
    max_keys: int = whole(default=1024, doc="Keys that are remembered.", least=1, most=1 << 24)

    __slots__ = ("_past",)

    def _prepare(self) -> None:
        self.missing = "made"
        if self.key is not None and not isinstance(self.key, (str, int, np.integer)):
            raise TypeError(f"key must name one column, got {shown(self.key)}")
        if not self.lags and not self.means:
            raise ValueError("lags or means must hold a number, got none")

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        versus = "above " if self.differences else ""
        back = [f"{versus}-{n}" for n in self.lags] + [f"{versus}mean {n}" for n in self.means]
        return (feature, *(Feature(f"{feature.name}[{each}]") for each in dict.fromkeys(back)))

    def _planned(self, schema: Schema) -> Plan:
        key = -1 if self.key is None else int(choose("Lags (key)", self.key, schema, "")[0])
        lags, means = (np.array(list(dict.fromkeys(n)), dtype=np.int64) for n in (self.lags, self.means))
        columns = choose("Lags", self.columns, schema, self.kind)
        if self.columns is None:
            columns = columns[columns != key]  # a number that names something is no amount
        return lay_out(schema, columns, self._made)._replace(more=(key, lags, means))

    def _size(self) -> int:
        return int(max(*self.lags, *self.means, 1))

    def _places(self) -> int:
        return jit.WAYS * -(-int(self.max_keys) // jit.WAYS) if self.key is not None else jit.WAYS

    def _start(self, plan: Plan) -> None:
        places = self._places()
        ring = np.zeros((places, len(plan.columns), self._size()))
        used, filled = np.zeros(places, dtype=np.int64), np.zeros(places, dtype=np.int64)
        self._past = jit.Past(np.zeros(places), used, filled, ring, np.zeros(1, dtype=np.int64))

    def _extend(self, plan: Plan) -> None:
        more = len(plan.columns) - self._past.ring.shape[1]
        if more:
            ring = np.pad(self._past.ring, ((0, 0), (0, more), (0, 0)), constant_values=np.nan)
            self._past = self._past._replace(ring=ring)

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        key, lags, means = plan.more
        jit.look_back(plain(self._past), key, plan.columns, plan.places, lags, means, self.differences, X, learned, out)

    def _tables(self) -> State:
        return self._past._asdict()

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Past, tables, places=self._places(), c=len(plan.columns), size=self._size())
        self._past = jit.Past(**{name: tables[name] for name in jit.Past._fields})
