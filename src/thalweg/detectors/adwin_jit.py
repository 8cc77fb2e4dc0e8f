"""ADWIN (Bifet, Gavaldà 2007) on one float64 row per detector, with the rules and constants of MOA.

A window of the latest values is kept as buckets. A bucket of level r stands for 2^r values by their total T and their
sum of squared deviations V. Each level holds up to M buckets, oldest first; one more merges its two oldest into one of
the next level.

table[i], one row per detector:

| columns               | name           | meaning                                                                |
| 0                     | A_TIME         | values ever taken; cuts do not reset it                                |
| 1                     | A_DUE          | time of the next check                                                 |
| 2                     | A_WIDTH        | n, values in the window                                                |
| 3                     | A_TOTAL        | their sum                                                              |
| 4                     | A_SPREAD       | their sum of squared deviations from their mean (n times the variance) |
| 5                     | A_LEVELS       | levels in use                                                          |
| 6                     | A_CHANGES      | drifts so far, counted by ``step``                                     |
| 7                     | A_LAST         | what it gave last: 0 stable, 2 drift                                   |
| 8                     | A_CLOCK        | constant: values from one check to the next                            |
| 9                     | A_LEAST_WINDOW | constant: a check needs more values than this in the window            |
| 10                    | A_LEAST_SIDE   | constant: a cut needs more than one value more than this on each side  |
| 11                    | A_M            | constant: buckets per level                                            |
| A_BUCKETS + r(2M + 3) |                | level r: how many buckets, T of up to M + 1 of them, V of these        |

rules: 0 AR_DELTA, the confidence; 1 AR_BOTH, 1.0 where a falling mean is a drift, too.

When the last level is full its oldest bucket is dropped without a report: with 32 levels, after some 10^10 values.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import check, span, table
from thalweg.detectors.row_jit import COUNT, Levels, Table
from thalweg.jit.compile import called, compiled, inlined, inlined_entry

A_TIME, A_DUE, A_WIDTH, A_TOTAL, A_SPREAD, A_LEVELS, A_CHANGES, A_LAST, A_CLOCK, A_LEAST_WINDOW, A_LEAST_SIDE, A_M = (
    range(12)
)
A_BUCKETS = 12
A_CONSTANTS = slice(A_CLOCK, A_BUCKETS)
AR_DELTA, AR_BOTH = range(2)
CODE = 0
LEVELS = 32
"""Levels of buckets, unless a table has others."""
_ROUND_OFF = 1e-15  # more than four roundings of a double


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table(
            "n",
            "12 + levels * (2 * m + 3)",
            cells={
                A_WIDTH: COUNT,
                A_SPREAD: span(0),
                A_LEVELS: span(0, "levels", whole=True),
                A_CHANGES: COUNT,
                A_LAST: span(0, 2, whole=True),
                A_M: span("m", "m"),
            },
        ),
    ]
    """A row for each, see above."""


def new_table(
    n: int, *, clock: int = 32, least_window: int = 10, least_side: int = 5, m: int = 5, levels: int = LEVELS
) -> Table:
    """Make the table of n detectors that have seen nothing.

    >>> new_table(100).shape  # 3.4 KB each
    (100, 428)
    """
    table = np.zeros((n, A_BUCKETS + levels * (2 * m + 3)))
    table[:, A_CLOCK : A_M + 1] = clock, least_window, least_side, m
    table[:, A_DUE] = clock
    return table


def could_be(rows: Table, fresh: Table) -> bool:
    """Could these rows be detectors that began as the row ``fresh``?"""
    m = int(fresh[A_M])
    try:
        check(Rows, {"table": rows}, m=m, levels=(len(fresh) - A_BUCKETS) // (2 * m + 3))
    except ValueError:
        return False
    return adds_up(rows, fresh)


def adds_up(rows: Table, fresh: Table) -> bool:
    """Are these rows, which are as declared, windows made of buckets, with the constants of the row ``fresh``?"""
    m = int(fresh[A_M])
    held = rows[:, A_BUCKETS :: 2 * m + 3]
    sizes = np.ldexp(1.0, np.arange(held.shape[1]))
    used = np.arange(held.shape[1]) < rows[:, A_LEVELS, None]
    return bool(
        (rows[:, A_CONSTANTS] == fresh[A_CONSTANTS]).all()
        and (held == np.floor(held)).all()
        and ((held >= used) & (held <= used * m)).all()
        and (rows[:, A_WIDTH] == held @ sizes).all()
    )


@inlined
def clear(table: Table, i: int) -> None:
    """Forget everything but the constants."""
    for k in range(A_CLOCK):
        table[i, k] = 0.0
    for k in range(A_BUCKETS, table.shape[1]):
        table[i, k] = 0.0
    table[i, A_DUE] = table[i, A_CLOCK]


@inlined
def estimate(table: Table, i: int) -> float:
    """Give the mean of the window; 0 when it is empty."""
    n = table[i, A_WIDTH]
    return table[i, A_TOTAL] / n if n > 0.0 else 0.0


@inlined
def change(table: Table, i: int, x: float, delta: float) -> int:
    """Take one value: 0 when nothing was cut, 1 when a cut left a higher mean, -1 when it left any other."""
    table[i, A_TIME] += 1.0
    if table[i, A_TIME] < table[i, A_DUE]:
        insert(table, i, x)
        return 0
    table[i, A_DUE] += table[i, A_CLOCK]
    before = estimate(table, i)
    insert(table, i, x)
    if table[i, A_WIDTH] <= table[i, A_LEAST_WINDOW] or not shrink(table, i, delta):
        return 0
    return 1 if estimate(table, i) > before else -1


@inlined_entry
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; 2 when it is a drift, else 0."""
    turn = change(table, i, x, rules[AR_DELTA])
    if turn > 0 or (turn < 0 and rules[AR_BOTH] > 0.0):
        table[i, A_CHANGES] += 1.0
        table[i, A_LAST] = 2.0
        return 2
    table[i, A_LAST] = 0.0
    return 0


