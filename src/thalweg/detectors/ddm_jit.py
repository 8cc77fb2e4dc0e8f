"""DDM (Gama, Medas, Castillo, Rodrigues 2004) on one float64 row per detector, with the constants of MOA.

table[i], one row per detector:

| column | name      | meaning                                                             |
| 0      | D_N       | values since the start or the last drift                            |
| 1      | D_TOTAL   | their sum                                                           |
| 2      | D_FOUND   | 1.0 once there is a lowest error rate                               |
| 3      | D_P_LOW   | p_min, the error rate where p + s was lowest                        |
| 4      | D_S_LOW   | s_min, its standard deviation there                                 |
| 5      | D_CHANGES | drifts so far                                                       |
| 6      | D_LAST    | the last level; after a drift (2) the next value starts a new count |

rules: 0 DR_MIN_VALUES; 1 DR_WARNING, 2 DR_DRIFT, how many s_min above p_min are too many.
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import span, table
from thalweg.detectors.row_jit import COUNT, Levels, Table, ending, restart
from thalweg.jit.compile import compiled, inlined_entry

D_N, D_TOTAL, D_FOUND, D_P_LOW, D_S_LOW, D_CHANGES, D_LAST, D_COLUMNS = range(8)
DR_MIN_VALUES, DR_WARNING, DR_DRIFT = range(3)
CODE = 1


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table(
            "n",
            D_COLUMNS,
            least=0,
            cells={
                D_N: COUNT,
                D_FOUND: span(0, 1, whole=True),
                D_P_LOW: span(0, 1),
                D_S_LOW: span(0, 1),
                **ending(D_COLUMNS),
            },
        ),
    ]
    """A row for each, see above."""


@inlined_entry
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; give its level: 0 stable, 1 warning, 2 drift."""
    if table[i, D_LAST] == 2.0:
        restart(table, i)
    n = table[i, D_N] + 1.0
    total = table[i, D_TOTAL] + x
    table[i, D_N] = n
    table[i, D_TOTAL] = total
    table[i, D_LAST] = 0.0
    # One value early, as MOA counts: here a lowest rate is found, and there can be no drift.
    if n + 1.0 < rules[DR_MIN_VALUES]:
        return 0
    p = total / n
    s = math.sqrt(p * (1.0 - p) / n)  # sᵢ = √(pᵢ (1 - pᵢ) / i)
    if table[i, D_FOUND] == 0.0 or p + s <= table[i, D_P_LOW] + table[i, D_S_LOW]:
        table[i, D_FOUND] = 1.0
        table[i, D_P_LOW] = p
        table[i, D_S_LOW] = s
    # Drift: pᵢ + sᵢ ≥ p_min + 3 s_min; warning: pᵢ + sᵢ ≥ p_min + 2 s_min. The paper's ≥ is > here: it would make a
    # drift of every value as long as there is no error at all.
    if p + s > table[i, D_P_LOW] + rules[DR_DRIFT] * table[i, D_S_LOW]:
        table[i, D_CHANGES] += 1.0
        table[i, D_LAST] = 2.0
        return 2
    if p + s > table[i, D_P_LOW] + rules[DR_WARNING] * table[i, D_S_LOW]:
        table[i, D_LAST] = 1.0
        return 1
    return 0


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
