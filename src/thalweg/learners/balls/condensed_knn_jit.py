"""Neighbours among the rows that were mistakes when they came.

At most N rows; d features; L places of a tile (tiles_jit.py).
"""

from typing import NamedTuple

from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.kept_jit import F_PLACE, F_SIZE, O_COLUMNS, O_KNOWN, O_ROW, O_SAID, take_place
from thalweg.learners.balls.scaling_jit import LARGEST, UNSCALED, Floats, Ints, observe, scale
from thalweg.learners.balls.tiles_jit import any_of, measure, put


class Kept(NamedTuple):
    """The tables; the last one follows from the schema."""

    tiles: Floats
    """⌈N/L⌉ × d × L: the rows, scaled as they were when they came."""
    codes: Ints
    """N: their classes."""
    voices: Floats
    """N: their weights."""
    head: Ints
    """2: rows, the place for the next (that of the oldest, if full)."""
    spans: Floats
    """5 × d: see scaling_jit.py."""
    nominal: Ints
    """d: 1 where values differ by 1 or not at all."""


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
def vote(codes: Ints, weights: Floats, top: Ints, held: int, p: Floats, known: int) -> int:
    """Write the shares of the classes among the neighbours, drawn a little towards all alike; give the greatest."""
    total = 1.0
    for c in range(known):
        p[c] = 1.0 / known
    for j in range(held):
        p[codes[top[j]]] += weights[top[j]]
        total += weights[top[j]]
    best = 0
    for c in range(known):
        p[c] /= total
        if p[c] > p[best]:
            best = c
    return best


@hot
def play(kept: Kept, floats: Floats, ints: Ints, kind: int, X: Floats, y: Ints, w: Floats, events: Ints,
         out: Floats) -> None:  # fmt: skip
    """Play the events: a row is kept if its neighbours are wrong about it. kind: of scale.

    floats: room for distances, a row, and what is said of it; ints: for what is noted, and for k neighbours.
    """
    kept = Kept(*kept)
    codes, weights, head, nominal, N = kept.codes, kept.voices, kept.head, kept.nominal, len(kept.codes)
    d, n = X.shape[1], kept.tiles.shape[0] * kept.tiles.shape[2]
    far, x, said = floats[:n], floats[n : n + d], floats[n + d :]
    notes, top, mixed = ints[:O_COLUMNS], ints[O_COLUMNS:], any_of(nominal)
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known = notes[O_KNOWN]
        if notes[O_ROW] != r:
            scale(X[r], x, kept.spans, nominal, kind, LARGEST)
            measure(kept.tiles, head[F_SIZE], x, far, nominal, mixed)
            held = rank(far, head[F_PLACE] if head[F_SIZE] == N else 0, head[F_SIZE], top)
            if known > 0:
                notes[O_SAID] = vote(codes, weights, top, held, said, known)
            notes[O_ROW] = r
        if events[e] >= 0:
            for c in range(known):
                out[r, c] = said[c]
            continue
        if head[F_SIZE] == 0 or notes[O_SAID] != y[r]:
            s = head[F_PLACE]
            put(kept.tiles, s, x)
            codes[s], weights[s] = y[r], w[r]
            take_place(head, s, N)
        if kind != UNSCALED:
            observe(X[r], kept.spans, nominal)
        notes[O_KNOWN] = max(known, y[r] + 1)
        notes[O_ROW] = -1