@inlined
def is_due(table: Table, i: int) -> bool:
    """Will the next value bring a check?"""
    return bool(table[i, A_TIME] + 1.0 >= table[i, A_DUE])


@inlined
def pass_by(table: Table, i: int, x: float) -> None:
    """Take one value that brings no check: what ``step`` does then, and nothing else."""
    table[i, A_TIME] += 1.0
    table[i, A_LAST] = 0.0
    insert(table, i, x)


@inlined
def insert(table: Table, i: int, x: float) -> None:
    """Add one value to the window, as a bucket of level 0."""
    n, total = table[i, A_WIDTH] + 1.0, table[i, A_TOTAL]
    if n > 1.0:
        d = x - total / (n - 1.0)
        table[i, A_SPREAD] += (n - 1.0) * d * d / n
    else:
        table[i, A_LEVELS] = 1.0
    table[i, A_WIDTH] = n
    table[i, A_TOTAL] = total + x
    m = int(table[i, A_M])
    if m == 5:  # the usual number, where the compiler knows it: a third faster
        add_bucket(table, i, 5, x)
    else:
        add_bucket(table, i, m, x)


@inlined
def add_bucket(table: Table, i: int, m: int, x: float) -> None:
    """Append a bucket of one value to level 0."""
    push(table, i, A_BUCKETS, m, x, 0.0)
    if table[i, A_BUCKETS] > m:
        compress(table, i, m)


@inlined
def push(table: Table, i: int, at: int, m: int, t: float, v: float) -> None:
    """Append a bucket to the level that begins in column ``at``."""
    held = table[i, at]
    k = int(held)
    table[i, at + 1 + k] = t
    table[i, at + 2 + m + k] = v
    table[i, at] = held + 1.0  # the count stays a float here: a round trip through an integer costs as much as the rest


@inlined
def compress(table: Table, i: int, m: int) -> None:
    """Merge the two oldest buckets of every level that holds too many, from level 0 up."""
    at, s, r = A_BUCKETS, 1.0, 0
    stride = 2 * m + 3
    while table[i, at] > m:
        if at + stride == table.shape[1]:
            drop_oldest(table, i)
            return
        t0, t1 = table[i, at + 1], table[i, at + 2]
        d = (t0 - t1) / s
        v = table[i, at + 2 + m] + table[i, at + 3 + m] + s * d * d / 2.0
        for k in range(at + 1, at + m):
            table[i, k] = table[i, k + 2]
            table[i, k + m + 1] = table[i, k + m + 3]
        table[i, at] = m - 1
        at += stride
        push(table, i, at, m, t0 + t1, v)
        s *= 2.0
        r += 1
    if r >= table[i, A_LEVELS]:
        table[i, A_LEVELS] = r + 1


