"""Tickets: labels that were asked for and have not come. Ticket t is the t-th label asked for, counted from 0.

| table  | shape            | dtype   | meaning                                                              |
| rows   | room, features   | float64 | the row of ticket t is rows[t % room], as long as the ticket is open |
| status | max_open         | int8    | of ticket t: status[t % max_open], for the latest max_open tickets   |
| born   | max_open         | int64   | how many rows had arrived before the row of the ticket               |
| counts | 8                | int64   | see the names below                                                  |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.int8]

# GIVEN tickets; OLDEST one that may be open; how many are OPEN, ANSWERED, EXPIRED;
# answers that were REPEATED, to tickets UNKNOWN or too old (LATE)
GIVEN, OLDEST, OPEN, ANSWERED, EXPIRED, REPEATED, UNKNOWN, LATE, COUNTS = range(9)

# status of a ticket
NONE, WAITING, DONE, GONE = range(4)


@inlined
def expire(status: Bytes, born: Ints, counts: Ints, now: int, max_age: int, coming: int) -> None:
    """Let go of tickets that max_age rows have come after, or for which, with those coming, there is no room."""
    size = len(status)
    t = counts[OLDEST]
    while t < counts[GIVEN]:
        place = t % size
        if status[place] == WAITING:
            if counts[GIVEN] + coming - t <= size and (max_age == 0 or now - born[place] <= max_age):
                break
            status[place] = GONE
            counts[OPEN] -= 1
            counts[EXPIRED] += 1
        t += 1
    counts[OLDEST] = t


@compiled
def give(
    rows: Floats, status: Bytes, born: Ints, counts: Ints, X: Floats, why: Bytes, start: int, first: int,
    max_age: int, tickets: Ints,
) -> int:  # fmt: skip
    """Give a ticket to each row that is wanted; stop at a row for which ``rows`` must grow, and say which.

    first: how many rows had arrived before those of X.
    """
    for e in range(start, len(X)):
        if why[e] == 0:
            continue
        expire(status, born, counts, first + e, max_age, 1)
        t = counts[GIVEN]
        if t - counts[OLDEST] >= len(rows):
            return e
        for f in range(X.shape[1]):
            rows[t % len(rows), f] = X[e, f]
        status[t % len(status)] = WAITING
        born[t % len(status)] = first + e
        counts[GIVEN] += 1
        counts[OPEN] += 1
        tickets[e] = t
    return len(X)


@compiled
def let_go(status: Bytes, born: Ints, counts: Ints, now: int, max_age: int) -> None:
    """Let go of tickets that are too old now."""
    expire(status, born, counts, now, max_age, 0)


@compiled
def take(
    status: Bytes, born: Ints, counts: Ints, tickets: Ints, now: int, max_age: int, kinds: Ints
) -> None:  # fmt: skip
    """Take answers in order; write for each what becomes of it: ANSWERED, REPEATED, UNKNOWN or LATE."""
    expire(status, born, counts, now, max_age, 0)
    for j in range(len(tickets)):
        t = tickets[j]
        kind = UNKNOWN
        if 0 <= t < counts[GIVEN]:
            place = t % len(status)
            if counts[GIVEN] - t > len(status) or status[place] == GONE:
                kind = LATE
            elif status[place] == DONE:
                kind = REPEATED
            else:
                kind = ANSWERED
                status[place] = DONE
                counts[OPEN] -= 1
        counts[kind] += 1
        kinds[j] = kind


@compiled
def move(old: Floats, new: Floats, first: int, last: int) -> None:
    """Carry the rows of tickets first to last - 1 over to a larger table."""
    for t in range(first, last):
        for f in range(old.shape[1]):
            new[t % len(new), f] = old[t % len(old), f]
