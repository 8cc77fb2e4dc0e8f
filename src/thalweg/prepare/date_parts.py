"""Moments as numbers that say something: hour, weekday, month, what has passed since."""

from collections.abc import Sequence
from typing import Any, Literal, final, get_args

import numpy as np

from thalweg.core import params
from thalweg.core.declared import check
from thalweg.core.fields import flag, free
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.readings import Readings
from thalweg.core.schema import Feature, Schema
from thalweg.prepare import date_parts_jit as jit
from thalweg.prepare.columns import Plan
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer

Part = Literal["hour", "weekday", "day", "day_of_year", "month", "since_last", "since_first"]
_CODES = {part: code for code, part in enumerate(get_args(Part))}
"""In the order of the codes of ``date_parts_jit``."""


def _check_parts(name: str, value: Any) -> None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be a list of parts such as 'hour', got {shown(value)}")
    for part in value:
        params.choice(name, part, get_args(Part))
    if not value or len(set(value)) < len(value):
        raise ValueError(f"{name} must hold parts that differ, at least one, got {shown(value)}")


@final
class DateParts(Transformer):
    """Replace each column of dates or times by its parts: hour, weekday, day, month, and how much time has passed.

    The column may hold dates and times, text such as 2020-01-31 or 2020-01-31T12:30:59+01:00, or seconds since 1970.
    The parts are those of UTC. Time passes since the last, or the first, row that was learned before; it is missing as
    long as there is none, and where a time is missing. Without ``columns`` these are all columns that hold dates and
    times; text, or seconds, must be named.

    Examples
    --------
    >>> parts = DateParts("signup", parts=["weekday", "month"]).learn_one({"signup": "2024-01-31", "age": 40})
    >>> parts.transform_one({"signup": "2024-02-29", "age": 31})
    {'signup[weekday]': 3.0, 'signup[month]': 2.0, 'age': 31.0}
    """

    kind = "time"

    parts: Sequence[Part] = free(
        default=("hour", "weekday", "day", "month", "since_last"),
        doc='What becomes of a column: "hour" (0 to 23), "weekday" (0 is Monday, 6 Sunday), "day" of the month, '
        '"day_of_year", "month", and the seconds "since_last" and "since_first" row.',
        check=_check_parts,
    )
    cyclic: bool = flag(
        default=False,
        doc="Give hour, weekday, day, day of the year and month as sine and cosine of an angle, so that the last hour "
        "is next to the first?",
    )

    __slots__ = ("_moments",)

    def _prepare(self) -> None:
        self.missing = "made" if any(part.startswith("since") for part in self.parts) else "kept"
        named = [self.columns] if isinstance(self.columns, str) else self.columns
        times = tuple(name for name in named if isinstance(name, str)) if isinstance(named, Sequence) else ()
        self.readings = Readings(times=times, dates=self.columns is None)

    def _made(self, feature: Feature) -> tuple[Feature, ...]:
        ways = [
            f"{part} {way}" if way else part
            for part in self.parts
            for way in (("sin", "cos") if self.cyclic and _CODES[part] <= jit.MONTH else ("",))
        ]
        return tuple(Feature(f"{feature.name}[{way.replace('_', ' ')}]") for way in ways)

    def _planned(self, schema: Schema) -> Plan:
        return super()._planned(schema)._replace(more=np.array([_CODES[part] for part in self.parts], dtype=np.int64))

    def _start(self, plan: Plan) -> None:
        self._moments = np.full((2, len(plan.columns)), np.nan)

    def _extend(self, plan: Plan) -> None:
        more = len(plan.columns) - self._moments.shape[1]
        self._moments = np.pad(self._moments, ((0, 0), (0, more)), constant_values=np.nan)

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        jit.take_apart(self._moments, plan.columns, plan.places, plan.more, self.cyclic, X, learned, out)

    def _tables(self) -> State:
        return {"moments": self._moments}

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Moments, tables, c=len(plan.columns))
        self._moments = tables["moments"]
