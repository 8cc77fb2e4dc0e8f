"""Predicting and learning with a window of rows: see window_jit.py for its tables.

Events are played in groups. The rows of a group are learned first, and each query keeps the scale of its own moment;
then one pass over the window measures all queries of the group. A row that was pushed out meanwhile lies in ``left``,
one more tile, and takes its place again for the queries that came before.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot
from thalweg.learners.windows.sieve_jit import Sieve, Singles, hand_over, lay_down, measure_some, set_aside
from thalweg.learners.windows.window_jit import (
    HELD,
    KNOWN,
    METRIC,
    NEWEST,
    NEXT,
    ROW,
    SEEN,
    SIZE,
    Desk,
    Window,
    ask,
    bring_back,
    learn,
    measure_all,
    push_out,
    vote,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@hot
def play(ring: NDArray[Any], codes: Ints, voices: Floats, spans: Floats, head: Ints, nominal: Ints,
         x: Floats, by: Floats, far: Floats, top: Floats, kind: Ints, sums: Floats, norms: Floats, left: NDArray[Any],
         slots: Ints, rows: Ints, moments: Ints, nearest: Floats, shadow: Singles, whole: NDArray[Any],
         lengths: Floats, centre: Floats, shadow_by: Floats, query: Singles, own: Floats, one: Singles, block: Singles,
         errors: Floats, hard: Ints, chosen: Ints, exact: Floats, status: Ints, rules: Ints, X: NDArray[Any], y: Ints,
         w: Floats, events: Ints, out: Floats, known: int) -> None:  # fmt: skip
    """Play the events, in groups of as many queries and rows as there is room for."""
    window = Window(ring, codes, voices, spans, head, nominal)
    desk = Desk(x, by, far, top, kind, sums, norms, left, slots, rows, moments, nearest)
    sieve = Sieve(
        shadow, whole, lengths, centre, shadow_by, query, own, one, block, errors, hard, chosen, exact, status
    )  # fmt: skip
    sieved = len(shadow) > 0
    e = 0
    while e < len(events):
        queries, pushed = 0, 0
        while e < len(events):
            r = events[e]
            if r >= 0:
                if queries == len(moments):
                    break
                ask(window, desk, rules, X, r, queries)
                moment = moments[queries]
                moment[ROW], moment[SEEN], moment[KNOWN] = r, pushed, known
                moment[HELD], moment[NEWEST] = head[SIZE], head[NEXT]
                queries += 1
            else:
                slot = head[NEXT]
                if queries == 0:
                    codes[slot], voices[slot] = y[~r], w[~r]
                else:
                    if pushed == len(slots) or queries == len(moments):
                        break
                    if sieved:
                        set_aside(sieve, slot, pushed)
                    else:
                        push_out(window, desk, pushed)
                    slots[pushed], rows[pushed] = slot, ~r
                    pushed += 1
                known = max(known, y[~r] + 1)
                learn(window, rules, X, ~r)
                if sieved:
                    lay_down(sieve, X, ~r, slot)
            e += 1
        if queries == 0:
            continue
        sifted = sieved and measure_some(window, desk, sieve, rules, queries, pushed)
        if not sifted:
            if sieved:
                hand_over(desk, sieve, pushed)
            measure_all(window, desk, rules[METRIC], queries, pushed)
        g = 0
        for q in range(queries):
            while g < moments[q, SEEN]:
                codes[slots[g]], voices[slots[g]] = y[rows[g]], w[rows[g]]
                g += 1
            if not sifted:
                bring_back(desk, q, pushed)
            vote(window, desk, rules, q, out)
        while g < pushed:
            codes[slots[g]], voices[slots[g]] = y[rows[g]], w[rows[g]]
            g += 1
