"""DDM (Gama, Medas, Castillo, Rodrigues 2004) on one float64 row per detector, with the constants of MOA.

table[i], one row per detector:

| column | name    | meaning                                                             |
| 0      | N       | values since the start or the last drift                            |
| 1      | TOTAL   | their sum                                                           |
| 2      | FOUND   | 1.0 once there is a lowest error rate                               |
| 3      | P_LOW   | p_min, the error rate where p + s was lowest                        |
| 4      | S_LOW   | s_min, its standard deviation there                                 |
| 5      | CHANGES | drifts so far                                                       |
| 6      | LAST    | the last level; after a drift (2) the next value starts a new count |

rules: 0 MIN_VALUES; 1 WARNING, 2 DRIFT, how many s_min above p_min are too many.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Table = NDArray[np.float64]

N, TOTAL, FOUND, P_LOW, S_LOW, CHANGES, LAST, COLUMNS = range(8)
MIN_VALUES, WARNING, DRIFT = range(3)
CODE = 1


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
    table[i, LAST] = 0.0
    if n + 1.0 < rules[MIN_VALUES]:  # one value early, as MOA counts: here a lowest rate is found, and no drift can be
        return 0
    p = total / n
    s = math.sqrt(p * (1.0 - p) / n)
    if table[i, FOUND] == 0.0 or p + s <= table[i, P_LOW] + table[i, S_LOW]:
        table[i, FOUND] = 1.0
        table[i, P_LOW] = p
        table[i, S_LOW] = s
    # The paper writes ≥, which would make a drift of every value as long as there is no error at all.
    if p + s > table[i, P_LOW] + rules[DRIFT] * table[i, S_LOW]:
        table[i, CHANGES] += 1.0
        table[i, LAST] = 2.0
        return 2
    if p + s > table[i, P_LOW] + rules[WARNING] * table[i, S_LOW]:
        table[i, LAST] = 1.0
        return 1
    return 0


@compiled
def update_one(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level."""
    return step(table, i, x, rules)


@compiled
def update_many(table: Table, i: int, values: Table, rules: Table, out: NDArray[np.int8]) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
