"""The reports of a run, one every so many rows.

In the midst of learning the processor has forgotten the code of the metrics, and whatever Python does is ten times as
slow as usual. So a report first only notes what was counted; what the metrics make of it is worked out for many reports
at once.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.evaluate.counts import TALLIED, Counts
from thalweg.evaluate.metrics import Metrics
from thalweg.registry import METRICS

Floats = NDArray[np.float64]

MOST_WAITING = 64
"""So many reports are worked out at once."""
_NO_TABLE = np.zeros((0, 1))


class _Noted(NamedTuple):
    """A report that is not worked out yet."""

    rows: int
    counts: Floats
    at_once: list[float]
    """The values that had to be worked out at once."""
    rest: tuple[float, ...]


@final
class Reports:
    """What a run has reported about its metrics so far.

    >>> metrics = Metrics(window=2)
    >>> metrics.update([0, 1, 1], [[1, 0], [1, 0], [0, 1]])
    >>> reports = Reports(("accuracy",))
    >>> reports.add(metrics, 3, (0.25,))
    >>> reports.columns, reports.lines
    (['rows', 'accuracy', 'window_accuracy'], [[3, 0.6666666666666666, 0.5, 0.25]])
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.whole = tuple(name for name in names if METRICS[name].looks_at == "counts")
        """Those with a value over all rows in every report."""
        self.recent = tuple(name for name in names if not METRICS[name].overall)
        """Those with a value over the window."""
        late = [METRICS[name].looks_at == "counts" and METRICS[name].cls in TALLIED for name in self.recent]
        self._at_once = tuple(name for name, later in zip(self.recent, late, strict=True) if not later)
        self._wait = all(METRICS[name].cls in TALLIED for name in self.whole)
        self._whole = [METRICS[name].cls for name in self.whole]
        self._recent = [METRICS[name].cls if later else None for name, later in zip(self.recent, late, strict=True)]
        self._lines: list[list[float]] = []
        self._waiting: list[_Noted] = []

    @property
    def columns(self) -> list[str]:
        """The names of what each line has first."""
        return ["rows", *self.whole, *(f"window_{name}" for name in self.recent)]

    @property
    def lines(self) -> list[list[float]]:
        """All reports so far."""
        self._work_out()
        return self._lines

    @lines.setter
    def lines(self, lines: list[list[float]]) -> None:
        self._lines, self._waiting = lines, []

    def add(self, metrics: Metrics, rows: int, rest: tuple[float, ...]) -> None:
        """Report on the metrics as they are after so many rows; rest: what else a line has."""
        if not self._wait:
            self._lines.append(self.line(metrics, rows, rest))
            return
        at_once = [*metrics.windowed(self._at_once).values()] if self._at_once else []
        self._waiting.append(_Noted(rows, metrics.note(), at_once, rest))
        if len(self._waiting) >= MOST_WAITING:
            self._work_out()

    def line(self, metrics: Metrics, rows: int, rest: tuple[float, ...]) -> list[float]:
        """Say what a report would be now."""
        cumulative, windowed = metrics.cumulative(self.whole), metrics.windowed(self.recent)
        return [rows, *cumulative.values(), *windowed.values(), *rest]

    def _work_out(self) -> None:
        for noted in self._waiting:
            whole, recent = (Counts(_NO_TABLE, *row) for row in noted.counts.tolist())
            at_once = iter(noted.at_once)
            line = [noted.rows, *(_value(metric, whole) for metric in self._whole)]
            line += [next(at_once) if metric is None else _value(metric, recent) for metric in self._recent]
            self._lines.append([*line, *noted.rest])
        self._waiting = []


def _value(metric: Callable[[Counts], float], counts: Counts) -> float:
    try:
        return float(metric(counts)) if counts.weight > 0.0 else math.nan
    except ZeroDivisionError:
        return math.nan
