"""ADWIN (Bifet, Gavaldà 2007) on one float64 row per detector, with the rules and constants of MOA.

A window of the latest values is kept as buckets. A bucket of level r stands for 2^r values by their total T and their
sum of squared deviations V. Each level holds up to M buckets, oldest first; one more merges its two oldest into one of
the next level.

table[i], one row per detector:

| columns             | name       | meaning                                                                    |
| 0                   | TIME       | values ever taken; cuts do not reset it                                    |
| 1                   | WIDTH      | n, values in the window                                                    |
| 2                   | TOTAL      | their sum                                                                  |
| 3                   | SPREAD     | their sum of squared deviations from the window's mean                     |
| 4                   | LEVELS     | levels in use                                                              |
| 5                   | CHANGES    | changes reported so far                                                    |
| 6                   | LAST       | level the last value got: 0 stable, 2 drift                                |
| 7, 8, 9, 10         | CLOCK, …   | constants: clock, least window, least side, M                              |
| BUCKETS + r(2M + 3) |            | level r: number of buckets, then T of up to M + 1 of them, then V of these |

When the last level is full its oldest bucket is dropped, without a report: with 32 levels after some 10^10 values.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, compiled, inlined

Table = NDArray[np.float64]

TIME, DUE, WIDTH, TOTAL, SPREAD, LEVELS, CHANGES, LAST, CLOCK, WINDOW, SIDE, M = range(12)
BUCKETS = 12
MAX_LEVELS = 32
_ROUND_OFF = 1e-15  # more than four roundings of a double

DELTA = 0.002
CLOCK_DEFAULT, WINDOW_DEFAULT, SIDE_DEFAULT, M_DEFAULT = 32, 10, 5, 5


def new_table(n: int, max_buckets: int = M_DEFAULT, levels: int = MAX_LEVELS) -> Table:
    """Make the table of n detectors that have seen nothing, with MOA's constants."""
    table = np.zeros((n, BUCKETS + levels * (2 * max_buckets + 3)))
    table[:, CLOCK], table[:, WINDOW], table[:, SIDE], table[:, M] = CLOCK_DEFAULT, WINDOW_DEFAULT, SIDE_DEFAULT, max_buckets
    table[:, DUE] = table[:, CLOCK]
    return table


@inlined
def clear(table: Table, i: int) -> None:
    """Forget everything but the constants."""
    for k in range(CLOCK):
        table[i, k] = 0.0
    for k in range(BUCKETS, table.shape[1]):
        table[i, k] = 0.0


@inlined
def estimate(table: Table, i: int) -> float:
    """Give the mean of the window; 0 when it is empty."""
    n = table[i, WIDTH]
    return table[i, TOTAL] / n if n > 0.0 else 0.0


@called
def drop_oldest(table: Table, i: int) -> None:
    """Take the oldest bucket out of the window."""
    m = int(table[i, M])
    r = int(table[i, LEVELS]) - 1
    at = BUCKETS + r * (2 * m + 3)
    held = int(table[i, at])
    s = math.ldexp(1.0, r)
    t, v = table[i, at + 1], table[i, at + 2 + m]
    n = table[i, WIDTH] - s
    total = table[i, TOTAL] - t
    spread = 0.0
    if n > 0.0:
        d = t / s - total / n
        spread = table[i, SPREAD] - (v + s * n * d * d / (n + s))
    table[i, WIDTH] = n
    table[i, TOTAL] = total
    table[i, SPREAD] = max(spread, 0.0)
    for k in range(held - 1):
        table[i, at + 1 + k] = table[i, at + 2 + k]
        table[i, at + 2 + m + k] = table[i, at + 3 + m + k]
    table[i, at] = held - 1
    if held == 1:
        table[i, LEVELS] = r


@inlined
def insert(table: Table, i: int, x: float) -> None:
    """Add one value to the window, as a bucket of level 0."""
    n = table[i, WIDTH] + 1.0
    total = table[i, TOTAL]
    if n > 1.0:
        d = x - total / (n - 1.0)
        table[i, SPREAD] += (n - 1.0) * d * d / n
    table[i, WIDTH] = n
    table[i, TOTAL] = total + x
    if table[i, LEVELS] == 0.0:
        table[i, LEVELS] = 1.0
    m = int(table[i, M])
    held = int(table[i, BUCKETS])
    table[i, BUCKETS + 1 + held] = x
    table[i, BUCKETS + 2 + m + held] = 0.0
    table[i, BUCKETS] = held + 1
    if held == m:
        compress(table, i, m)


