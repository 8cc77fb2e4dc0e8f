"""Bagged nearest neighbours that share one window: see window_jit.py for its tables, and knn_jit.py for its groups.

S members. A row lies in the window once, and is measured once for all.

| table     | shape | dtype   | meaning                                                              |
| held      | T B   | uint64  | bit i: member i has the row in this slot                             |
| dice      | S     | uint64  | the members' generators                                              |
| detectors | S × … | float64 | what watches their errors; no rows where nobody is replaced          |
| counts    | S     | int64   | how often each was replaced                                          |
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors.any_jit import feed, forget, mean_error
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import poisson
from thalweg.learners.windows.window_jit import (
    ALL_TIES,
    BY_DISTANCE,
    EUCLIDEAN,
    HELD,
    KNOWN,
    METRIC,
    MOMENT,
    NEAREST,
    NEWEST,
    NEXT,
    ROW,
    SEEN,
    SIZE,
    WINDOW,
    Desk,
    K,
    Window,
    ask,
    bring_back,
    find_nearest,
    learn,
    measure_all,
    push_out,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]

ASKED, LEARNS = MOMENT, MOMENT + 1
MOMENTS = MOMENT + 2
"""What is kept of a query's moment beyond what knn_jit.py keeps: is its answer wanted, is its row learned next."""
SPARE = 16
"""So many more than k nearest rows are looked at first: nearly always each member has k of them."""
_ONE = np.uint64(1)


class Bag(NamedTuple):
    """The tables of the members, and room to let them vote."""

    held: Bits
    dice: Bits
    detectors: Floats
    rules: Floats
    """Of the detectors."""
    counts: Ints
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
def play(ring: NDArray[Any], codes: Ints, voices: Floats, spans: Floats, head: Ints, nominal: Ints,
         x: Floats, by: Floats, far: Floats, top: Floats, kind: Ints, sums: Floats, norms: Floats, left: NDArray[Any],
         slots: Ints, rows: Ints, moments: Ints, nearest: Floats, held: Bits, dice: Bits, detectors: Floats,
         detector_rules: Floats, counts: Ints, drawn: Bits, near: Ints, mine: Floats, places: Ints, heap: Floats,
         answers: Floats, code: int, rate: float, rules: Ints, X: NDArray[Any], y: Ints, w: Floats, events: Ints,
         out: Floats, known: int) -> None:  # fmt: skip
    """Play the events, in groups of as many queries and rows as there is room for. What is learned is asked first."""
    window = Window(ring, codes, voices, spans, head, nominal)
    desk = Desk(x, by, far, top, kind, sums, norms, left, slots, rows, moments, nearest)
    bag = Bag(held, dice, detectors, detector_rules, counts, drawn, near, mine, places, heap, answers)
    e = 0
    while e < len(events):
        queries, pushed = 0, 0
        while e < len(events):
            r = events[e] if events[e] >= 0 else ~events[e]
            if events[e] >= 0 or queries == 0 or events[e - 1] != r:
                if queries == len(moments):
                    break
                ask(window, desk, rules, X, r, queries)
                moment = moments[queries]
                moment[ROW], moment[SEEN], moment[KNOWN] = r, pushed, known
                moment[HELD], moment[NEWEST] = head[SIZE], head[NEXT]
                moment[ASKED], moment[LEARNS] = events[e] >= 0, 0
                queries += 1
            if events[e] < 0:
                if pushed == len(slots):
                    if moments[queries - 1, ASKED] == 0:
                        queries -= 1
                    break
                moments[queries - 1, LEARNS] = 1
                push_out(window, desk, pushed)
                slots[pushed], rows[pushed] = head[NEXT], r
                pushed += 1
                known = max(known, y[r] + 1)
                learn(window, rules, X, r)
            e += 1
        measure_all(window, desk, rules[METRIC], queries, pushed)
        g = 0
        for q in range(queries):
            while g < moments[q, SEEN]:
                settle(window, desk, bag, y, w, g)
                g += 1
            bring_back(desk, q, pushed)
            find_answers(window, desk, bag, rules, q)
            if moments[q, ASKED] != 0:
                p = out[moments[q, ROW]]
                for c in range(moments[q, KNOWN]):
                    for i in range(len(dice)):
                        p[c] += answers[i, c]
                    p[c] /= len(dice)
            if moments[q, LEARNS] != 0:
                deal(bag, rate, moments[q, SEEN])
                judge(window, bag, code, y[moments[q, ROW]], moments[q, SEEN], moments[q, KNOWN])
        while g < pushed:
            settle(window, desk, bag, y, w, g)
            g += 1