@inlined
def shrink(table: Table, i: int, delta: float) -> bool:
    """Drop the oldest buckets, one by one, as long as some cut leaves two sides that differ. Was any dropped?"""
    cut = False
    while find_cut(table, i, delta):
        drop_oldest(table, i)
        cut = True
    return cut


@called
def find_cut(table: Table, i: int, delta: float) -> bool:
    """Is there a place between two buckets where the older side differs from the newer?"""
    n, side, m = table[i, A_WIDTH], table[i, A_LEAST_SIDE], int(table[i, A_M])
    v = table[i, A_SPREAD] / n
    dd = math.log(2.0 * math.log(n) / delta)  # ln(2/δ') with δ' = δ / ln n
    # Most places are passed by a test with no division and no root. It says no only where ``differ`` says no too: it
    # leaves out the bound's second term and allows for round-off. Both sides of the inequality are squared and
    # multiplied by (n0 n1)² (n0 - side + 1) (n1 - side + 1).
    bound = 2.0 * v * dd * (n - 2.0 * (side - 1.0)) * (1.0 - 16.0 * _ROUND_OFF)
    n0, u0, n1, u1 = 0.0, 0.0, n, table[i, A_TOTAL]
    r = int(table[i, A_LEVELS]) - 1
    s = math.ldexp(1.0, r)
    while r >= 0:
        at = A_BUCKETS + r * (2 * m + 3)
        for k in range(at + 1, at + 1 + int(table[i, at])):
            t = table[i, k]
            n0, u0, n1, u1 = n0 + s, u0 + t, n1 - s, u1 - t
            a0, a1, p = u0 * n1, u1 * n0, n0 * n1
            gap = abs(a0 - a1) + _ROUND_OFF * (abs(a0) + abs(a1))
            near = gap * gap * ((n0 - side + 1.0) * (n1 - side + 1.0)) <= bound * p * p
            if not near and n0 > side + 1.0 and n1 > side + 1.0 and differ(n0, u0, n1, u1, side, v, dd):
                return True
        r -= 1
        s *= 0.5
    return False


@inlined
def differ(n0: float, u0: float, n1: float, u1: float, side: float, v: float, dd: float) -> bool:
    """Do the means of two sides differ by more than chance allows?

    |μ₀ - μ₁| > ε_cut = √(2/m · σ² · ln(2/δ')) + 2/(3m) · ln(2/δ') with 1/m = 1/n₀ + 1/n₁; as in MOA, each side
    counts ``side`` - 1 values less.
    """
    inverse = 1.0 / (n0 - side + 1.0) + 1.0 / (n1 - side + 1.0)  # 1/m
    return abs(u0 / n0 - u1 / n1) > math.sqrt(2.0 * inverse * v * dd) + 2.0 / 3.0 * dd * inverse


@called
def drop_oldest(table: Table, i: int) -> None:
    """Take the oldest bucket out of the window."""
    m, r = int(table[i, A_M]), int(table[i, A_LEVELS]) - 1
    at = A_BUCKETS + r * (2 * m + 3)
    held = int(table[i, at])
    t, v, s = table[i, at + 1], table[i, at + 2 + m], math.ldexp(1.0, r)
    n, total = table[i, A_WIDTH] - s, table[i, A_TOTAL] - t
    spread = 0.0
    if n > 0.0:
        d = t / s - total / n
        spread = table[i, A_SPREAD] - (v + s * n * d * d / (n + s))
    table[i, A_WIDTH] = n
    table[i, A_TOTAL] = total
    table[i, A_SPREAD] = max(spread, 0.0)  # never below, for round-off
    for k in range(at + 1, at + held):
        table[i, k] = table[i, k + 1]
        table[i, k + m + 1] = table[i, k + m + 2]
    table[i, at] = held - 1
    if held == 1:
        table[i, A_LEVELS] = r


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
