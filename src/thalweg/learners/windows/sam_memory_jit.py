"""The two memories in one table, the distances of a row from both, and the nearest rows.

The long-term memory takes the first L columns, in no order; then come free ones; from START on the short-term memory,
oldest first. Rows pass from the one to the other by a move to the left, mostly by none. d features, C columns,
J candidates for the length of the short-term memory: all of it, the newer half, the newest quarter, …
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import called, inlined
from thalweg.jit.random import Seeds
from thalweg.jit.welford import welford
from thalweg.learners.windows.window_jit import LEAST_DISTANCE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

M_LONG, M_START, M_SIZE, M_NUMBER, M_TRACKED, M_RIGHT = range(6)
M_CELLS = 8  # the last three count what was right
L_FIRST, L_WRONG = range(2)
D_COUNT, D_MEAN, D_SQUARES, D_BY, D_COLUMNS = range(5)
SAM_K, SAM_WINDOW, SAM_MOST_LONG, SAM_LEAST_SHORT, SAM_RECALCULATE, SAM_BY_DISTANCE, SAM_SCALED, SAM_CELLS = range(8)
"""What the rules hold: k, rows in both memories, rows in the long-term one, the length that is never halved below, are
errors always exact, does the near count more, are rows scaled."""
SHORT, LONG, BOTH = range(3)
"""The lists of nearest rows: in the short-term memory, in the long-term memory, in both."""

MEASURED_TOGETHER = 512  # rows that are measured together
LARGEST_SCALED = 1e150  # values beyond are taken for this where they are scaled
STALE_VARIANCE = 1.21  # a change of the deviation by a tenth, squared, from which on rows are scaled anew


class Memory(NamedTuple):
    """The state, and what follows from the schema."""

    rows: Annotated[Floats, table("d", "C", loose=True)]
    """d × C: the rows of both memories, times their scale; the values of a feature side by side."""
    codes: Annotated[Ints, table("C", least=0, most="max(classes, 1) - 1")]
    """C: their classes."""
    marks: Annotated[Ints, table("C", loose=True)]
    """C: bits of a short-term row: was it right by short-term, long-term, both memories; then, for each candidate, is
    it wrong if only the candidate's earlier rows are known."""
    reach: Annotated[Ints, table("J", "C", loose=True)]
    """J × C: the number (rows are numbered as they are learned) of the oldest row that this rests on."""
    levels: Annotated[Ints, table("J", 2, loose=True)]
    """J × 2: of a candidate: the number of its first row, how many of its rows are wrong. They follow from the rest."""
    head: Annotated[Ints, table(M_CELLS, least=0, most="window", cells={
        M_LONG: span(0, "min(C, window)", name="long"), M_START: span("long", "C", name="start"),
        M_SIZE: span(0, "min(C - start, window - long)"), M_NUMBER: span(0, 2**53), M_TRACKED: span(0, "J"),
    })]  # fmt: skip
    """8: L, START, short-term rows, the number of the first, candidates that are tracked, how many of the short-term
    rows were right by short-term, long-term, both."""
    spans: Annotated[Floats, table("d", D_COLUMNS, cells={
        D_COUNT: span(0), D_SQUARES: span(0), D_BY: span(1.0 / LARGEST_SCALED),
    })]  # fmt: skip
    """d × 4: of a number: values seen, their mean, squared deviations; what it is multiplied by."""
    seeds: Annotated[Seeds, table(1)]
    """1: random numbers, to draw the first centres of a compression."""
    nominal: Ints
    """d: 1 for a nominal feature. It follows from the schema, and is not kept."""


class Search(NamedTuple):
    """Room to look at rows; nothing of it is kept."""

    query: Floats
    """d: the row that is predicted or learned, scaled."""
    x: Floats
    """d: a row of the memory as a query."""
    sums: Floats
    """C: squared distances."""
    near: Floats
    """3 × k: the least of them, in each list, ascending."""
    at: Ints
    """3 × k: where these rows lie."""
    found: Ints
    """3: how many there are."""
    predicted: Ints
    """3: the class that each list votes for; -1: nobody is there."""
    guess: Ints
    """J: the class that each candidate votes for."""
    oldest: Ints
    """J: the number of the oldest row that voted."""
    votes: Floats
    """Classes: zero, but for a moment."""


class Clusters(NamedTuple):
    """Room to compress; nothing of it is kept."""

    x: Floats
    """d: a row as a query (that of Search)."""
    sums: Floats
    """C: squared distances (those of Search)."""
    ends: Ints
    """Classes + 1: where each class begins among the sorted rows."""
    old: Floats
    """d × C: the long-term memory sorted by classes, while it is compressed."""
    centres: Floats
    """d × C: the centres, then copies of those that have moved."""
    least: Floats
    """C: how far each row is from its centre, squared."""
    second: Floats
    """C: how far it is at first from the nearest other centre, squared."""
    blocks: Floats
    """C: sums of a few of them."""
    own: Ints
    """C: its centre."""
    counts: Ints
    """C: rows of a centre."""
    moved: Ints
    """C: has a centre moved?"""
    heads: Ints
    """C: the first row of a centre; then the centres that have moved."""
    chain: Ints
    """C: the next row of the same centre."""


