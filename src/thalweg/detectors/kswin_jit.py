"""KSWIN (Raab, Heusinger, Schleif 2020) on one float64 row per detector.

Of a window of the latest w values the newest r are compared, by the test of Kolmogorov and Smirnov, with r of the older
ones, drawn anew for every value. The window lies in w slots, used round and round. It is also kept in ascending order,
so that the distance of the two samples takes one walk and no sorting.

table[i], one row per detector:

| columns  | name       | meaning                                                                            |
| 0        | K_HELD     | values in the window                                                               |
| 1        | K_NEXT     | slot of the next value; of the oldest value, when the window is full               |
| 2        | K_DRAWS    | random numbers drawn so far                                                        |
| 3        | K_DISTANCE | what the last test gave: r times the distance of Kolmogorov and Smirnov            |
| 4        | K_CHANGES  | drifts so far                                                                      |
| 5        | K_LAST     | the last level: 0 stable, 2 drift                                                  |
| 6        | K_WINDOW   | constant: w                                                                        |
| 7        | K_RECENT   | constant: r                                                                        |
| 8, 9     | K_KEY      | constant: the seed of the random numbers, upper and lower 32 bits                  |
| 10       | K_SORTED   | K_HELD values in ascending order, then what was left there                         |
| 10 + w   |            | ORDER: the slot of each of these                                                   |
| 10 + 2 w |            | MARKS: of each slot: 1.0 among the newest r values, -1.0 drawn (in a test), or 0.0 |
| 10 + 3 w |            | DECK: the numbers 0, …, w - r - 1 as the draws have mixed them                     |

rules: 0 KR_FAR, the least K_DISTANCE that chance does not explain; 1 KR_BOTH, 1.0 where a fall is a drift, too.
"""

from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import span, table
from thalweg.detectors.row_jit import COUNT, Levels, Table
from thalweg.jit.compile import compiled, inlined
from thalweg.jit.random import GAMMA, mixed, seeded

K_HELD, K_NEXT, K_DRAWS, K_DISTANCE, K_CHANGES, K_LAST, K_WINDOW, K_RECENT, K_KEY = range(9)
K_SORTED = 10
KR_FAR, KR_BOTH = range(2)
CODE = 6
_S32 = np.uint64(32)


class Rows(NamedTuple):
    """The state of n detectors."""

    table: Annotated[
        Table,
        table(
            "n",
            "10 + 4 * window - recent",
            cells={
                K_HELD: span(0, "window", whole=True),
                K_NEXT: span(0, "window - 1", whole=True),
                K_DRAWS: span(0, 2**52, whole=True),
                K_DISTANCE: span(0, "recent", whole=True),
                K_CHANGES: COUNT,
                K_LAST: span(0, 2, whole=True),
                K_WINDOW: span("window", "window"),
                K_RECENT: span("recent", "recent"),
                K_KEY: span(0, 2**32 - 1, whole=True),
                K_KEY + 1: span(0, 2**32 - 1, whole=True),
            },
        ),
    ]
    """A row for each, see above."""


def new_table(n: int, *, window: int = 100, recent: int = 30, seed: int = 1) -> Table:
    """Make the table of n detectors that have seen nothing; each draws its own random numbers.

    >>> new_table(100).shape  # 3 KB each
    (100, 380)
    """
    table = np.zeros((n, K_SORTED + 4 * window - recent))
    table[:, K_WINDOW] = window
    table[:, K_RECENT] = recent
    keys = seeded(seed, n)
    table[:, K_KEY] = keys >> _S32
    table[:, K_KEY + 1] = keys & np.uint64(0xFFFFFFFF)
    table[:, K_SORTED + 3 * window :] = np.arange(window - recent)
    return table


@inlined
def clear(table: Table, i: int) -> None:
    """Forget everything but the constants."""
    for k in range(K_WINDOW):
        table[i, k] = 0.0
    deck = K_SORTED + 3 * int(table[i, K_WINDOW])
    for k in range(K_SORTED, deck):
        table[i, k] = 0.0
    for k in range(deck, table.shape[1]):
        table[i, k] = k - deck


@inlined
def estimate(table: Table, i: int) -> float:
    """Give the mean of the newest r values, or of as many as there are; 0 before the first."""
    w, n = int(table[i, K_WINDOW]), min(table[i, K_HELD], table[i, K_RECENT])
    return total(table, i, w, 1.0) / n if n > 0.0 else 0.0


