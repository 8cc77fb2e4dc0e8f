"""What the rows of most detectors share.

A detector of such a kind is one row of float64 numbers that begins as zeros. Its last two columns are the number of
drifts so far and the last level; what is before them is forgotten when the value after a drift comes.

| column | meaning                                                                              |
| 0      | n, values since the start or the last drift (HDDM-W: its weighted average)           |
| 1      | their sum, or how many of them are errors (HDDM-W: the sum of its squared weights)   |
| …      | what the kind needs                                                                  |
| -2     | drifts so far                                                                        |
| -1     | the last level: 0 stable, 1 warning, 2 drift; after a drift the next value restarts  |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import Span, span
from thalweg.jit.compile import compiled, inlined

Table = NDArray[np.float64]
Levels = NDArray[np.int8]

COUNT = span(0, whole=True)
"""What a count is."""


def ending(columns: int) -> dict[int, Span]:
    """Declare the last two of so many columns."""
    return {columns - 2: COUNT, columns - 1: span(0, 2, whole=True)}


@inlined
def clear(table: Table, i: int) -> None:
    """Forget everything."""
    for k in range(table.shape[1]):
        table[i, k] = 0.0


@inlined
def restart(table: Table, i: int) -> None:
    """Forget everything but the number of drifts and the last level."""
    for k in range(table.shape[1] - 2):
        table[i, k] = 0.0


@inlined
def noted(table: Table, i: int, level: int) -> int:
    """Note the level of the last value, and that there was a drift; give the level."""
    if level == 2:
        table[i, table.shape[1] - 2] += 1.0
    table[i, table.shape[1] - 1] = level
    return level


@inlined
def with_fall(table: Table, i: int, level: int, down: int, falls: float) -> int:
    """Give the level with that of a fall, which is a drift, too, if ``falls`` is 2; else the detector starts anew."""
    if falls == 2.0:
        return max(level, down)
    if down == 2 and level < 2:
        restart(table, i)
    return level


@inlined
def mean(table: Table, i: int) -> float:
    """Give the mean of the values since the last start; 0 before the first."""
    n = table[i, 0]
    return table[i, 1] / n if n > 0.0 else 0.0


@compiled
def first_unfit(values: Table, least: float, most: float) -> int:
    """Find the first value that is no number, or outside of these bounds; -1: none."""
    for k in range(len(values)):
        if not least <= values[k] <= most:
            return k
    return -1
