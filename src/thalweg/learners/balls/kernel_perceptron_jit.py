"""A perceptron with a Gaussian, on a bounded number of rows.

At most N rows; d features; L places of a tile.

| table  | shape         | dtype   | meaning                                                                          |
| tiles  | ⌈N/L⌉ × d × L | float64 | rows that were mistakes, scaled as they were when they came                      |
| sides  | N × 2         | int64   | the class each speaks for, and the one it speaks against                         |
| voices | N             | float64 | their weights                                                                    |
| head   | 2             | int64   | rows, the place of the next (that of the oldest, if full)                        |
| gauge  | 2             | float64 | mean squared distance from rows to those kept, of how many rows                  |
| spans  | 5 × d         | float64 | see ball_cover_jit.py                                                            |
| seeds  | 1             | uint64  | the generator                                                                    |
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import integer
from thalweg.learners.balls.ball_cover_jit import SCALE, UNSCALED, observe, scale
from thalweg.learners.balls.tiles_jit import any_of, mean_of, measure, put, raise_powers, weigh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]

SIZE, PLACE = range(2)
HEAD = 2
SPREAD, SPREADS = range(2)
GAUGE = 2
FOR, AGAINST = range(2)
KNOWN, ROW, SAID = range(3)
NOTES = 3
"""Between events: classes known, the row that was placed last (-1: none), what was said of it."""


@hot
def score(sides: Ints, voices: Floats, near: Floats, n: int, says: Floats, known: int) -> int:
    """Add up what the rows say for and against classes, by their nearness; give the class with the most."""
    for c in range(known):
        says[c] = 0.0
    for s in range(n):
        v = voices[s] * near[s]
        says[sides[s, FOR]] += v
        says[sides[s, AGAINST]] -= v
    best = 0
    for c in range(1, known):
        if says[c] > says[best]:
            best = c
    return best


@inlined
def tell(says: Floats, best: int, known: int, p: Floats) -> None:
    """Turn sums into probabilities (softmax)."""
    total, most = 0.0, says[best]
    for c in range(known):
        p[c] = math.exp(says[c] - most)
        total += p[c]
    for c in range(known):
        p[c] /= total


@hot
def play(tiles: Floats, sides: Ints, voices: Floats, head: Ints, gauge: Floats, spans: Floats, seeds: Seeds,
         nominal: Ints, rules: Ints, x: Floats, far: Floats, near: Floats, near_bits: Ints, whole: Floats,
         whole_bits: Ints, says: Floats, notes: Ints, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats,
         width: float, by_chance: int) -> None:  # fmt: skip
    """Play the events: a row is kept if the sum is wrong about it. Width 0: from the data."""
    mixed, N = any_of(nominal), len(voices)
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known, n = notes[KNOWN], head[SIZE]
        if notes[ROW] != r:
            scale(X[r], x, spans, nominal, rules)
            measure(tiles, n, x, far, nominal, mixed)
            by = 1.0 / max(width if width > 0.0 else gauge[SPREAD], 1e-12)
            weigh(far, by, near, whole, n)
            raise_powers(near_bits, whole_bits, n)
            notes[SAID] = score(sides, voices, near, n, says, known)
            notes[ROW] = r
        if events[e] >= 0:
            tell(says, notes[SAID], known, out[r])
            continue
        if n > 0:
            gauge[SPREADS] += 1.0
            gauge[SPREAD] += (mean_of(far, n) - gauge[SPREAD]) / gauge[SPREADS]
        if notes[SAID] != y[r]:
            s = head[PLACE]
            if n < N:
                head[SIZE] = n + 1
            elif by_chance != 0:
                s = integer(seeds, 0, N)
            put(tiles, s, x)
            sides[s, FOR], sides[s, AGAINST], voices[s] = y[r], notes[SAID], w[r]
            if s == head[PLACE]:
                head[PLACE] = (s + 1) % N
        if rules[SCALE] != UNSCALED:
            observe(X[r], spans, nominal)
        notes[KNOWN] = max(known, y[r] + 1)
        notes[ROW] = -1
