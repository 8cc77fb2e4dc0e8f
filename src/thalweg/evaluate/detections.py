"""How a learner lived through known drifts: how far it fell, how soon it recovered, and what its detector saw."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

CLOSE = 0.02  # recovered: within 2 points of the accuracy before the drift


class Recovery(NamedTuple):
    """What one drift did to the windowed accuracy."""

    position: int
    before: float
    """Mean windowed accuracy over the last window before the drift; NaN when there is no report there."""
    drop: float
    """Largest fall below that within two windows after the drift."""
    rows: float
    """Rows until the accuracy was back within 2 points of that: 0 if it never left, infinite if the next drift (or
    the end) came first."""


class Detections(NamedTuple):
    """Alarms against known drifts."""

    delays: list[int | None]
    """For each drift the rows until its first alarm; None: missed."""
    missed: int
    false_alarms: int
    false_per_100k: float
    """False alarms per 100,000 rows."""


def recovery(
    rows: Any, accuracy: Any, drifts: Sequence[int], window: int, *, widths: Sequence[int] = ()
) -> list[Recovery]:
    """Measure the fall and the recovery at each drift, as finely as the curve has reports.

    rows, accuracy: a curve of windowed accuracy. A gradual drift begins half its width before its position.

    >>> recovery([1000, 2000, 3000, 4000], [0.75, 0.75, 0.5, 0.74], [2000], 1000)
    [Recovery(position=2000, before=0.75, drop=0.25, rows=2000)]
    """
    at, level = np.asarray(rows), np.asarray(accuracy)
    starts = [p - w // 2 for p, w in zip(drifts, _widths(drifts, widths), strict=True)]
    ends = [*starts[1:], math.inf][: len(starts)]  # no drifts: no ends
    return [
        _recovery(at, level, position, start, end, window)
        for position, start, end in zip(drifts, starts, ends, strict=True)
    ]


def _recovery(at: Any, level: Any, position: int, start: int, end: float, window: int) -> Recovery:
    old = level[(at <= start) & (at > start - window)]
    if not old.size:
        return Recovery(position, math.nan, math.nan, math.nan)
    before = float(old.mean())
    after = (at > start) & (at <= end)
    near = level[after & (at <= start + 2 * window)]
    drop = max(0.0, before - float(near.min())) if near.size else math.nan
    low = at[after & (level < before - CLOSE)]
    if not low.size:
        return Recovery(position, before, drop, 0)
    back = at[after & (at > low[0]) & (level >= before - CLOSE)]
    return Recovery(position, before, drop, int(back[0]) - start if back.size else math.inf)


def detections(
    drifts: Sequence[int], alarms: Sequence[int], rows: int, *, tolerance: int, widths: Sequence[int] = ()
) -> Detections:
    """Match each drift with the first alarm in [position, position + width + tolerance]; other alarms are false.

    Further alarms in the same stretch are neither: the drift has been found already.

    >>> detections([1000, 5000], [1040, 1100, 3000], 10_000, tolerance=200)
    Detections(delays=[40, None], missed=1, false_alarms=1, false_per_100k=10.0)
    """
    seen = np.sort(np.asarray(alarms, dtype=np.int64))
    explained = np.zeros(len(seen), dtype=np.bool_)
    delays: list[int | None] = []
    for position, width in zip(drifts, _widths(drifts, widths), strict=True):
        near = (seen >= position - width // 2) & (seen <= position + width + tolerance)
        explained |= near
        delays.append(int(seen[near][0]) - position if near.any() else None)
    false = int(np.count_nonzero(~explained))
    return Detections(delays, delays.count(None), false, 1e5 * false / rows if rows else math.nan)


def _widths(drifts: Sequence[int], widths: Sequence[int]) -> Sequence[int]:
    if widths and len(widths) != len(drifts):
        raise ValueError(f"widths must have one number for each of the {len(drifts)} drifts, got {len(widths)}")
    return widths or [0] * len(drifts)
