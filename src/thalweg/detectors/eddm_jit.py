"""EDDM (Baena-García, del Campo-Ávila, Fidalgo, Bifet, Gavaldà, Morales-Bueno 2006), one float64 row per detector.

table[i], one row per detector:

| column | name      | meaning                                                             |
| 0      | E_N       | values since the start or the last drift                            |
| 1      | E_ERRORS  | errors among them                                                   |
| 2      | E_AT      | where the last error was; the first value is number 1               |
| 3      | E_MEAN    | p', the mean distance from one error to the next                    |
| 4      | E_SPREAD  | sum of squared deviations of the distances from their mean          |
| 5      | E_MOST    | the greatest p' + 2 s' so far                                       |
| 6      | E_CHANGES | drifts so far                                                       |
| 7      | E_LAST    | the last level; after a drift (2) the next value starts a new count |

rules: 0 ER_MIN_VALUES; 1 ER_MIN_ERRORS; 2 ER_WARNING, 3 ER_DRIFT, α and β, shares of E_MOST that are too few. The first
distance counts from the start, s' is the deviation of the distances themselves (divided by their number), and E_MOST is
looked for from ER_MIN_VALUES values on: all as in MOA.
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import table
from thalweg.detectors.row_jit import COUNT, Levels, Table, ending, restart
from thalweg.jit.compile import compiled, inlined, inlined_entry

E_N, E_ERRORS, E_AT, E_MEAN, E_SPREAD, E_MOST, E_CHANGES, E_LAST, E_COLUMNS = range(9)
ER_MIN_VALUES, ER_MIN_ERRORS, ER_WARNING, ER_DRIFT = range(4)
CODE = 2


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table("n", E_COLUMNS, least=0, cells={E_N: COUNT, E_ERRORS: COUNT, E_AT: COUNT, **ending(E_COLUMNS)}),
    ]
    """A row for each, see above."""


@inlined_entry
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value, an error if it is a half or more; give the level, which only an error can change."""
    if table[i, E_LAST] == 2.0:
        restart(table, i)
        table[i, E_LAST] = 0.0
    n = table[i, E_N] + 1.0
    table[i, E_N] = n
    if x < 0.5:
        return int(table[i, E_LAST])
    level = judge(table, i, observe(table, i, n), n, rules)
    table[i, E_LAST] = level
    return level


@inlined
def observe(table: Table, i: int, n: float) -> float:
    """Take the distance from the last error to value n; give p' + 2 s'."""
    distance = n - table[i, E_AT]
    table[i, E_AT] = n
    table[i, E_ERRORS] += 1.0
    before = distance - table[i, E_MEAN]
    table[i, E_MEAN] += before / table[i, E_ERRORS]
    table[i, E_SPREAD] += before * (distance - table[i, E_MEAN])
    return float(table[i, E_MEAN] + 2.0 * math.sqrt(table[i, E_SPREAD] / table[i, E_ERRORS]))


@inlined
def judge(table: Table, i: int, far: float, n: float, rules: Table) -> int:
    """Compare how far errors are apart with the farthest they have been."""
    if n < rules[ER_MIN_VALUES]:
        return 0
    if far > table[i, E_MOST]:
        table[i, E_MOST] = far
        return 0
    if table[i, E_ERRORS] <= rules[ER_MIN_ERRORS]:
        return 0
    share = far / table[i, E_MOST]  # (p'ᵢ + 2 s'ᵢ) / (p'_max + 2 s'_max): a warning below α, a drift below β
    if share < rules[ER_DRIFT]:
        table[i, E_CHANGES] += 1.0
        return 2
    return 1 if share < rules[ER_WARNING] else 0


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
