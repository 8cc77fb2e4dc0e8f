"""Tickets: labels that were asked for and have not come. Ticket t is the t-th label asked for, counted from 0.

| table  | shape          | dtype   | meaning                                                                       |
| rows   | room, features | float64 | the rows of open tickets: those of a ``core.waiting.Waiting``, and so is free |
| free   | 1 + room       | int64   | free[0] places in rows hold no row: free[1], free[2], …                       |
| latest | max_open, 2    | int64   | latest[t % max_open] of ticket t: T_AT, T_BORN                                |
| counts | 8              | int64   | see the names below                                                           |

T_AT: where the row of an open ticket waits, counted from 1; AT_DONE or AT_GONE if it is not open; 0 if it was never
given. T_BORN: how many rows had arrived before its own. What is kept in a file is in ``Desk``.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import compiled, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

T_AT, T_BORN = range(2)
AT_DONE, AT_GONE = -1, -2

# GIVEN tickets; OLDEST one that may be open; how many are OPEN, ANSWERED, EXPIRED;
# answers that were REPEATED, to tickets UNKNOWN or too old (LATE)
GIVEN, OLDEST, OPEN, ANSWERED, EXPIRED, REPEATED, UNKNOWN, LATE, COUNTS = range(9)


class Desk(NamedTuple):
    """What is kept of tickets."""

    counts: Annotated[
        Ints,
        table(
            COUNTS,
            least=0,
            most=EXACT,
            cells={GIVEN: span(0, EXACT, name="given"), OLDEST: span("given - kept", "given"), OPEN: span(0, "given")},
        ),
    ]
    """8: as named above."""
    latest: Annotated[Ints, table("kept", 2, cells={T_AT: span(AT_GONE, 1), T_BORN: span(0, EXACT)})]
    """Of the last max_open tickets, or all: T_AT, 1 for those that are open, and T_BORN."""
    rows: Annotated[Floats, table("waiting", "features", loose=True, optional=True)]
    """The rows of open tickets, in order; where they are sparse, they are kept as such in the place of this table."""


@inlined
def expire(free: Ints, latest: Ints, counts: Ints, now: int, max_age: int, coming: int) -> None:
    """Let go of tickets that max_age rows have come after, or for which, with those coming, there is no room."""
    size = len(latest)
    t = counts[OLDEST]
    while t < counts[GIVEN]:
        i = t % size
        if latest[i, T_AT] > 0:
            if counts[GIVEN] + coming - t <= size and (max_age == 0 or now - latest[i, T_BORN] <= max_age):
                break
            free[0] += 1
            free[free[0]] = latest[i, T_AT] - 1
            latest[i, T_AT] = AT_GONE
            counts[OPEN] -= 1
            counts[EXPIRED] += 1
        t += 1
    counts[OLDEST] = t


@compiled
def give(
    rows: Floats, free: Ints, latest: Ints, counts: Ints, X: Floats, why: NDArray[np.int8], first: int, max_age: int,
    tickets: Ints,
) -> None:  # fmt: skip
    """Give a ticket to each row that is wanted. first: how many rows had arrived before those of X."""
    for e in range(len(X)):
        if why[e] == 0:
            continue
        expire(free, latest, counts, first + e, max_age, 1)
        place = free[free[0]]
        free[0] -= 1
        for f in range(X.shape[1]):
            rows[place, f] = X[e, f]
        t = counts[GIVEN]
        latest[t % len(latest), T_AT] = place + 1
        latest[t % len(latest), T_BORN] = first + e
        counts[GIVEN] += 1
        counts[OPEN] += 1
        tickets[e] = t


@compiled
def find(free: Ints, latest: Ints, counts: Ints, tickets: Ints, now: int, max_age: int, kinds: Ints) -> None:
    """Let go of tickets that are too old now; then say what an answer to each of these tickets, in order, would be."""
    expire(free, latest, counts, now, max_age, 0)
    for j in range(len(tickets)):
        t = tickets[j]
        kinds[j] = UNKNOWN
        if 0 <= t < counts[GIVEN]:
            i = t % len(latest)
            if counts[GIVEN] - t > len(latest) or latest[i, T_AT] == AT_GONE:
                kinds[j] = LATE
            elif latest[i, T_AT] < 0:
                kinds[j] = REPEATED
            else:
                kinds[j] = ANSWERED
                latest[i, T_AT] = AT_GONE - latest[i, T_AT]  # for now: a second answer to it is a repeated one
    for j in range(len(tickets)):
        if kinds[j] == ANSWERED:
            i = tickets[j] % len(latest)
            latest[i, T_AT] = AT_GONE - latest[i, T_AT]


@compiled
def close(latest: Ints, counts: Ints, tickets: Ints, kinds: Ints, places: Ints) -> None:
    """Count answers to tickets that were just found; close those that waited, and write where their rows are."""
    n = 0
    for j in range(len(tickets)):
        counts[kinds[j]] += 1
        if kinds[j] == ANSWERED:
            i = tickets[j] % len(latest)
            places[n] = latest[i, T_AT] - 1
            n += 1
            latest[i, T_AT] = AT_DONE
            counts[OPEN] -= 1