# -- distances --------------------------------------------------------------------------------------------------------


@called
def measure(rows: Floats, nominal: Ints, x: Floats, first: int, end: int, sums: Floats) -> None:
    """Measure the squared distance of x from some columns; each is added feature by feature, in one order only."""
    d = len(x)
    for a in range(first, end, MEASURED_TOGETHER):
        n = min(MEASURED_TOGETHER, end - a)
        s = sums[a : a + n]
        for i in range(n):
            s[i] = 0.0
        f = 0
        while f < d:
            if f + 4 <= d and nominal[f] + nominal[f + 1] + nominal[f + 2] + nominal[f + 3] == 0:
                add_four(s, rows[f, a : a + n], rows[f + 1, a : a + n], rows[f + 2, a : a + n], rows[f + 3, a : a + n],
                         x[f], x[f + 1], x[f + 2], x[f + 3], n)  # fmt: skip
                f += 4
            elif nominal[f] != 0:
                z, v = rows[f, a : a + n], x[f]
                for i in range(n):
                    s[i] += 0.0 if z[i] == v else 1.0
                f += 1
            else:
                z, v = rows[f, a : a + n], x[f]
                for i in range(n):
                    gap = v - z[i]
                    s[i] += gap * gap
                f += 1


@inlined
def add_four(s: Floats, z0: Floats, z1: Floats, z2: Floats, z3: Floats, x0: float, x1: float, x2: float, x3: float,
             n: int) -> None:  # fmt: skip
    """Add the squared differences in four features."""
    for i in range(n):
        total = s[i]
        gap = x0 - z0[i]
        total += gap * gap
        gap = x1 - z1[i]
        total += gap * gap
        gap = x2 - z2[i]
        total += gap * gap
        gap = x3 - z3[i]
        total += gap * gap
        s[i] = total


# -- the nearest ------------------------------------------------------------------------------------------------------


@called
def collect(sums: Floats, first: int, end: int, near: Floats, at: Ints, found: int, k: int) -> int:
    """Let columns join the list of the k nearest, the last one first; among equals whoever came first stays."""
    p = end - 1
    while p >= first and found < k:
        insert(near, at, found, sums[p], p)
        found += 1
        p -= 1
    if p >= first:
        limit = near[k - 1]
        while p >= first:
            if sums[p] < limit:
                insert(near, at, k - 1, sums[p], p)
                limit = near[k - 1]
            p -= 1
    return found


@inlined
def insert(near: Floats, at: Ints, i: int, v: float, p: int) -> None:
    """Put v into the ascending list, whose place i is free or given up."""
    while i > 0 and near[i - 1] > v:
        near[i], at[i] = near[i - 1], at[i - 1]
        i -= 1
    near[i], at[i] = v, p


@called
def merge(search: Search, k: int) -> None:
    """Make the list of both memories from their lists; among equals the short-term memory comes first."""
    near, at, found = search.near, search.at, search.found
    i, j, m = 0, 0, 0
    while m < k and (i < found[SHORT] or j < found[LONG]):
        if j >= found[LONG] or (i < found[SHORT] and near[SHORT, i] <= near[LONG, j]):
            near[BOTH, m], at[BOTH, m] = near[SHORT, i], at[SHORT, i]
            i += 1
        else:
            near[BOTH, m], at[BOTH, m] = near[LONG, j], at[LONG, j]
            j += 1
        m += 1
    found[BOTH] = m


@inlined
def vote_of(far: float, by_distance: int) -> float:
    """Give the vote of a row at this squared distance."""
    return 1.0 / max(math.sqrt(far), LEAST_DISTANCE) if by_distance != 0 else 1.0


@called
def find_winner(near: Floats, at: Ints, found: int, codes: Ints, by_distance: int, votes: Floats) -> int:
    """Give the class with most votes in a list, the first class among equals; -1 when the list is empty.

    argmax_c Σ 1 / d(x, x_i) over the k nearest with y_i = c (Losing et al., the distance-weighted kNN).
    """
    for i in range(found):
        votes[codes[at[i]]] += vote_of(near[i], by_distance)
    best = -1
    for i in range(found):
        c = codes[at[i]]
        if best < 0 or votes[c] > votes[best] or (votes[c] == votes[best] and c < best):
            best = c
    for i in range(found):
        votes[codes[at[i]]] = 0.0
    return best


@inlined
def best_memory(head: Ints) -> int:
    """Give the memory that was right most often of late: short-term, then long-term, then both among equals."""
    short, far, both = head[M_RIGHT + SHORT], head[M_RIGHT + LONG], head[M_RIGHT + BOTH]
    if head[M_LONG] == 0 or (short >= far and short >= both):
        return SHORT
    return LONG if far >= both else BOTH


