"""A day of numbers for the live page, in bounded memory: fine for the last hour, coarser for what is older.

Time is divided into steps. A number is added to its step, or is the last value of its step, in each of three rings:

| ring     | a step is  | steps | reaches back |
| "fine"   | 10 seconds | 360   | an hour      |
| "middle" | a minute   | 360   | six hours    |
| "coarse" | 10 minutes | 144   | a day        |
"""

from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State

Floats = NDArray[np.float64]
RINGS = {"fine": (10.0, 360), "middle": (60.0, 360), "coarse": (600.0, 144)}
CLASSES, SHADOWS = 16, 4
"""Classes, in order of appearance, and shadows that have columns of their own."""
SUMS = (
    "records", "requests", "errors", "labels", "right", "asked", "drifts", "confidence", "known", "known_right",
    *(f"predicted_{c}" for c in range(CLASSES)), *(f"labelled_{c}" for c in range(CLASSES)),
)  # fmt: skip
"""What is added up in a step. known, known_right: of the records that came in this step, those whose label has come
since, and of them those that were answered right; confidence: the sum of the highest probabilities answered."""
LASTS = (
    "accuracy", "kappa", "no_change", "majority", "lag_rows", "version", "open", "wanted_open", "memory", "latency_p50",
    "latency_p99", *(f"recall_{c}" for c in range(CLASSES)), *(f"shadow_{s}" for s in range(SHADOWS)),
)  # fmt: skip
"""What has in each step its last value; NaN: none. accuracy, kappa, no_change, majority and recall are over the rolling
window of labels; shadow_s is the accuracy of a shadow."""
COLUMNS = {name: i for i, name in enumerate((*SUMS, *LASTS))}
_ADDED = len(SUMS)


@final
class History:
    """Numbers by time.

    >>> history = History()
    >>> history.add(1000.0, records=3); history.add(1009.0, records=2); history.add(1010.0, records=1)
    >>> history.series("fine", ["records"], now=1015.0)
    {'at': [1000.0, 1010.0], 'records': [5.0, 1.0]}
    """

    def __init__(self) -> None:
        self._stamps = {name: np.full(steps, -1, dtype=np.int64) for name, (_, steps) in RINGS.items()}
        self._rows = {name: _empty(steps) for name, (_, steps) in RINGS.items()}

    def _row(self, ring: str, at: float) -> Floats | None:
        width, steps = RINGS[ring]
        step = int(at // width)
        slot = step % steps
        stamps = self._stamps[ring]
        if stamps[slot] < step:
            stamps[slot] = step
            self._rows[ring][slot] = _empty(1)[0]
        row: Floats = self._rows[ring][slot]
        return row if stamps[slot] == step else None

    def add(self, at: float, **numbers: float) -> None:
        """Add numbers to the step of this time."""
        for ring in RINGS:
            row = self._row(ring, at)
            if row is not None:
                for name, number in numbers.items():
                    row[COLUMNS[name]] += number

    def add_many(self, at: Floats, name: str, numbers: Floats) -> None:
        """Add numbers of several times."""
        for second in np.unique(at):
            self.add(float(second), **{name: float(numbers[at == second].sum())})

    def put(self, at: float, **numbers: float) -> None:
        """Let numbers be the last values of the step of this time."""
        for ring in RINGS:
            row = self._row(ring, at)
            if row is not None:
                for name, number in numbers.items():
                    row[COLUMNS[name]] = number

    def series(self, ring: str, names: Iterable[str], now: float) -> dict[str, list[float | None]]:
        """Give the steps of a ring that have numbers, oldest first; ``at``: when each begins."""
        width, steps = RINGS[ring]
        stamps = self._stamps[ring]
        live = np.flatnonzero((stamps >= 0) & (stamps > int(now // width) - steps))
        live = live[np.argsort(stamps[live])]
        rows = self._rows[ring][live]
        found: dict[str, list[float | None]] = {"at": (stamps[live] * width).tolist()}
        for name in names:
            found[name] = [None if v != v else v for v in rows[:, COLUMNS[name]].tolist()]
        return found

    def state(self) -> State:
        """Copy out everything."""
        return {f"{what}.{name}": table[name].copy() for name in RINGS
                for what, table in (("stamps", self._stamps), ("rows", self._rows))}  # fmt: skip

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` gave; one with other columns is not for us."""
        if all(f"rows.{name}" in state and state[f"rows.{name}"].shape == self._rows[name].shape for name in RINGS):
            self._stamps = {name: state[f"stamps.{name}"].copy() for name in RINGS}
            self._rows = {name: state[f"rows.{name}"].copy() for name in RINGS}


def _empty(steps: int) -> Floats:
    rows = np.full((steps, len(COLUMNS)), np.nan)
    rows[:, :_ADDED] = 0.0
    return rows
