"""Learning and predicting with memories that adjust themselves: see sam_memory_jit.py for their tables.

Losing, Hammer, Wersing (2016). The errors that choose the length of the short-term memory need no matrix of distances:
the nearest earlier rows of a new one are found in all candidates by one pass from the newest row to the oldest. What a
row said stays exact while the rows it rests on are in the candidate (``reach``), so that to count anew is to ask few.
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import Seeds
from thalweg.learners.windows.sam_compress_jit import compress
from thalweg.learners.windows.sam_memory_jit import (
    BOTH,
    BY_DISTANCE,
    FAR,
    FIRST,
    LONG,
    MOST_LONG,
    NUMBER,
    RECALCULATE,
    RIGHT,
    SCALED,
    SHORT,
    SIZE,
    START,
    TRACKED,
    WINDOW,
    WRONG,
    Bench,
    Desk,
    K,
    Memory,
    candidates,
    collect,
    elect,
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
    voice,
    winner,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@hot
def play(rows: Floats, codes: Ints, marks: Ints, reach: Ints, levels: Ints, head: Ints, spans: Floats, seeds: Seeds,
         nominal: Ints, query: Floats, x: Floats, sums: Floats, near: Floats, at: Ints, found: Ints, said: Ints,
         guess: Ints, oldest: Ints, votes: Floats, ends: Ints, old: Floats, centres: Floats, least: Floats,
         second: Floats, blocks: Floats, own: Ints, counts: Ints, moved: Ints, heads: Ints, chain: Ints, rules: Ints,
         X: Floats, y: Ints, events: Ints, out: Floats, known: int, full: int) -> int:  # fmt: skip
    """Play the events; give how many were played before there was no room for a row. ``full``: columns at most."""
    memory = Memory(rows, codes, marks, reach, levels, head, spans, seeds, nominal)
    desk = Desk(query, x, sums, near, at, found, said, guess, oldest, votes)
    bench = Bench(x, sums, ends, old, centres, least, second, blocks, own, counts, moved, heads, chain)
    for e in range(len(events)):
        r = events[e]
        both = r >= 0 and e + 1 < len(events) and events[e + 1] == ~r
        if both or r < 0:  # a row is about to be learned
            if head[START] + head[SIZE] == len(codes) and not make_room(memory, full):
                return e
        if r >= 0:
            scale_row(memory, rules, X[r], query)
        if both:
            look(memory, desk, rules, query, head[SIZE])
            answer(memory, desk, rules, winner(head), out[r], known)
        elif r >= 0:
            which = winner(head)
            ask(memory, desk, rules, query, which)
            answer(memory, desk, rules, which, out[r], known)
        else:
            if e == 0 or events[e - 1] != ~r:  # else the query before has looked already
                scale_row(memory, rules, X[~r], query)
                look(memory, desk, rules, query, head[SIZE])
            known = max(known, y[~r] + 1)
            learn(memory, desk, bench, rules, query, y[~r])
            if rules[SCALED] != 0:
                rescale(memory, X[~r])
    return len(events)


@called
def make_room(memory: Memory, full: int) -> bool:
    """Move the short-term memory to the left, if that is worth it or the table cannot grow any more."""
    head, columns = memory.head, len(memory.codes)
    free = head[START] - head[LONG]
    if columns < full and free < 16 + columns // 16:
        return False
    move_left(memory, head[LONG], head[START], head[SIZE], True)
    head[START] = head[LONG]
    return True


@called
def ask(memory: Memory, desk: Desk, rules: Ints, x: Floats, which: int) -> None:
    """Find the nearest in one memory, or in both."""
    head, near, at, found, k = memory.head, desk.near, desk.at, desk.found, rules[K]
    if which != FAR:
        first, end = head[START], head[START] + head[SIZE]
        measure(memory.rows, memory.nominal, x, first, end, desk.sums)
        found[SHORT] = collect(desk.sums, first, end, near[SHORT], at[SHORT], 0, k)
    if which != SHORT:
        measure(memory.rows, memory.nominal, x, 0, head[LONG], desk.sums)
        found[FAR] = collect(desk.sums, 0, head[LONG], near[FAR], at[FAR], 0, k)
    if which == BOTH:
        merge(desk, k)


@called
def answer(memory: Memory, desk: Desk, rules: Ints, which: int, p: Floats, known: int) -> None:
    """Write what the list says; nobody there: all classes alike."""
    total = 0.0
    for i in range(desk.found[which]):
        c = memory.codes[desk.at[which, i]]
        if c < known:
            p[c] += voice(desk.near[which, i], rules[BY_DISTANCE])
    for c in range(known):
        total += p[c]
    for c in range(known):
        p[c] = p[c] / total if total > 0.0 else 1.0 / known


# -- learning ---------------------------------------------------------------------------------------------------------


@called
def learn(memory: Memory, desk: Desk, bench: Bench, rules: Ints, x: Floats, y: int) -> None:
    """Learn a row at which ``look`` has looked."""
    head = memory.head
    i, mark = head[START] + head[SIZE], 0
    for m in range(3):
        if desk.said[m] == y:
            mark |= 1 << m
            head[RIGHT + m] += 1
    for f in range(len(x)):
        memory.rows[f, i] = x[f]
    memory.codes[i], memory.marks[i] = y, mark
    head[SIZE] += 1
    if head[SIZE] + head[LONG] > rules[WINDOW]:
        shrink(memory, bench, rules)
        look(memory, desk, rules, x, head[SIZE] - 1)
    if head[SIZE] > rules[K]:
        head[LONG] = clean(memory, desk, y, 0, head[LONG])
    best = choose_length(memory, desk, rules, y)
    if best > 0:
        shorten(memory, desk, rules, best)


@called
def shrink(memory: Memory, bench: Bench, rules: Ints) -> None:
    """Bring both memories down to the window: the oldest short-term rows go over, the long-term memory is halved."""
    head = memory.head
    if head[LONG] <= rules[MOST_LONG]:
        n = rules[MOST_LONG] - head[LONG] + 1
        move_left(memory, head[LONG], head[START], n, False)
        leave_short(memory, n)
        head[LONG] += n
        head[TRACKED] = 0
    compress(memory, bench, len(bench.ends) - 1)
    while head[SIZE] + head[LONG] > rules[WINDOW]:  # nothing could be put together
        head[LONG] -= 1
        remove(memory, 0, head[LONG])


@called
def clean(memory: Memory, desk: Desk, y: int, first: int, n: int) -> int:
    """Take from n columns whoever contradicts y among the nearest (list FAR), as near as y's own kind (list SHORT).

    Give how many are left.
    """
    near, at, found, codes = desk.near, desk.at, desk.found, memory.codes
    limit = 0.0
    for i in range(found[SHORT]):
        if codes[at[SHORT, i]] == y:
            limit = max(limit, near[SHORT, i])
    wrong = 0
    for i in range(found[FAR]):
        if near[FAR, i] <= limit and codes[at[FAR, i]] != y:
            at[FAR, wrong] = at[FAR, i]
            wrong += 1
    for i in range(wrong):  # the last column first, so that the others stay where they are
        last = i
        for j in range(i + 1, wrong):
            if at[FAR, j] > at[FAR, last]:
                last = j
        at[FAR, i], at[FAR, last] = at[FAR, last], at[FAR, i]
        n -= 1
        remove(memory, at[FAR, i], first + n)
    return n


# -- the length of the short-term memory ------------------------------------------------------------------------------


@called
def choose_length(memory: Memory, desk: Desk, rules: Ints, y: int) -> int:
    """Count the errors of all candidates with the newest row; give the one with the least, the longest among equals."""
    head, levels, n = memory.head, memory.levels, memory.head[SIZE]
    count, had = candidates(n, rules), head[TRACKED]
    head[TRACKED] = count
    for j in range(min(had, count)):
        follow(memory, desk, rules, j, y)
        if rules[RECALCULATE] != 0:
            recount(memory, desk, rules, j)
    if count > had:
        begin(memory, desk, rules, had, count)
    best = 0
    whole = error(levels[0, WRONG], n - rules[K]) if count > 0 else 0
    fewest = whole
    for j in range(1, count):
        if error(levels[j, WRONG], (n >> j) - rules[K]) < whole:
            recount(memory, desk, rules, j)
            e = error(levels[j, WRONG], (n >> j) - rules[K])
            if e < fewest:
                best, fewest = j, e
    return best


@inlined
def error(wrong: int, n: int) -> int:
    """Give wrong / n in ten thousandths, rounded."""
    return (20_000 * wrong + n) // (2 * n)


@inlined
def follow(memory: Memory, desk: Desk, rules: Ints, j: int, y: int) -> None:
    """Let candidate j take the newest row; its first row may go, and the row that was predicted first with it."""
    head, level, n = memory.head, memory.levels[j], memory.head[SIZE]
    number = head[NUMBER] + n - (n >> j)
    if level[FIRST] < number:
        i = head[START] + level[FIRST] + rules[K] - head[NUMBER]
        level[WRONG] -= (memory.marks[i] >> (3 + j)) & 1
        level[FIRST] = number
    i = head[START] + n - 1
    memory.reach[j, i] = desk.oldest[j]
    if desk.guess[j] != y:
        memory.marks[i] |= 1 << (3 + j)
        level[WRONG] += 1


@called
def begin(memory: Memory, desk: Desk, rules: Ints, had: int, count: int) -> None:
    """Begin to track the candidates from ``had`` on: each row is asked once for all of them."""
    head, k, n = memory.head, rules[K], memory.head[SIZE]
    first, near, at = head[START] + n - (n >> had), desk.near[SHORT], desk.at[SHORT]
    for j in range(had, count):
        memory.levels[j, FIRST], memory.levels[j, WRONG] = head[NUMBER] + n - (n >> j), 0
    for i in range(first + k, head[START] + n):
        take_column(memory.rows, i, desk.x)
        measure(memory.rows, memory.nominal, desk.x, first, i, desk.sums)
        end, found = i, 0
        for j in range(count - 1, had - 1, -1):
            until = head[START] + n - (n >> j)
            if until + k <= i:
                found = collect(desk.sums, until, end, near, at, found, k)
                end = until
                note(memory, desk, rules, j, i, 0)


@called
def recount(memory: Memory, desk: Desk, rules: Ints, j: int) -> None:
    """Ask those rows of candidate j anew that rest on rows that are no longer in it."""
    head, k, n = memory.head, rules[K], memory.head[SIZE]
    first = head[START] + n - (n >> j)
    for i in range(first + k, head[START] + n):
        if memory.reach[j, i] < memory.levels[j, FIRST]:
            take_column(memory.rows, i, desk.x)
            measure(memory.rows, memory.nominal, desk.x, first, i, desk.sums)
            collect(desk.sums, first, i, desk.near[SHORT], desk.at[SHORT], 0, k)
            note(memory, desk, rules, j, i, (memory.marks[i] >> (3 + j)) & 1)


@called
def note(memory: Memory, desk: Desk, rules: Ints, j: int, i: int, was: int) -> None:
    """Write down for candidate j what the k nearest say of row i, which was wrong or not."""
    head, codes, k, at = memory.head, memory.codes, rules[K], desk.at[SHORT]
    guess = elect(desk.near[SHORT], at, k, codes, rules[BY_DISTANCE], desk.votes)
    wrong = 0 if guess == codes[i] else 1
    memory.levels[j, WRONG] += wrong - was
    memory.marks[i] = (memory.marks[i] & ~(1 << (3 + j))) | (wrong << (3 + j))
    memory.reach[j, i] = least_of(at, k) - head[START] + head[NUMBER]


@called
def shorten(memory: Memory, desk: Desk, rules: Ints, best: int) -> None:
    """Keep candidate ``best`` alone; of the older rows those go to the long-term memory that contradict nobody."""
    head, levels, marks, reach = memory.head, memory.levels, memory.marks, memory.reach
    first, size = head[START], head[SIZE] >> best
    left = head[SIZE] - size
    leave_short(memory, left)
    if size > rules[K]:
        left = clean_all(memory, desk, rules, first, left)
    move_left(memory, head[LONG], first, left, False)
    head[LONG] += left
    head[TRACKED] = candidates(size, rules)
    for j in range(head[TRACKED]):
        levels[j, FIRST], levels[j, WRONG] = levels[j + best, FIRST], levels[j + best, WRONG]
        for i in range(head[START], head[START] + size):
            reach[j, i] = reach[j + best, i]
    for i in range(head[START], head[START] + size):
        marks[i] = (marks[i] & 7) | ((marks[i] >> (3 + best)) << 3)


@called
def clean_all(memory: Memory, desk: Desk, rules: Ints, first: int, n: int) -> int:
    """Clean n columns by every row of the short-term memory; give how many are left."""
    head, k, x, sums, near, at = memory.head, rules[K], desk.x, desk.sums, desk.near, desk.at
    start, end = head[START], head[START] + head[SIZE]
    for i in range(start, end):
        if n == 0:
            break
        take_column(memory.rows, i, x)
        measure(memory.rows, memory.nominal, x, start, end, sums)
        measure(memory.rows, memory.nominal, x, first, first + n, sums)
        m = collect(sums, i + 1, end, near[SHORT], at[SHORT], 0, k)
        desk.found[SHORT] = collect(sums, start, i, near[SHORT], at[SHORT], m, k)
        desk.found[FAR] = collect(sums, first, first + n, near[FAR], at[FAR], 0, k)
        n = clean(memory, desk, memory.codes[i], first, n)
    return n
