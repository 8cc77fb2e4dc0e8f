"""HDDM-A (Frías-Blanco et al. 2015, the averages), one float64 row per detector, with the constants of MOA.

The mean of all values is compared with the mean up to a place in the past: the place where the mean plus its Hoeffding
bound was lowest (for a rise), and the place where the mean minus its bound was highest (for a fall).

table[i], one row per detector:

| column | name       | meaning                                                             |
| 0      | N          | values since the start or the last drift                            |
| 1      | TOTAL      | their sum                                                           |
| 2      | N_LOW      | values up to the lowest place                                       |
| 3      | TOTAL_LOW  | their sum                                                           |
| 4      | N_HIGH     | values up to the highest place                                      |
| 5      | TOTAL_HIGH | their sum                                                           |
| 6      | CHANGES    | drifts so far                                                       |
| 7      | LAST       | the last level; after a drift (2) the next value starts a new count |

rules: 0 BOUND, ln(1/δ) / 2; 1 WARNING, 2 DRIFT, ln(2/δ) / 2 of the level; 3 FALLS, what a fall is: 0 nothing, 1 a
reason to start anew, 2 a drift. A column for falls stays 0 where they are nothing.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Table = NDArray[np.float64]

N, TOTAL, N_LOW, TOTAL_LOW, N_HIGH, TOTAL_HIGH, CHANGES, LAST, COLUMNS = range(9)
BOUND, WARNING, DRIFT, FALLS = range(4)
CODE = 3


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
    """Take one value; give its level: 0 stable, 1 warning, 2 drift."""
    if table[i, LAST] == 2.0:
        restart(table, i)
    n = table[i, N] + 1.0
    total = table[i, TOTAL] + x
    table[i, N] = n
    table[i, TOTAL] = total
    mean, bound = total / n, math.sqrt(rules[BOUND] / n)
    level = rise(table, i, n, mean, bound, rules)
    if rules[FALLS] > 0.0:
        down = fall(table, i, n, mean, bound, rules)
        if rules[FALLS] == 2.0:
            level = max(level, down)
        elif down == 2 and level < 2:
            restart(table, i)
    if level == 2:
        table[i, CHANGES] += 1.0
    table[i, LAST] = level
    return level


@inlined
def rise(table: Table, i: int, n: float, mean: float, bound: float, rules: Table) -> int:
    """Compare the mean with the mean up to the lowest place; give the level."""
    n_low = table[i, N_LOW]
    low = table[i, TOTAL_LOW] / n_low if n_low > 0.0 else 0.0
    if n_low == 0.0 or low + math.sqrt(rules[BOUND] / n_low) >= mean + bound:
        table[i, N_LOW] = n
        table[i, TOTAL_LOW] = table[i, TOTAL]
        return 0
    return judge(mean - low, n_low, n, rules)


@inlined
def fall(table: Table, i: int, n: float, mean: float, bound: float, rules: Table) -> int:
    """Compare the mean with the mean up to the highest place; give the level."""
    n_high = table[i, N_HIGH]
    high = table[i, TOTAL_HIGH] / n_high if n_high > 0.0 else 0.0
    if n_high == 0.0 or high - math.sqrt(rules[BOUND] / n_high) <= mean - bound:
        table[i, N_HIGH] = n
        table[i, TOTAL_HIGH] = table[i, TOTAL]
        return 0
    return judge(high - mean, n_high, n, rules)


@inlined
def judge(gap: float, n0: float, n: float, rules: Table) -> int:
    """Is the gap between the means of the first n0 and of all n values more than chance allows?"""
    m = (n - n0) / n0 / n
    if gap < math.sqrt(m * rules[WARNING]):
        return 0
    return 2 if gap >= math.sqrt(m * rules[DRIFT]) else 1


@compiled
def update_one(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level."""
    return step(table, i, x, rules)


@compiled
def update_many(table: Table, i: int, values: Table, rules: Table, out: NDArray[np.int8]) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