@inlined
def compress(table: Table, i: int, m: int) -> None:
    """Merge the two oldest buckets of every level that holds too many, from level 0 up."""
    stride = 2 * m + 3
    levels = (table.shape[1] - BUCKETS) // stride
    at = BUCKETS
    s = 1.0
    for r in range(levels):
        if table[i, at] <= m:
            return
        if r + 1 == levels:
            drop_oldest(table, i)
            return
        d = (table[i, at + 1] - table[i, at + 2]) / s
        t = table[i, at + 1] + table[i, at + 2]
        v = table[i, at + 2 + m] + table[i, at + 3 + m] + s * d * d / 2.0
        for k in range(m - 1):
            table[i, at + 1 + k] = table[i, at + 3 + k]
            table[i, at + 2 + m + k] = table[i, at + 4 + m + k]
        table[i, at] = m - 1
        at += stride
        held = int(table[i, at])
        table[i, at + 1 + held] = t
        table[i, at + 2 + m + held] = v
        table[i, at] = held + 1
        if table[i, LEVELS] == r + 1:
            table[i, LEVELS] = r + 2
        s *= 2.0


@inlined
def differ(n0: float, u0: float, n1: float, u1: float, side: float, v: float, dd: float) -> bool:
    """Do the means of the two sides differ by more than chance allows?"""
    m = 1.0 / (n0 - side + 1.0) + 1.0 / (n1 - side + 1.0)
    return abs(u0 / n0 - u1 / n1) > math.sqrt(2.0 * m * v * dd) + 2.0 / 3.0 * dd * m


@called
def find_cut(table: Table, i: int, delta: float) -> bool:
    """Is there a place, between any two buckets, where the older and the newer side differ?"""
    n = table[i, WIDTH]
    side = table[i, SIDE]
    m = int(table[i, M])
    v = table[i, SPREAD] / n
    dd = math.log(2.0 * math.log(n) / delta)
    # First a test with no division and no root, that says no only where ``differ`` must say no too: it leaves out the
    # second term of the bound and allows for round-off. Squared, and times (n0 · n1)² · (n0 - side + 1)(n1 - side + 1).
    bound = 2.0 * v * dd * (n - 2.0 * (side - 1.0)) * (1.0 - 16.0 * _ROUND_OFF)
    n0, u0, n1, u1 = 0.0, 0.0, n, table[i, TOTAL]
    r = int(table[i, LEVELS]) - 1
    s = math.ldexp(1.0, r)
    while r >= 0:
        at = BUCKETS + r * (2 * m + 3)
        for k in range(int(table[i, at])):
            t = table[i, at + 1 + k]
            n0 += s
            u0 += t
            n1 -= s
            u1 -= t
            if n0 > side + 1.0 and n1 > side + 1.0:
                a0, a1 = u0 * n1, u1 * n0
                gap = abs(a0 - a1) + _ROUND_OFF * (abs(a0) + abs(a1))
                n01 = n0 * n1
                if not gap * gap * ((n0 - side + 1.0) * (n1 - side + 1.0)) <= bound * n01 * n01:
                    if differ(n0, u0, n1, u1, side, v, dd):
                        return True
        r -= 1
        s *= 0.5
    return False


@inlined
def shrink(table: Table, i: int, delta: float) -> bool:
    """Drop the oldest buckets as long as some cut divides the window in two that differ."""
    cut = False
    while find_cut(table, i, delta):
        drop_oldest(table, i)
        cut = True
    return cut


@inlined
def step(table: Table, i: int, x: float, delta: float) -> int:
    """Take one value: 0 when nothing was cut, 1 when a cut left a higher mean, -1 when it left any other."""
    table[i, TIME] += 1.0
    if table[i, TIME] < table[i, DUE]:
        insert(table, i, x)
        return 0
    before = estimate(table, i)
    insert(table, i, x)
    table[i, DUE] += table[i, CLOCK]
    if table[i, WIDTH] <= table[i, WINDOW] or not shrink(table, i, delta):
        return 0
    return 1 if estimate(table, i) > before else -1


@inlined
def update(table: Table, i: int, x: float, delta: float) -> bool:
    """Take one value (an error: 1); True when it reveals that the mean has risen."""
    return step(table, i, x, delta) > 0


@compiled
def update_many(table: Table, i: int, values: Table, delta: float, both: bool, out: NDArray[np.int8]) -> None:
    """Take values in order; write the level of each: 0 stable, 2 drift (a rise, or with ``both`` any cut)."""
    for k in range(len(values)):
        change = step(table, i, values[k], delta)
        out[k] = 2 if change > 0 or (both and change < 0) else 0
        table[i, CHANGES] += out[k] > 0
        table[i, LAST] = out[k]


@compiled
def update_one(table: Table, i: int, x: float, delta: float, both: bool) -> bool:
    """Take one value; True when it is a drift."""
    change = step(table, i, x, delta)
    drift = change > 0 or (both and change < 0)
    table[i, CHANGES] += drift
    table[i, LAST] = 2.0 * drift
    return drift


@compiled
def first_unfit(values: Table, most: float) -> int:
    """Find the first value that is not a number of at most this size; -1: none."""
    for k in range(len(values)):
        if not abs(values[k]) <= most:
            return k
    return -1
