"""Bagged nearest neighbours that share one window: see window_jit.py for its tables, and knn_jit.py for its groups.

S members. A row lies in the window once, and is measured once for all.
"""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.detectors.any_jit import feed, forget, mean_error
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import poisson
from thalweg.learners.windows.distances_jit import bring_back, find_nearest, measure_all, vote_of
from thalweg.learners.windows.replaced import KEPT
from thalweg.learners.windows.window_jit import (
    Q_COLUMNS,
    Q_HELD,
    Q_KNOWN,
    Q_NEWEST,
    Q_ROW,
    Q_SEEN,
    R_ALL_TIES,
    R_K,
    R_METRIC,
    R_WINDOW,
    W_NEXT,
    W_SIZE,
    Scratch,
    Window,
    ask,
    learn,
    push_out,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]

Q_ASKED, Q_LEARNS, Q_BAGGED_COLUMNS = range(Q_COLUMNS, Q_COLUMNS + 3)
"""What is kept of a query's moment beyond what knn_jit.py keeps: is its answer wanted, is its row learned next."""
SPARE = 16
"""So many more than k nearest rows are looked at first: nearly always each member has k of them."""
_ONE = np.uint64(1)


class Bag(NamedTuple):
    """Who has which rows, the tables of the members (see replaced.py), and room to let them vote."""

    held: Annotated[Bits, table("room", most="everyone")]
    """T B: bit i: member i has the row in this slot."""
    dice: Bits
    detectors: Floats
    rules: Floats
    """Of the detectors."""
    counts: Ints
    learned: Ints
    replaced: Ints
    drawn: Bits
    """G: which members learn each row of the group."""
    near: Ints
    """T B: slots that may matter, the oldest first."""
    mine: Floats
    """T B: the distances of those that a member has."""
    places: Ints
    """T B: where these lie."""
    heap: Floats
    """k + SPARE."""
    answers: Floats
    """S × classes: what each member says."""


@hot
def play(
    window: Window, scratch: Scratch, bag: Bag, code: int, rate: float, rules: Ints, X: NDArray[Any], y: Ints,
    w: Floats, events: Ints, out: Floats, known: int,
) -> None:  # fmt: skip
    """Play the events, in groups of as many queries and rows as there is room for. What is learned is asked first."""
    window, scratch, bag = Window(*window), Scratch(*scratch), Bag(*bag)
    head, moments, slots, rows, answers = window.head, scratch.moments, scratch.slots, scratch.rows, bag.answers
    e = 0
    while e < len(events):
        queries, pushed = 0, 0
        while e < len(events):
            r = events[e] if events[e] >= 0 else ~events[e]
            if events[e] >= 0 or queries == 0 or events[e - 1] != r:
                if queries == len(moments):
                    break
                ask(window, scratch, rules, X, r, queries)
                moment = moments[queries]
                moment[Q_ROW], moment[Q_SEEN], moment[Q_KNOWN] = r, pushed, known
                moment[Q_HELD], moment[Q_NEWEST] = head[W_SIZE], head[W_NEXT]
                moment[Q_ASKED], moment[Q_LEARNS] = events[e] >= 0, 0
                queries += 1
            if events[e] < 0:
                if pushed == len(slots):
                    if moments[queries - 1, Q_ASKED] == 0:
                        queries -= 1
                    break
                moments[queries - 1, Q_LEARNS] = 1
                push_out(window, scratch, pushed)
                slots[pushed], rows[pushed] = head[W_NEXT], r
                pushed += 1
                known = max(known, y[r] + 1)
                learn(window, rules, X, r)
            e += 1
        measure_all(window, scratch, rules[R_METRIC], queries, pushed)
        g, before = 0, bag.learned[0]
        bag.learned[0] += pushed
        for q in range(queries):
            while g < moments[q, Q_SEEN]:
                write_labels(window, scratch, bag, y, w, g)
                g += 1
            bring_back(scratch, q, pushed)
            find_answers(window, scratch, bag, rules, q)
            if moments[q, Q_ASKED] != 0:
                p = out[moments[q, Q_ROW]]
                for c in range(moments[q, Q_KNOWN]):
                    for i in range(len(bag.dice)):
                        p[c] += answers[i, c]
                    p[c] /= len(bag.dice)
            if moments[q, Q_LEARNS] != 0:
                draw_members(bag, rate, moments[q, Q_SEEN])
                show_errors(window, bag, code, y[moments[q, Q_ROW]], before, moments[q])
        while g < pushed:
            write_labels(window, scratch, bag, y, w, g)
            g += 1


