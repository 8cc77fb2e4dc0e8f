"""HDDM-W (Frías-Blanco et al. 2015, the weighted averages), one float64 row per detector, with MOA's constants.

A weighted average X = λ x + (1 - λ) X starts with its first value; W is the sum of its squared weights, W = 1 at first,
then λ² + (1 - λ)² W, by which McDiarmid's inequality bounds it. Three of them matter for a rise: over all values, the
same as it was where it plus its bound was lowest, and over the values since; and likewise for a fall.

table[i], one row per detector:

| column | name      | meaning                                                                 |
| 0      | W_MEAN    | X over all values since the start or the last drift                     |
| 1      | W_WEIGHTS | its W; 0.0: no value yet                                                |
| 2 - 6  | W_UP      | for a rise: X and W at the lowest place, X plus bound there, X, W since |
| 7 - 11 | W_DOWN    | for a fall: the same, with values and averages negated                  |
| 12     | W_CHANGES | drifts so far                                                           |
| 13     | W_LAST    | the last level; after a drift (2) the next value starts anew            |

rules: 0 WR_WEIGHT, λ; 1 WR_WARNING, 2 WR_DRIFT, ln(1/δ) / 2 of the level; 3 WR_FALLS, what a fall is: 0 nothing,
1 a reason to start anew, 2 a drift. The columns for falls stay 0 where they are nothing.
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import span, table
from thalweg.detectors.row_jit import Levels, Table, ending, noted, restart, with_fall
from thalweg.jit.compile import compiled, inlined, inlined_entry

W_MEAN, W_WEIGHTS, W_UP, W_DOWN, W_CHANGES, W_LAST, W_COLUMNS = 0, 1, 2, 7, 12, 13, 14
WR_WEIGHT, WR_WARNING, WR_DRIFT, WR_FALLS = range(4)
CODE = 4


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table(
            "n",
            W_COLUMNS,
            least=-1000,
            most=1000,
            cells={
                **dict.fromkeys((W_MEAN, W_WEIGHTS, W_UP + 1, W_UP + 4, W_DOWN + 1, W_DOWN + 4), span(0, 1)),
                **ending(W_COLUMNS),
            },
        ),
    ]
    """A row for each, see above."""


@inlined_entry
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level: 0 stable, 1 warning, 2 drift."""
    if table[i, W_LAST] == 2.0:
        restart(table, i)
    average(table, i, W_MEAN, x, rules[WR_WEIGHT])
    bound = math.sqrt(table[i, W_WEIGHTS] * rules[WR_DRIFT])
    level = watch(table, i, W_UP, x, table[i, W_MEAN], bound, rules)
    if rules[WR_FALLS] > 0.0:
        down = watch(table, i, W_DOWN, -x, -table[i, W_MEAN], bound, rules)
        level = with_fall(table, i, level, down, rules[WR_FALLS])
    return noted(table, i, level)


@inlined
def average(table: Table, i: int, at: int, x: float, weight: float) -> None:
    """Take a value into the average whose X and W are in columns ``at`` and ``at + 1``."""
    rest = 1.0 - weight  # X ← λ x + (1 - λ) X, W ← λ² + (1 - λ)² W
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
        table[i, at + 1] = table[i, W_WEIGHTS]
        table[i, at + 2] = mean + bound
        table[i, at + 3] = 0.0
        table[i, at + 4] = 0.0
        return 0
    average(table, i, at + 3, x, rules[WR_WEIGHT])
    # ε = √((W₁ + W₂) / 2 · ln(1/δ)), McDiarmid's bound of the difference of two weighted averages
    gap, weights = table[i, at + 3] - table[i, at], table[i, at + 1] + table[i, at + 4]
    if gap <= math.sqrt(weights * rules[WR_WARNING]):
        return 0
    return 2 if gap > math.sqrt(weights * rules[WR_DRIFT]) else 1


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
