"""HDDM-W (Frías-Blanco et al. 2015, the weighted averages), one float64 row per detector, with MOA's constants.

A weighted average X = λ x + (1 - λ) X starts with its first value; W is the sum of its squared weights, W = 1 at first,
then λ² + (1 - λ)² W, by which McDiarmid's inequality bounds it. Three of them matter for a rise: over all values, the
same as it was where it plus its bound was lowest, and over the values since; and likewise for a fall.

table[i], one row per detector:

| column | name    | meaning                                                                 |
| 0      | MEAN    | X over all values since the start or the last drift                     |
| 1      | WEIGHTS | its W; 0.0: no value yet                                                |
| 2 - 6  | UP      | for a rise: X and W at the lowest place, X plus bound there, X, W since |
| 7 - 11 | DOWN    | for a fall: the same, with values and averages negated                  |
| 12     | CHANGES | drifts so far                                                           |
| 13     | LAST    | the last level; after a drift (2) the next value starts anew            |

rules: 0 WEIGHT, λ; 1 WARNING, 2 DRIFT, ln(1/δ) / 2 of the level; 3 FALLS, what a fall is: 0 nothing, 1 a reason to
start anew, 2 a drift. The columns for falls stay 0 where they are nothing.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Table = NDArray[np.float64]

MEAN, WEIGHTS, UP, DOWN, CHANGES, LAST, COLUMNS = 0, 1, 2, 7, 12, 13, 14
WEIGHT, WARNING, DRIFT, FALLS = range(4)
CODE = 4


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
    """Give the weighted average since the last start; 0 before the first value."""
    return float(table[i, MEAN])


@inlined
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level: 0 stable, 1 warning, 2 drift."""
    if table[i, LAST] == 2.0:
        restart(table, i)
    average(table, i, MEAN, x, rules[WEIGHT])
    bound = math.sqrt(table[i, WEIGHTS] * rules[DRIFT])
    level = watch(table, i, UP, x, table[i, MEAN], bound, rules)
    if rules[FALLS] > 0.0:
        down = watch(table, i, DOWN, -x, -table[i, MEAN], bound, rules)
        if rules[FALLS] == 2.0:
            level = max(level, down)
        elif down == 2 and level < 2:
            restart(table, i)
    if level == 2:
        table[i, CHANGES] += 1.0
    table[i, LAST] = level
    return level


@inlined
def average(table: Table, i: int, at: int, x: float, weight: float) -> None:
    """Take a value into the average whose X and W are in columns ``at`` and ``at + 1``."""
    rest = 1.0 - weight
    if table[i, at + 1] == 0.0:
        table[i, at] = x
        table[i, at + 1] = 1.0
    else:
        table[i, at] = weight * x + rest * table[i, at]
        table[i, at + 1] = weight * weight + rest * rest * table[i, at + 1]


@inlined
def watch(table: Table, i: int, at: int, x: float, mean: float, bound: float, rules: Table) -> int:
    """Is this the lowest place? If not, compare the average since the lowest place with the one there."""
    if table[i, at + 1] == 0.0 or mean + bound < table[i, at + 2]:
        table[i, at] = mean
        table[i, at + 1] = table[i, WEIGHTS]
        table[i, at + 2] = mean + bound
        table[i, at + 3] = 0.0
        table[i, at + 4] = 0.0
        return 0
    average(table, i, at + 3, x, rules[WEIGHT])
    gap, weights = table[i, at + 3] - table[i, at], table[i, at + 1] + table[i, at + 4]
    if gap <= math.sqrt(weights * rules[WARNING]):
        return 0
    return 2 if gap > math.sqrt(weights * rules[DRIFT]) else 1


@compiled
def update_one(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level."""
    return step(table, i, x, rules)


@compiled
def update_many(table: Table, i: int, values: Table, rules: Table, out: NDArray[np.int8]) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