@inlined
def write_labels(window: Window, scratch: Scratch, bag: Bag, y: Ints, w: Floats, g: int) -> None:
    """Put label, weight and members of the group's g-th row to its slot."""
    slot, row = scratch.slots[g], scratch.rows[g]
    window.codes[slot], window.voices[slot], bag.held[slot] = y[row], w[row], bag.drawn[g]


@inlined
def draw_members(bag: Bag, rate: float, g: int) -> None:
    """Draw which members learn the group's g-th row."""
    bag.drawn[g] = np.uint64(0)
    for i in range(len(bag.dice)):
        if poisson(bag.dice, i, rate) > 0:
            bag.drawn[g] |= _ONE << np.uint64(i)


@called
def show_errors(window: Window, bag: Bag, code: int, truth: int, before: int, moment: Ints) -> None:
    """Show the members' errors to their detectors; at a drift the worst member forgets all, also the row of now."""
    g, known, drift = moment[Q_SEEN], moment[Q_KNOWN], False
    for i in range(len(bag.detectors)):
        wrong = 0.0 if first_greatest(bag.answers[i], known) == truth else 1.0
        if feed(code, bag.detectors, i, wrong, bag.rules) == 2:
            drift = True
    if not drift:
        return
    worst = 0
    for i in range(1, len(bag.detectors)):
        if mean_error(code, bag.detectors, i) > mean_error(code, bag.detectors, worst):
            worst = i
    forget(code, bag.detectors, worst)
    bag.replaced[worst, bag.counts[worst] % KEPT] = before + g + 1
    bag.counts[worst] += 1
    others = ~(_ONE << np.uint64(worst))
    bag.drawn[g] &= others
    for slot in range(window.head[W_SIZE]):
        bag.held[slot] &= others


@called
def find_answers(window: Window, scratch: Scratch, bag: Bag, rules: Ints, q: int) -> None:
    """Let each member's nearest rows vote on query q, the oldest first; a member without rows: all classes alike."""
    moment, sums = scratch.moments[q], scratch.sums[q]
    n, known = moment[Q_HELD], moment[Q_KNOWN]
    oldest = moment[Q_NEWEST] if n == rules[R_WINDOW] else 0
    limit = math.inf
    if n > rules[R_K] + SPARE:
        find_nearest(sums, n, bag.heap, rules[R_K] + SPARE)
        limit = bag.heap[0]
    found = gather(bag, sums, n, oldest, limit)
    for i in range(len(bag.dice)):
        k = pick_own(bag, sums, found, i)
        if k < rules[R_K] and found < n:  # it lacks some of them: look at all
            found = gather(bag, sums, n, oldest, math.inf)
            k = pick_own(bag, sums, found, i)
        vote(window, bag, rules, i, k, known)


@inlined
def gather(bag: Bag, sums: Floats, n: int, oldest: int, limit: float) -> int:
    """Note the slots of all rows within the limit, the oldest first; give how many."""
    found = 0
    for half in range(2):
        for s in range(oldest if half == 0 else 0, n if half == 0 else oldest):
            if sums[s] <= limit:
                bag.near[found] = s
                found += 1
    return found


@inlined
def pick_own(bag: Bag, sums: Floats, found: int, i: int) -> int:
    """Note those of them that member i has; give how many."""
    m = 0
    for j in range(found):
        s = bag.near[j]
        if (bag.held[s] >> np.uint64(i)) & _ONE:
            bag.mine[m], bag.places[m] = sums[s], s
            m += 1
    return m


@inlined
def vote(window: Window, bag: Bag, rules: Ints, i: int, m: int, known: int) -> None:
    """Let the nearest of member i's m rows vote."""
    p = bag.answers[i]
    total = 0.0
    for c in range(len(p)):
        p[c] = 0.0
    if m > 0:
        free = find_nearest(bag.mine, m, bag.heap, min(m, rules[R_K]))
        limit = bag.heap[0]
        if rules[R_ALL_TIES] != 0:
            free = m
        for j in range(m):
            far = bag.mine[j]
            if far <= limit and (far < limit or free > 0):
                if far == limit:
                    free -= 1
                c = window.codes[bag.places[j]]
                if c < known:
                    weight = vote_of(window.voices[bag.places[j]], far, rules)
                    p[c] += weight
                    total += weight
    for c in range(known):
        p[c] = p[c] / total if total > 0.0 else 1.0 / known
