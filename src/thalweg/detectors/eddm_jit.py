"""EDDM (Baena-García, del Campo-Ávila, Fidalgo, Bifet, Gavaldà, Morales-Bueno 2006), one float64 row per detector.

table[i], one row per detector:

| column | name    | meaning                                                             |
| 0      | N       | values since the start or the last drift                            |
| 1      | ERRORS  | errors among them                                                   |
| 2      | AT      | where the last error was; the first value is number 1               |
| 3      | MEAN    | p', the mean distance from one error to the next                   |
| 4      | SPREAD  | sum of squared deviations of the distances from their mean          |
| 5      | MOST    | the greatest p' + 2 s' so far                                     |
| 6      | CHANGES | drifts so far                                                       |
| 7      | LAST    | the last level; after a drift (2) the next value starts a new count |

rules: 0 MIN_VALUES; 1 MIN_ERRORS; 2 WARNING, 3 DRIFT, shares of MOST that are too few. The first distance counts from
the start, s' is the deviation of the distances themselves (divided by their number), and MOST is looked for from
MIN_VALUES values on: all as in MOA.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Table = NDArray[np.float64]

N, ERRORS, AT, MEAN, SPREAD, MOST, CHANGES, LAST, COLUMNS = range(9)
MIN_VALUES, MIN_ERRORS, WARNING, DRIFT = range(4)
CODE = 2


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
    """Give the error rate since the last start; 0 before the first value."""
    n = table[i, N]
    return table[i, ERRORS] / n if n > 0.0 else 0.0


@inlined
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value, an error if it is a half or more; give the level, which only an error can change."""
    if table[i, LAST] == 2.0:
        restart(table, i)
        table[i, LAST] = 0.0
    n = table[i, N] + 1.0
    table[i, N] = n
    if x < 0.5:
        return int(table[i, LAST])
    level = judge(table, i, observe(table, i, n), n, rules)
    table[i, LAST] = level
    return level


@inlined
def observe(table: Table, i: int, n: float) -> float:
    """Take the distance from the last error to value n; give p' + 2 s'."""
    distance = n - table[i, AT]
    table[i, AT] = n
    table[i, ERRORS] += 1.0
    before = distance - table[i, MEAN]
    table[i, MEAN] += before / table[i, ERRORS]
    table[i, SPREAD] += before * (distance - table[i, MEAN])
    return float(table[i, MEAN] + 2.0 * math.sqrt(table[i, SPREAD] / table[i, ERRORS]))


@inlined
def judge(table: Table, i: int, far: float, n: float, rules: Table) -> int:
    """Compare how far errors are apart with the farthest they have been."""
    if n < rules[MIN_VALUES]:
        return 0
    if far > table[i, MOST]:
        table[i, MOST] = far
        return 0
    if table[i, ERRORS] <= rules[MIN_ERRORS]:
        return 0
    share = far / table[i, MOST]
    if share < rules[DRIFT]:
        table[i, CHANGES] += 1.0
        return 2
    return 1 if share < rules[WARNING] else 0


@compiled
def update_one(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level."""
    return step(table, i, x, rules)


@compiled
def update_many(table: Table, i: int, values: Table, rules: Table, out: NDArray[np.int8]) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