@compiled
def step(table: Table, i: int, x: float, rules: Table) -> int:
    """Take one value; 2 when it is a drift, else 0."""
    w, r = int(table[i, K_WINDOW]), int(table[i, K_RECENT])
    insert(table, i, w, r, x)
    table[i, K_LAST] = 0.0
    if table[i, K_HELD] < w:
        return 0
    draw(table, i, w, r)
    distance = compare(table, i, w)
    table[i, K_DISTANCE] = distance
    far = distance >= rules[KR_FAR]  # D = max |F₁ - F₂| of the two samples, whose p-value is then at most α
    drift = far and (rules[KR_BOTH] > 0.0 or total(table, i, w, 1.0) > total(table, i, w, -1.0))
    put_back(table, i, w, r)
    if far:
        keep_newest(table, i, w, r)
    if not drift:
        return 0
    table[i, K_CHANGES] += 1.0
    table[i, K_LAST] = 2.0
    return 2


@inlined
def insert(table: Table, i: int, w: int, r: int, x: float) -> None:
    """Put a value into its slot, over the oldest when the window is full, and into the order."""
    slot, n, order, marks = int(table[i, K_NEXT]), int(table[i, K_HELD]), K_SORTED + w, K_SORTED + 2 * w
    if n == w:
        n -= 1
        at = order
        while table[i, at] != slot:
            at += 1
        for k in range(at, order + n):
            table[i, k] = table[i, k + 1]
            table[i, k - w] = table[i, k - w + 1]
    at = K_SORTED + n
    while at > K_SORTED and table[i, at - 1] > x:
        table[i, at] = table[i, at - 1]
        table[i, at + w] = table[i, at + w - 1]
        at -= 1
    table[i, at] = x
    table[i, at + w] = slot
    table[i, K_HELD] = n + 1
    table[i, K_NEXT] = slot + 1 if slot + 1 < w else 0
    table[i, marks + slot] = 1.0
    if n >= r:
        table[i, marks + (slot - r if slot >= r else slot - r + w)] = 0.0


@inlined
def draw(table: Table, i: int, w: int, r: int) -> None:
    """Mark r of the older values, each set of r equally likely: the first r cards of the deck, mixed again."""
    key = (np.uint64(table[i, K_KEY]) << _S32) | np.uint64(table[i, K_KEY + 1])
    z = key + np.uint64(table[i, K_DRAWS]) * GAMMA
    table[i, K_DRAWS] += r
    oldest, marks, deck = int(table[i, K_NEXT]), K_SORTED + 2 * w, K_SORTED + 3 * w
    for j in range(r):
        z += GAMMA
        at = deck + j + below(z, w - r - j)
        card = table[i, at]
        table[i, at] = table[i, deck + j]
        table[i, deck + j] = card
        slot = oldest + int(card)
        table[i, marks + (slot if slot < w else slot - w)] = -1.0


@inlined
def below(z: np.uint64, n: int) -> int:
    """Mix the state of splitmix64 into a number from 0, …, n - 1."""
    return int(np.int64(((mixed(z) >> _S32) * np.uint64(n)) >> _S32))


@inlined
def compare(table: Table, i: int, w: int) -> float:
    """Walk up the window; give the greatest difference between how many new and how many drawn values are passed."""
    order, marks = K_SORTED + w, K_SORTED + 2 * w
    passed, most = 0.0, 0.0
    for k in range(w):
        passed += table[i, marks + int(table[i, order + k])]
        if k == w - 1 or table[i, K_SORTED + k + 1] > table[i, K_SORTED + k]:  # equal values are passed together
            most = max(most, abs(passed))
    return most


@inlined
def total(table: Table, i: int, w: int, mark: float) -> float:
    """Sum the values with this mark."""
    s = 0.0
    for k in range(K_SORTED, K_SORTED + int(table[i, K_HELD])):
        if table[i, K_SORTED + 2 * w + int(table[i, k + w])] == mark:
            s += table[i, k]
    return s


@inlined
def put_back(table: Table, i: int, w: int, r: int) -> None:
    """Take the marks off the drawn values."""
    oldest, marks, deck = int(table[i, K_NEXT]), K_SORTED + 2 * w, K_SORTED + 3 * w
    for j in range(r):
        slot = oldest + int(table[i, deck + j])
        table[i, marks + (slot if slot < w else slot - w)] = 0.0


@inlined
def keep_newest(table: Table, i: int, w: int, r: int) -> None:
    """Drop all but the newest r values."""
    to = K_SORTED
    for k in range(K_SORTED, K_SORTED + w):
        if table[i, K_SORTED + 2 * w + int(table[i, k + w])] == 1.0:
            table[i, to] = table[i, k]
            table[i, to + w] = table[i, k + w]
            to += 1
    table[i, K_HELD] = r


@compiled
def run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
    """Take values in order; write the level of each."""
    for k in range(len(values)):
        out[k] = step(table, i, values[k], rules)
