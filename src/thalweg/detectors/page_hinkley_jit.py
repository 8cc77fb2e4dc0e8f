"""The Page-Hinkley test (Page 1954, Hinkley 1971), with a fading factor, on one float64 row per detector.

table[i], one row per detector:

| column | name      | meaning                                                                   |
| 0      | P_N       | values since the start or the last drift                                  |
| 1      | P_TOTAL   | their sum                                                                 |
| 2      | P_UP      | the sum of the faded deviations from the mean so far, each less the slack |
| 3      | P_LOWEST  | its lowest so far                                                         |
| 4      | P_DOWN    | the same sum, each deviation plus the slack; 0 where falls are no drifts  |
| 5      | P_HIGHEST | its highest so far                                                        |
| 6      | P_CHANGES | drifts so far                                                             |
| 7      | P_LAST    | 2 if the last value was a drift: the next starts a new count; 0 if not    |

rules: 0 PR_MIN_VALUES; 1 PR_SLACK; 2 PR_THRESHOLD; 3 PR_FADING; 4 PR_BOTH, 1.0 where a fall is a drift, too.
"""

from typing import Annotated, NamedTuple

from thalweg.core.declared import table
from thalweg.detectors.row_jit import COUNT, Levels, Table, ending, restart
from thalweg.jit.compile import compiled, inlined_entry

P_N, P_TOTAL, P_UP, P_LOWEST, P_DOWN, P_HIGHEST, P_CHANGES, P_LAST, P_COLUMNS = range(9)
PR_MIN_VALUES, PR_SLACK, PR_THRESHOLD, PR_FADING, PR_BOTH = range(5)
CODE = 5


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table("n", P_COLUMNS, least=-1e200, most=1e200, cells={P_N: COUNT, **ending(P_COLUMNS)}),
    ]
    """A row for each, see above."""


@inlined_entry
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; 2 when it is a drift, else 0."""
    if table[i, P_LAST] == 2.0:
        restart(table, i)
    n = table[i, P_N] + 1.0
    total = table[i, P_TOTAL] + x
    table[i, P_N] = n
    table[i, P_TOTAL] = total
    deviation = x - total / n
    # m ← α m + (x - x̄ - δ), M = min m: a drift where m - M > λ
    up = rules[PR_FADING] * table[i, P_UP] + deviation - rules[PR_SLACK]
    table[i, P_UP] = up
    table[i, P_LOWEST] = min(table[i, P_LOWEST], up)
    far = up - table[i, P_LOWEST]
    if rules[PR_BOTH] > 0.0:
        down = rules[PR_FADING] * table[i, P_DOWN] + deviation + rules[PR_SLACK]
        table[i, P_DOWN] = down
        table[i, P_HIGHEST] = max(table[i, P_HIGHEST], down)
        far = max(far, table[i, P_HIGHEST] - down)
    if n < rules[PR_MIN_VALUES] or far <= rules[PR_THRESHOLD]:
        table[i, P_LAST] = 0.0
        return 0
    table[i, P_CHANGES] += 1.0
    table[i, P_LAST] = 2.0
    return 2


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
