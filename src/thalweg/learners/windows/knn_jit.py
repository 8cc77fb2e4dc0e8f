"""Predicting and learning with a window of rows: see window_jit.py for its tables.

Events are played in groups. The rows of a group are learned first, and each query keeps the scale of its own moment;
then one pass over the window measures all queries of the group. A row that was pushed out meanwhile lies in ``left``,
one more tile, and takes its place again for the queries that came before.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot
from thalweg.learners.windows.distances_jit import bring_back, measure_all, vote
from thalweg.learners.windows.shadow_jit import Sieve, copy_pushed, lay_down, set_aside
from thalweg.learners.windows.sieve_jit import measure_some
from thalweg.learners.windows.window_jit import (
    Q_HELD,
    Q_KNOWN,
    Q_NEWEST,
    Q_ROW,
    Q_SEEN,
    R_METRIC,
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


@hot
def play(
    window: Window, scratch: Scratch, sieve: Sieve, rules: Ints, X: NDArray[Any], y: Ints, w: Floats, events: Ints,
    out: Floats, known: int,
) -> int:  # fmt: skip
    """Play the events, in groups of as many queries and rows as there is room for; give how many there are."""
    window, scratch, sieve = Window(*window), Scratch(*scratch), Sieve(*sieve)
    head, codes, voices = window.head, window.codes, window.voices
    slots, rows, moments = scratch.slots, scratch.rows, scratch.moments
    sieved = len(sieve.shadow) > 0
    e = 0
    while e < len(events):
        queries, pushed = 0, 0
        while e < len(events):
            r = events[e]
            if r >= 0:
                if queries == len(moments):
                    break
                ask(window, scratch, rules, X, r, queries)
                moment = moments[queries]
                moment[Q_ROW], moment[Q_SEEN], moment[Q_KNOWN] = r, pushed, known
                moment[Q_HELD], moment[Q_NEWEST] = head[W_SIZE], head[W_NEXT]
                queries += 1
            else:
                slot = head[W_NEXT]
                if queries == 0:
                    codes[slot], voices[slot] = y[~r], w[~r]
                else:
                    if pushed == len(slots) or queries == len(moments):
                        break
                    if sieved:
                        set_aside(sieve, slot, pushed)
                    else:
                        push_out(window, scratch, pushed)
                    slots[pushed], rows[pushed] = slot, ~r
                    pushed += 1
                known = max(known, y[~r] + 1)
                learn(window, rules, X, ~r)
                if sieved:
                    lay_down(sieve, X, ~r, slot)
            e += 1
        if queries == 0:
            continue
        sifted = sieved and measure_some(window, scratch, sieve, rules, queries, pushed)
        if not sifted:
            if sieved:
                copy_pushed(scratch, sieve, pushed)
            measure_all(window, scratch, rules[R_METRIC], queries, pushed)
        g = 0
        for q in range(queries):
            while g < moments[q, Q_SEEN]:
                codes[slots[g]], voices[slots[g]] = y[rows[g]], w[rows[g]]
                g += 1
            if not sifted:
                bring_back(scratch, q, pushed)
            vote(codes, voices, scratch.sums[q], moments[q], scratch.nearest, rules, out)
        while g < pushed:
            codes[slots[g]], voices[slots[g]] = y[rows[g]], w[rows[g]]
            g += 1
    return len(events)
