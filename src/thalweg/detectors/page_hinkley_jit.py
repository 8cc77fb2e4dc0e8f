"""The Page-Hinkley test (Page 1954, Hinkley 1971), with a fading factor, on one float64 row per detector.

table[i], one row per detector:

| column | name    | meaning                                                                        |
| 0      | N       | values since the start or the last drift                                       |
| 1      | TOTAL   | their sum                                                                      |
| 2      | UP      | the sum of the faded deviations from the mean so far, each less the slack      |
| 3      | LOWEST  | its lowest so far                                                              |
| 4      | DOWN    | the same sum, each deviation plus the slack; 0 where falls are no drifts       |
| 5      | HIGHEST | its highest so far                                                             |
| 6      | CHANGES | drifts so far                                                                  |
| 7      | LAST    | 2 if the last value was a drift: the next starts a new count; 0 if not         |

rules: 0 MIN_VALUES; 1 SLACK; 2 THRESHOLD; 3 FADING; 4 BOTH, 1.0 where a fall is a drift, too.
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Table = NDArray[np.float64]

N, TOTAL, UP, LOWEST, DOWN, HIGHEST, CHANGES, LAST, COLUMNS = range(9)
MIN_VALUES, SLACK, THRESHOLD, FADING, BOTH = range(5)
CODE = 5


def new_table(n: int) -> Table:
    """Make the table of n detectors that have seen nothing."""
    return np.zeros((n, COLUMNS))


@inlined
def clear(table: Table, i: int) -> None:
    """Forget everything."""
    for k in range(COLUMNS):
        table[i, k] = 0.0


@inlined
def restart(table: Table, i: int) -> None:
    """Forget everything but the number of drifts."""
    for k in range(CHANGES):
        table[i, k] = 0.0


@inlined
def estimate(table: Table, i: int) -> float:
    """Give the mean since the last start; 0 before the first value."""
    n = table[i, N]
    return table[i, TOTAL] / n if n > 0.0 else 0.0


@inlined
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; 2 when it is a drift, else 0."""
    if table[i, LAST] == 2.0:
        restart(table, i)
    n = table[i, N] + 1.0
    total = table[i, TOTAL] + x
    table[i, N] = n
    table[i, TOTAL] = total
    deviation = x - total / n
    up = rules[FADING] * table[i, UP] + deviation - rules[SLACK]
    table[i, UP] = up
    table[i, LOWEST] = min(table[i, LOWEST], up)
    far = up - table[i, LOWEST]
    if rules[BOTH] > 0.0:
        down = rules[FADING] * table[i, DOWN] + deviation + rules[SLACK]
        table[i, DOWN] = down
        table[i, HIGHEST] = max(table[i, HIGHEST], down)
        far = max(far, table[i, HIGHEST] - down)
    if n < rules[MIN_VALUES] or far <= rules[THRESHOLD]:
        table[i, LAST] = 0.0
        return 0
    table[i, CHANGES] += 1.0
    table[i, LAST] = 2.0
    return 2


@compiled
def update_one(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level."""
    return step(table, i, x, rules)


@compiled
def update_many(table: Table, i: int, values: Table, rules: Table, out: NDArray[np.int8]) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
