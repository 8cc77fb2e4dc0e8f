"""Hour, weekday, day and month of moments, which are seconds since 1970, and the time between them."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.jit.compile import hot, inlined
from thalweg.prepare.rows_jit import carry_over

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

HOUR, WEEKDAY, DAY, DAY_OF_YEAR, MONTH, SINCE_LAST, SINCE_FIRST = range(7)
"""Parts; those up to MONTH come again and again."""
FIRST, LAST = range(2)
LATE = 1e12
"""Moments beyond, some 30,000 years away, are taken for this."""
_DAY = 86_400


class Moments(NamedTuple):
    """The state; c: columns."""

    moments: Annotated[Floats, table(2, "c", least=-LATE, most=LATE, missing=True)]
    """2 × c: the first moment of each column that was learned, and the last one; NaN: none yet."""


@inlined
def calendar(days: int) -> tuple[int, int, int]:
    """Give month, day of the month and day of the year (from 1) of a day since 1970, by the Gregorian calendar.

    Years begin in March here, so that the leap day is the last one; an era is 400 years, 146,097 days.
    """
    z = days + 719_468
    of_era = z % 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_march = of_era - (365 * year + year // 4 - year // 100)
    m = (5 * of_march + 2) // 153
    day = of_march - (153 * m + 2) // 5 + 1
    month = m + 3 if m < 10 else m - 9
    leap = year % 4 == 0 and (year % 100 != 0 or year == 0)  # the year of March, which January belongs to the next of
    of_year = of_march - 305 if m >= 10 else of_march + 60 + (1 if leap else 0)
    return month, day, of_year


@inlined
def part_of(t: float, part: int) -> tuple[float, float]:
    """Give a part of a moment, and the share of its period that has passed."""
    seconds = math.floor(t)
    days = int(seconds // _DAY)
    if part == HOUR:
        return seconds % _DAY // 3600, (t - days * float(_DAY)) / _DAY
    if part == WEEKDAY:
        v = (days + 3) % 7
        return float(v), v / 7.0
    month, day, of_year = calendar(days)
    if part == DAY:
        return float(day), (day - 1) / 31.0
    if part == DAY_OF_YEAR:
        return float(of_year), (of_year - 1) / 366.0
    return float(month), (month - 1) / 12.0


@hot
def take_apart(
    moments: Floats, columns: Ints, places: Ints, parts: Ints, cyclic: bool, X: Floats, learned: Bools, out: Floats
) -> None:
    """Write the parts of each chosen moment to where its column was; then remember it, if it is learned."""
    for i in range(len(X)):
        x, z = X[i], out[i]
        carry_over(x, z, places)
        for k in range(len(columns)):
            t, at = x[columns[k]], places[columns[k]]
            lacks = math.isnan(t)
            t = 0.0 if lacks else max(-LATE, min(LATE, t))
            for j in range(len(parts)):
                part = parts[j]
                if part > MONTH:
                    before = moments[LAST if part == SINCE_LAST else FIRST, k]
                    z[at] = math.nan if lacks else t - before
                    at += 1
                    continue
                v, share = part_of(t, part)
                if cyclic:
                    z[at] = math.nan if lacks else math.sin(2.0 * math.pi * share)
                    z[at + 1] = math.nan if lacks else math.cos(2.0 * math.pi * share)
                    at += 2
                else:
                    z[at] = math.nan if lacks else v
                    at += 1
            if learned[i] and not lacks:
                if math.isnan(moments[FIRST, k]):
                    moments[FIRST, k] = t
                moments[LAST, k] = t
