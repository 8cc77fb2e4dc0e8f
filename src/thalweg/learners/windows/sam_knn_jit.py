"""Learning and predicting with memories that adjust themselves: see sam_memory_jit.py for their tables.

Losing, Hammer, Wersing (2016). The errors that choose the length of the short-term memory need no matrix of distances:
the nearest earlier rows of a new one are found in all candidates by one pass from the newest row to the oldest. What a
row said stays exact while the rows it rests on are in the candidate (``reach``), so that to count anew is to ask few.
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, hot, inlined
from thalweg.learners.windows.sam_compress_jit import compress
from thalweg.learners.windows.sam_memory_jit import (
    BOTH,
    L_FIRST,
    L_WRONG,
    LONG,
    M_LONG,
    M_NUMBER,
    M_RIGHT,
    M_SIZE,
    M_START,
    M_TRACKED,
    SAM_BY_DISTANCE,
    SAM_K,
    SAM_MOST_LONG,
    SAM_RECALCULATE,
    SAM_SCALED,
    SAM_WINDOW,
    SHORT,
    Clusters,
    Memory,
    Search,
    best_memory,
    candidates,
    collect,
    find_winner,
    least_of,
    leave_short,
    look,
    measure,
    merge,
    move_left,
    remove,
    rescale,
    scale_row,
    take_column,
    vote_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@hot
def play(
    memory: Memory, search: Search, clusters: Clusters, rules: Ints, X: Floats, y: Ints, events: Ints, out: Floats,
    known: int, full: int,
) -> int:  # fmt: skip
    """Play the events; give how many were played before there was no room for a row. ``full``: columns at most."""
    memory, search, clusters = Memory(*memory), Search(*search), Clusters(*clusters)
    head, query = memory.head, search.query
    for e in range(len(events)):
        r = events[e]
        both = r >= 0 and e + 1 < len(events) and events[e + 1] == ~r
        if both or r < 0:  # a row is about to be learned
            if head[M_START] + head[M_SIZE] == len(memory.codes) and not make_room(memory, full):
                return e
        if r >= 0:
            scale_row(memory, rules, X[r], query)
        if both:
            look(memory, search, rules, query, head[M_SIZE])
            answer(memory, search, rules, best_memory(head), out[r], known)
        elif r >= 0:
            which = best_memory(head)
            ask(memory, search, rules, query, which)
            answer(memory, search, rules, which, out[r], known)
        else:
            if e == 0 or events[e - 1] != ~r:  # else the query before has looked already
                scale_row(memory, rules, X[~r], query)
                look(memory, search, rules, query, head[M_SIZE])
            known = max(known, y[~r] + 1)
            learn(memory, search, clusters, rules, query, y[~r])
            if rules[SAM_SCALED] != 0:
                rescale(memory, X[~r])
    return len(events)


@called
def make_room(memory: Memory, full: int) -> bool:
    """Move the short-term memory to the left, if that is worth it or the table cannot grow any more."""
    head, columns = memory.head, len(memory.codes)
    free = head[M_START] - head[M_LONG]
    if columns < full and free < 16 + columns // 16:
        return False
    move_left(memory, head[M_LONG], head[M_START], head[M_SIZE], True)
    head[M_START] = head[M_LONG]
    return True


@called
def ask(memory: Memory, search: Search, rules: Ints, x: Floats, which: int) -> None:
    """Find the nearest in one memory, or in both."""
    head, near, at, found, k = memory.head, search.near, search.at, search.found, rules[SAM_K]
    if which != LONG:
        first, end = head[M_START], head[M_START] + head[M_SIZE]
        measure(memory.rows, memory.nominal, x, first, end, search.sums)
        found[SHORT] = collect(search.sums, first, end, near[SHORT], at[SHORT], 0, k)
    if which != SHORT:
        measure(memory.rows, memory.nominal, x, 0, head[M_LONG], search.sums)
        found[LONG] = collect(search.sums, 0, head[M_LONG], near[LONG], at[LONG], 0, k)
    if which == BOTH:
        merge(search, k)


@called
def answer(memory: Memory, search: Search, rules: Ints, which: int, p: Floats, known: int) -> None:
    """Write what the list says; nobody there: all classes alike."""
    total = 0.0
    for i in range(search.found[which]):
        c = memory.codes[search.at[which, i]]
        if c < known:
            p[c] += vote_of(search.near[which, i], rules[SAM_BY_DISTANCE])
    for c in range(known):
        total += p[c]
    for c in range(known):
        p[c] = p[c] / total if total > 0.0 else 1.0 / known


# -- learning ---------------------------------------------------------------------------------------------------------


@called
def learn(memory: Memory, search: Search, clusters: Clusters, rules: Ints, x: Floats, y: int) -> None:
    """Learn a row at which ``look`` has looked."""
    head = memory.head
    i, mark = head[M_START] + head[M_SIZE], 0
    for m in range(3):
        if search.predicted[m] == y:
            mark |= 1 << m
            head[M_RIGHT + m] += 1
    for f in range(len(x)):
        memory.rows[f, i] = x[f]
    memory.codes[i], memory.marks[i] = y, mark
    head[M_SIZE] += 1
    if head[M_SIZE] + head[M_LONG] > rules[SAM_WINDOW]:
        shrink(memory, clusters, rules)
        look(memory, search, rules, x, head[M_SIZE] - 1)
    if head[M_SIZE] > rules[SAM_K]:
        head[M_LONG] = clean(memory, search, y, 0, head[M_LONG])
    best = choose_length(memory, search, rules, y)
    if best > 0:
        shorten(memory, search, rules, best)


@called
def shrink(memory: Memory, clusters: Clusters, rules: Ints) -> None:
    """Bring both memories down to the window: the oldest short-term rows go over, the long-term memory is halved."""
    head = memory.head
    if head[M_LONG] <= rules[SAM_MOST_LONG]:
        n = rules[SAM_MOST_LONG] - head[M_LONG] + 1
        move_left(memory, head[M_LONG], head[M_START], n, False)
        leave_short(memory, n)
        head[M_LONG] += n
        head[M_TRACKED] = 0
    compress(memory, clusters, len(clusters.ends) - 1)
    while head[M_SIZE] + head[M_LONG] > rules[SAM_WINDOW]:  # nothing could be put together
        head[M_LONG] -= 1
        remove(memory, 0, head[M_LONG])


@called
def clean(memory: Memory, search: Search, y: int, first: int, n: int) -> int:
    """Take from n columns whoever contradicts y among the nearest (list LONG), as near as y's own kind (list SHORT).

    The cleaning of Losing et al.: θ is the largest distance of x from those of its k nearest in the short-term memory
    that have its label y; of its k nearest here those go that have another label and are no farther than θ. Give how
    many are left.
    """
    near, at, found, codes = search.near, search.at, search.found, memory.codes
    theta = 0.0
    for i in range(found[SHORT]):
        if codes[at[SHORT, i]] == y:
            theta = max(theta, near[SHORT, i])
    wrong = 0
    for i in range(found[LONG]):
        if near[LONG, i] <= theta and codes[at[LONG, i]] != y:
            at[LONG, wrong] = at[LONG, i]
            wrong += 1
    for i in range(wrong):  # the last column first, so that the others stay where they are
        last = i
        for j in range(i + 1, wrong):
            if at[LONG, j] > at[LONG, last]:
                last = j
        at[LONG, i], at[LONG, last] = at[LONG, last], at[LONG, i]
        n -= 1
        remove(memory, at[LONG, i], first + n)
    return n


# -- the length of the short-term memory ------------------------------------------------------------------------------


@called
def choose_length(memory: Memory, search: Search, rules: Ints, y: int) -> int:
    """Count the errors of all candidates with the newest row; give the one with the least, the longest among equals.

    The errors E of Losing et al. are interleaved test-train errors: each row of a candidate from its k-th on is
    predicted from the candidate's earlier rows alone.
    """
    head, levels, n = memory.head, memory.levels, memory.head[M_SIZE]
    count, had = candidates(n, rules), head[M_TRACKED]
    head[M_TRACKED] = count
    for j in range(min(had, count)):
        follow(memory, search, rules, j, y)
        if rules[SAM_RECALCULATE] != 0:
            recount(memory, search, rules, j)
    if count > had:
        begin(memory, search, rules, had, count)
    best = 0
    whole = error(levels[0, L_WRONG], n - rules[SAM_K]) if count > 0 else 0
    fewest = whole
    for j in range(1, count):
        if error(levels[j, L_WRONG], (n >> j) - rules[SAM_K]) < whole:
            recount(memory, search, rules, j)
            e = error(levels[j, L_WRONG], (n >> j) - rules[SAM_K])
            if e < fewest:
                best, fewest = j, e
    return best


@inlined
def error(wrong: int, n: int) -> int:
    """Give wrong / n in ten thousandths, rounded."""
    return (20_000 * wrong + n) // (2 * n)


@inlined
def follow(memory: Memory, search: Search, rules: Ints, j: int, y: int) -> None:
    """Let candidate j take the newest row; its first row may go, and the row that was predicted first with it."""
    head, level, n = memory.head, memory.levels[j], memory.head[M_SIZE]
    number = head[M_NUMBER] + n - (n >> j)
    if level[L_FIRST] < number:
        i = head[M_START] + level[L_FIRST] + rules[SAM_K] - head[M_NUMBER]
        level[L_WRONG] -= (memory.marks[i] >> (3 + j)) & 1
        level[L_FIRST] = number
    i = head[M_START] + n - 1
    memory.reach[j, i] = search.oldest[j]
    if search.guess[j] != y:
        memory.marks[i] |= 1 << (3 + j)
        level[L_WRONG] += 1


@called
def begin(memory: Memory, search: Search, rules: Ints, had: int, count: int) -> None:
    """Begin to track the candidates from ``had`` on: each row is asked once for all of them."""
    head, k, n = memory.head, rules[SAM_K], memory.head[M_SIZE]
    first, near, at = head[M_START] + n - (n >> had), search.near[SHORT], search.at[SHORT]
    for j in range(had, count):
        memory.levels[j, L_FIRST], memory.levels[j, L_WRONG] = head[M_NUMBER] + n - (n >> j), 0
    for i in range(first + k, head[M_START] + n):
        take_column(memory.rows, i, search.x)
        measure(memory.rows, memory.nominal, search.x, first, i, search.sums)
        end, found = i, 0
        for j in range(count - 1, had - 1, -1):
            until = head[M_START] + n - (n >> j)
            if until + k <= i:
                found = collect(search.sums, until, end, near, at, found, k)
                end = until
                write_guess(memory, search, rules, j, i, 0)


@called
def recount(memory: Memory, search: Search, rules: Ints, j: int) -> None:
    """Ask those rows of candidate j anew that rest on rows that are no longer in it."""
    head, k, n = memory.head, rules[SAM_K], memory.head[M_SIZE]
    first = head[M_START] + n - (n >> j)
    for i in range(first + k, head[M_START] + n):
        if memory.reach[j, i] < memory.levels[j, L_FIRST]:
            take_column(memory.rows, i, search.x)
            measure(memory.rows, memory.nominal, search.x, first, i, search.sums)
            collect(search.sums, first, i, search.near[SHORT], search.at[SHORT], 0, k)
            write_guess(memory, search, rules, j, i, (memory.marks[i] >> (3 + j)) & 1)


@called
def write_guess(memory: Memory, search: Search, rules: Ints, j: int, i: int, was: int) -> None:
    """Write down for candidate j what the k nearest say of row i, which was wrong or not."""
    head, codes, k, at = memory.head, memory.codes, rules[SAM_K], search.at[SHORT]
    guess = find_winner(search.near[SHORT], at, k, codes, rules[SAM_BY_DISTANCE], search.votes)
    wrong = 0 if guess == codes[i] else 1
    memory.levels[j, L_WRONG] += wrong - was
    memory.marks[i] = (memory.marks[i] & ~(1 << (3 + j))) | (wrong << (3 + j))
    memory.reach[j, i] = least_of(at, k) - head[M_START] + head[M_NUMBER]


@called
def shorten(memory: Memory, search: Search, rules: Ints, best: int) -> None:
    """Keep candidate ``best`` alone; of the older rows those go to the long-term memory that contradict nobody."""
    head, levels, marks, reach = memory.head, memory.levels, memory.marks, memory.reach
    first, size = head[M_START], head[M_SIZE] >> best
    left = head[M_SIZE] - size
    leave_short(memory, left)
    if size > rules[SAM_K]:
        left = clean_all(memory, search, rules, first, left)
    move_left(memory, head[M_LONG], first, left, False)
    head[M_LONG] += left
    head[M_TRACKED] = candidates(size, rules)
    for j in range(head[M_TRACKED]):
        levels[j, L_FIRST], levels[j, L_WRONG] = levels[j + best, L_FIRST], levels[j + best, L_WRONG]
        for i in range(head[M_START], head[M_START] + size):
            reach[j, i] = reach[j + best, i]
    for i in range(head[M_START], head[M_START] + size):
        marks[i] = (marks[i] & 7) | ((marks[i] >> (3 + best)) << 3)


@called
def clean_all(memory: Memory, search: Search, rules: Ints, first: int, n: int) -> int:
    """Clean n columns by every row of the short-term memory; give how many are left."""
    head, k, x, sums, near, at = memory.head, rules[SAM_K], search.x, search.sums, search.near, search.at
    start, end = head[M_START], head[M_START] + head[M_SIZE]
    for i in range(start, end):
        if n == 0:
            break
        take_column(memory.rows, i, x)
        measure(memory.rows, memory.nominal, x, start, end, sums)
        measure(memory.rows, memory.nominal, x, first, first + n, sums)
        m = collect(sums, i + 1, end, near[SHORT], at[SHORT], 0, k)
        search.found[SHORT] = collect(sums, start, i, near[SHORT], at[SHORT], m, k)
        search.found[LONG] = collect(sums, first, first + n, near[LONG], at[LONG], 0, k)
        n = clean(memory, search, memory.codes[i], first, n)
    return n
