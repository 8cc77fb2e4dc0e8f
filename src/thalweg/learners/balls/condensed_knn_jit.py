"""Neighbours among the rows that were mistakes when they came.

At most N rows; d features; L places of a tile.

| table  | shape         | dtype   | meaning                                                   |
| tiles  | ⌈N/L⌉ × d × L | float64 | the rows, scaled as they were when they came              |
| codes  | N             | int64   | their classes                                             |
| voices | N             | float64 | their weights                                             |
| head   | 2             | int64   | rows, the place for the next (that of the oldest, if full) |
| spans  | 5 × d         | float64 | see ball_cover_jit.py                                     |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.ball_cover_jit import SCALE, UNSCALED, observe, scale
from thalweg.learners.balls.tiles_jit import any_of, measure, put

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SIZE, PLACE = range(2)
HEAD = 2
KNOWN, ROW, SAID = range(3)
NOTES = 3
"""Between events: classes known, the row that was placed last (-1: none), what its neighbours said."""


@hot
def rank(far: Floats, age: int, n: int, top: Ints) -> int:
    """Write the nearest rows to ``top``, the oldest first among equals; give how many."""
    held, k = 0, len(top)
    for i in range(n):
        s = age + i if age + i < n else age + i - n
        v = far[s]
        if held == k:
            if v >= far[top[k - 1]]:
                continue
            j = k - 1
        else:
            j = held
            held += 1
        while j > 0 and far[top[j - 1]] > v:
            top[j] = top[j - 1]
            j -= 1
        top[j] = s
    return held


@inlined
def vote(codes: Ints, voices: Floats, top: Ints, held: int, p: Floats, known: int) -> int:
    """Write the shares of the classes among the neighbours, drawn a little towards all alike; give the greatest."""
    total = 1.0
    for c in range(known):
        p[c] = 1.0 / known
    for j in range(held):
        p[codes[top[j]]] += voices[top[j]]
        total += voices[top[j]]
    best = 0
    for c in range(known):
        p[c] /= total
        if p[c] > p[best]:
            best = c
    return best


@hot
def play(tiles: Floats, codes: Ints, voices: Floats, head: Ints, spans: Floats, nominal: Ints, rules: Ints, x: Floats,
         far: Floats, top: Ints, said: Floats, notes: Ints, X: Floats, y: Ints, w: Floats, events: Ints,
         out: Floats) -> None:  # fmt: skip
    """Play the events: a row is kept if its neighbours are wrong about it."""
    mixed, N = any_of(nominal), len(codes)
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known = notes[KNOWN]
        if notes[ROW] != r:
            scale(X[r], x, spans, nominal, rules)
            measure(tiles, head[SIZE], x, far, nominal, mixed)
            held = rank(far, head[PLACE] if head[SIZE] == N else 0, head[SIZE], top)
            if known > 0:
                notes[SAID] = vote(codes, voices, top, held, said, known)
            notes[ROW] = r
        if events[e] >= 0:
            for c in range(known):
                out[r, c] = said[c]
            continue
        if head[SIZE] == 0 or notes[SAID] != y[r]:
            s = head[PLACE]
            put(tiles, s, x)
            codes[s], voices[s] = y[r], w[r]
            head[PLACE] = (s + 1) % N
            head[SIZE] = min(N, head[SIZE] + 1)
        if rules[SCALE] != UNSCALED:
            observe(X[r], spans, nominal)
        notes[KNOWN] = max(known, y[r] + 1)
        notes[ROW] = -1