@inlined
def candidates(n: int, rules: Ints) -> int:
    """Give how many candidates there are for n short-term rows: n, n // 2, n // 4, …"""
    if n < 2 * rules[SAM_LEAST_SHORT] or n <= rules[SAM_K]:
        return 0
    count = 1
    while n >> (count - 1) >= 2 * rules[SAM_LEAST_SHORT] and n >> count > rules[SAM_K]:
        count += 1
    return count


@called
def look(memory: Memory, search: Search, rules: Ints, x: Floats, n: int) -> None:
    """Find the nearest in all memories, and what each would say; and each candidate, if x were row n of the short-term
    memory.
    """
    head, k, by_distance, codes = memory.head, rules[SAM_K], rules[SAM_BY_DISTANCE], memory.codes
    near, at, found = search.near, search.at, search.found
    start, long = head[M_START], head[M_LONG]
    measure(memory.rows, memory.nominal, x, start, start + n, search.sums)
    measure(memory.rows, memory.nominal, x, 0, long, search.sums)
    end, m = start + n, 0
    for j in range(candidates(n + 1, rules) - 1, -1, -1):
        first = start + n + 1 - ((n + 1) >> j)
        m = collect(search.sums, first, end, near[SHORT], at[SHORT], m, k)
        end = first
        search.guess[j] = find_winner(near[SHORT], at[SHORT], m, codes, by_distance, search.votes)
        search.oldest[j] = least_of(at[SHORT], m) - start + head[M_NUMBER]
    found[SHORT] = collect(search.sums, start, end, near[SHORT], at[SHORT], m, k)
    found[LONG] = collect(search.sums, 0, long, near[LONG], at[LONG], 0, k)
    merge(search, k)
    for i in range(3):
        search.predicted[i] = find_winner(near[i], at[i], found[i], codes, by_distance, search.votes)


@inlined
def least_of(at: Ints, m: int) -> int:
    """Give the first column of a list."""
    least = at[0]
    for i in range(1, m):
        least = min(least, at[i])
    return int(least)


# -- scale ------------------------------------------------------------------------------------------------------------


@inlined
def scale_row(memory: Memory, rules: Ints, x: Floats, query: Floats) -> None:
    """Write a row as it is kept and asked."""
    for f in range(len(x)):
        query[f] = x[f]
        if rules[SAM_SCALED] != 0 and memory.nominal[f] == 0:
            query[f] = max(-LARGEST_SCALED, min(LARGEST_SCALED, x[f] * memory.spans[f, D_BY]))


@called
def rescale(memory: Memory, x: Floats) -> None:
    """Let the deviations take one more row, and scale what is kept anew where one has changed by a tenth."""
    for f in range(len(x)):
        if memory.nominal[f] != 0:
            continue
        span, v = memory.spans[f], max(-LARGEST_SCALED, min(LARGEST_SCALED, x[f]))
        span[D_COUNT] += 1.0
        span[D_MEAN], span[D_SQUARES] = welford(span[D_COUNT], span[D_MEAN], span[D_SQUARES], v, 1.0)
        variance = span[D_SQUARES] / span[D_COUNT]
        now = variance * span[D_BY] * span[D_BY]
        if not 0.0 < variance < math.inf or 1.0 / STALE_VARIANCE <= now <= STALE_VARIANCE:
            continue
        by = max(1.0 / LARGEST_SCALED, min(LARGEST_SCALED, 1.0 / math.sqrt(variance)))
        ratio, row, head = by / span[D_BY], memory.rows[f], memory.head
        for i in range(head[M_START] + head[M_SIZE]):
            row[i] = max(-LARGEST_SCALED, min(LARGEST_SCALED, row[i] * ratio))
        span[D_BY] = by


# -- moving rows ------------------------------------------------------------------------------------------------------


@inlined
def take_column(rows: Floats, i: int, x: Floats) -> None:
    """Copy a column out."""
    for f in range(len(x)):
        x[f] = rows[f, i]


@inlined
def remove(memory: Memory, i: int, last: int) -> None:
    """Let the last column take the place of column i."""
    for f in range(len(memory.rows)):
        memory.rows[f, i] = memory.rows[f, last]
    memory.codes[i] = memory.codes[last]


@called
def move_left(memory: Memory, to: int, first: int, n: int, short: bool) -> None:
    """Move n columns to the left; with all that is known of them if they stay in the short-term memory."""
    if to == first:
        return
    for f in range(len(memory.rows)):
        row = memory.rows[f]
        for i in range(n):
            row[to + i] = row[first + i]
    for i in range(n):
        memory.codes[to + i] = memory.codes[first + i]
    if short:
        for i in range(n):
            memory.marks[to + i] = memory.marks[first + i]
        for j in range(memory.head[M_TRACKED]):
            reach = memory.reach[j]
            for i in range(n):
                reach[to + i] = reach[first + i]


@called
def leave_short(memory: Memory, n: int) -> None:
    """Let the oldest n rows leave the short-term memory, and its histories."""
    head = memory.head
    for i in range(head[M_START], head[M_START] + n):
        for m in range(3):
            head[M_RIGHT + m] -= (memory.marks[i] >> m) & 1
    head[M_START] += n
    head[M_SIZE] -= n
    head[M_NUMBER] += n