@inlined
def settle(window: Window, desk: Desk, bag: Bag, y: Ints, w: Floats, g: int) -> None:
    """Put label, weight and members of the group's g-th row to its slot."""
    slot, row = desk.slots[g], desk.rows[g]
    window.codes[slot], window.voices[slot], bag.held[slot] = y[row], w[row], bag.drawn[g]


@inlined
def deal(bag: Bag, rate: float, g: int) -> None:
    """Draw which members learn the group's g-th row."""
    bag.drawn[g] = np.uint64(0)
    for i in range(len(bag.dice)):
        if poisson(bag.dice, i, rate) > 0:
            bag.drawn[g] |= _ONE << np.uint64(i)


@called
def judge(window: Window, bag: Bag, code: int, truth: int, g: int, known: int) -> None:
    """Show the members' errors to their detectors; at a drift the worst member forgets all, also the row of now."""
    drift = False
    for i in range(len(bag.detectors)):
        said = 0
        for c in range(1, known):
            if bag.answers[i, c] > bag.answers[i, said]:
                said = c
        if feed(code, bag.detectors, i, 0.0 if said == truth else 1.0, bag.rules) == 2:
            drift = True
    if not drift:
        return
    worst = 0
    for i in range(1, len(bag.detectors)):
        if mean_error(code, bag.detectors, i) > mean_error(code, bag.detectors, worst):
            worst = i
    forget(code, bag.detectors, worst)
    bag.counts[worst] += 1
    others = ~(_ONE << np.uint64(worst))
    bag.drawn[g] &= others
    for slot in range(window.head[SIZE]):
        bag.held[slot] &= others


@called
def find_answers(window: Window, desk: Desk, bag: Bag, rules: Ints, q: int) -> None:
    """Let each member's nearest rows vote on query q, the oldest first; a member without rows: all classes alike."""
    moment, sums = desk.moments[q], desk.sums[q]
    n, known = moment[HELD], moment[KNOWN]
    oldest = moment[NEWEST] if n == rules[WINDOW] else 0
    limit = math.inf
    if n > rules[K] + SPARE:
        find_nearest(sums, n, bag.heap, rules[K] + SPARE)
        limit = bag.heap[0]
    found = gather(bag, sums, n, oldest, limit)
    for i in range(len(bag.dice)):
        k = sift(bag, sums, found, i)
        if k < rules[K] and found < n:  # it lacks some of them: look at all
            found = gather(bag, sums, n, oldest, math.inf)
            k = sift(bag, sums, found, i)
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
def sift(bag: Bag, sums: Floats, found: int, i: int) -> int:
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
        free = find_nearest(bag.mine, m, bag.heap, min(m, rules[K]))
        limit = bag.heap[0]
        if rules[ALL_TIES] != 0:
            free = m
        for j in range(m):
            far = bag.mine[j]
            if far <= limit and (far < limit or free > 0):
                if far == limit:
                    free -= 1
                c = window.codes[bag.places[j]]
                if c < known:
                    voice = window.voices[bag.places[j]]
                    if rules[BY_DISTANCE] != 0:
                        voice /= max(math.sqrt(far) if rules[METRIC] == EUCLIDEAN else far, NEAREST)
                    p[c] += voice
                    total += voice
    for c in range(known):
        p[c] = p[c] / total if total > 0.0 else 1.0 / known
