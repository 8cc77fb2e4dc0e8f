"""Neighbours among the rows that were mistakes when they came.

At most N rows; d features; L places of a tile (tiles_jit.py).
"""

from typing import Annotated, NamedTuple

from thalweg.core.declared import table
from thalweg.jit.compile import hot, inlined
from thalweg.learners.balls.kept_jit import F_PLACE, F_SIZE, O_COLUMNS, O_KNOWN, O_PREDICTED, O_ROW, Head, take_place
from thalweg.learners.balls.scaling_jit import LARGEST, UNSCALED, Floats, Ints, Spans, observe, scale
from thalweg.learners.balls.tiles_jit import LANES, any_of, keep_nearest, measure, put, tiles_of


class Kept(NamedTuple):
    """The tables; the last one follows from the schema."""

    tiles: Annotated[Floats, table(tiles_of("N"), "d", LANES)]
    """⌈N/L⌉ × d × L: the rows, scaled as they were when they came."""
    codes: Annotated[Ints, table("N", least=0, most="max(classes, 1) - 1")]
    """N: their classes."""
    voices: Annotated[Floats, table("N", least=0)]
    """N: their weights."""
    head: Head
    """2: rows, the place for the next (that of the oldest, if full)."""
    spans: Spans
    """5 × d: see scaling_jit.py."""
    nominal: Ints
    """d: 1 where values differ by 1 or not at all."""


@hot
def rank(far: Floats, age: int, n: int, top: Ints) -> int:
    """Write the nearest rows to ``top``, the oldest first among equals; give how many."""
    held = 0
    for i in range(n):
        held = keep_nearest(far, age + i if age + i < n else age + i - n, held, top)
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

    floats: room for distances, a row, and its probabilities; ints: for what is noted, and for k neighbours.
    """
    kept = Kept(*kept)
    codes, weights, head, nominal, N = kept.codes, kept.voices, kept.head, kept.nominal, len(kept.codes)
    d, n = X.shape[1], kept.tiles.shape[0] * kept.tiles.shape[2]
    far, x, proba = floats[:n], floats[n : n + d], floats[n + d :]
    notes, top, mixed = ints[:O_COLUMNS], ints[O_COLUMNS:], any_of(nominal)
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known = notes[O_KNOWN]
        if notes[O_ROW] != r:
            scale(X[r], x, kept.spans, nominal, kind, LARGEST)
            measure(kept.tiles, head[F_SIZE], x, far, nominal, mixed)
            held = rank(far, head[F_PLACE] if head[F_SIZE] == N else 0, head[F_SIZE], top)
            if known > 0:
                notes[O_PREDICTED] = vote(codes, weights, top, held, proba, known)
            notes[O_ROW] = r
        if events[e] >= 0:
            for c in range(known):
                out[r, c] = proba[c]
            continue
        if head[F_SIZE] == 0 or notes[O_PREDICTED] != y[r]:
            s = head[F_PLACE]
            put(kept.tiles, s, x)
            codes[s], weights[s] = y[r], w[r]
            take_place(head, s, N)
        if kind != UNSCALED:
            observe(X[r], kept.spans, nominal)
        notes[O_KNOWN] = max(known, y[r] + 1)
        notes[O_ROW] = -1
