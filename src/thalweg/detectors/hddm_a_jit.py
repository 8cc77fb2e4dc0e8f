"""HDDM-A (Frías-Blanco et al. 2015, the averages), one float64 row per detector, with the constants of MOA.

The mean of all values is compared with the mean up to a place in the past: the place where the mean plus its Hoeffding
bound was lowest (for a rise), and the place where the mean minus its bound was highest (for a fall).

table[i], one row per detector:

| column | name         | meaning                                                             |
| 0      | H_N          | values since the start or the last drift                            |
| 1      | H_TOTAL      | their sum                                                           |
| 2      | H_N_LOW      | values up to the lowest place                                       |
| 3      | H_TOTAL_LOW  | their sum                                                           |
| 4      | H_N_HIGH     | values up to the highest place                                      |
| 5      | H_TOTAL_HIGH | their sum                                                           |
| 6      | H_CHANGES    | drifts so far                                                       |
| 7      | H_LAST       | the last level; after a drift (2) the next value starts a new count |

rules: 0 HR_BOUND, ln(1/δ) / 2; 1 HR_WARNING, 2 HR_DRIFT, ln(2/δ) / 2 of the level; 3 HR_FALLS, what a fall is:
0 nothing, 1 a reason to start anew, 2 a drift. A column for falls stays 0 where they are nothing.
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import table
from thalweg.detectors.row_jit import COUNT, Levels, Table, ending, noted, restart, with_fall
from thalweg.jit.compile import compiled, inlined, inlined_entry

H_N, H_TOTAL, H_N_LOW, H_TOTAL_LOW, H_N_HIGH, H_TOTAL_HIGH, H_CHANGES, H_LAST, H_COLUMNS = range(9)
HR_BOUND, HR_WARNING, HR_DRIFT, HR_FALLS = range(4)
CODE = 3


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table("n", H_COLUMNS, least=0, cells={H_N: COUNT, H_N_LOW: COUNT, H_N_HIGH: COUNT, **ending(H_COLUMNS)}),
    ]
    """A row for each, see above."""


@inlined_entry
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level: 0 stable, 1 warning, 2 drift."""
    if table[i, H_LAST] == 2.0:
        restart(table, i)
    n = table[i, H_N] + 1.0
    total = table[i, H_TOTAL] + x
    table[i, H_N] = n
    table[i, H_TOTAL] = total
    mean, bound = total / n, math.sqrt(rules[HR_BOUND] / n)  # ε = √(ln(1/δ) / 2n), Hoeffding's bound
    level = rise(table, i, n, mean, bound, rules)
    if rules[HR_FALLS] > 0.0:
        down = fall(table, i, n, mean, bound, rules)
        level = with_fall(table, i, level, down, rules[HR_FALLS])
    return noted(table, i, level)


@inlined
def rise(table: Table, i: int, n: float, mean: float, bound: float, rules: Table) -> int:
    """Compare the mean with the mean up to the lowest place; give the level."""
    n_low = table[i, H_N_LOW]
    low = table[i, H_TOTAL_LOW] / n_low if n_low > 0.0 else 0.0
    if n_low == 0.0 or low + math.sqrt(rules[HR_BOUND] / n_low) >= mean + bound:
        table[i, H_N_LOW] = n
        table[i, H_TOTAL_LOW] = table[i, H_TOTAL]
        return 0
    return judge(mean - low, n_low, n, rules)


@inlined
def fall(table: Table, i: int, n: float, mean: float, bound: float, rules: Table) -> int:
    """Compare the mean with the mean up to the highest place; give the level."""
    n_high = table[i, H_N_HIGH]
    high = table[i, H_TOTAL_HIGH] / n_high if n_high > 0.0 else 0.0
    if n_high == 0.0 or high - math.sqrt(rules[HR_BOUND] / n_high) <= mean - bound:
        table[i, H_N_HIGH] = n
        table[i, H_TOTAL_HIGH] = table[i, H_TOTAL]
        return 0
    return judge(high - mean, n_high, n, rules)


@inlined
def judge(gap: float, n0: float, n: float, rules: Table) -> int:
    """Is the gap between the means of the first n0 and of all n values more than chance allows?"""
    # ε = √((1/n₀ - 1/n) / 2 · ln(2/δ)), Hoeffding's bound of a mean and the mean of its first n₀ values
    m = (n - n0) / n0 / n
    if gap < math.sqrt(m * rules[HR_WARNING]):
        return 0
    return 2 if gap >= math.sqrt(m * rules[HR_DRIFT]) else 1


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
