"""A perceptron with a Gaussian, on a bounded number of rows.

At most N rows; d features; L places of a tile (tiles_jit.py).
"""

import math
from typing import Annotated, NamedTuple

from thalweg.core.declared import table
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import hot, inlined
from thalweg.jit.random import Seeds, integer
from thalweg.learners.balls.kept_jit import F_PLACE, F_SIZE, O_KNOWN, O_PREDICTED, O_ROW, Head, take_place
from thalweg.learners.balls.scaling_jit import LARGEST, UNSCALED, Floats, Ints, Spans, observe, scale
from thalweg.learners.balls.tiles_jit import (
    G_SPREAD,
    LANES,
    any_of,
    measure,
    put,
    raise_powers,
    tiles_of,
    track_spread,
    weigh,
)

C_FOR, C_AGAINST = 0, 1
GAUGE = 2


class Kept(NamedTuple):
    """The tables; the last one follows from the schema."""

    tiles: Annotated[Floats, table(tiles_of("N"), "d", LANES)]
    """⌈N/L⌉ × d × L: rows that were mistakes, scaled as they were when they came."""
    sides: Annotated[Ints, table("N", 2, least=0, most="max(classes, 1) - 1")]
    """N × 2: the class each speaks for, and the one it speaks against."""
    voices: Annotated[Floats, table("N", least=0)]
    """N: their weights."""
    head: Head
    """2: rows, the place for the next (that of the oldest, if full)."""
    gauge: Annotated[Floats, table(GAUGE, least=0)]
    """2: mean squared distance from rows to those kept, of how many rows."""
    spans: Spans
    """5 × d: see scaling_jit.py."""
    seeds: Annotated[Seeds, table(1)]
    """1: the generator."""
    nominal: Ints
    """d: 1 where values differ by 1 or not at all."""


@hot
def score(sides: Ints, weights: Floats, near: Floats, n: int, scores: Floats, known: int) -> int:
    """Add up what the rows say for and against classes, by their nearness; give the class with the most."""
    for c in range(known):
        scores[c] = 0.0
    for s in range(n):
        v = weights[s] * near[s]
        scores[sides[s, C_FOR]] += v
        scores[sides[s, C_AGAINST]] -= v
    return first_greatest(scores, known)


@inlined
def write_proba(scores: Floats, best: int, known: int, p: Floats) -> None:
    """Turn sums into probabilities (softmax)."""
    total, most = 0.0, scores[best]
    for c in range(known):
        p[c] = math.exp(scores[c] - most)
        total += p[c]
    for c in range(known):
        p[c] /= total


@hot
def play(kept: Kept, floats: Floats, bits: Ints, notes: Ints, width: float, by_chance: bool, kind: int, X: Floats,
         y: Ints, w: Floats, events: Ints, out: Floats) -> None:  # fmt: skip
    """Play the events: a row is kept if the sum is wrong about it. Width 0: from the data. kind: of scale.

    floats: room for distances, their Gaussians, what is left of these, a row and what is said of it; bits: the same
    memory.
    """
    kept = Kept(*kept)
    head, gauge, nominal, N = kept.head, kept.gauge, kept.nominal, len(kept.voices)
    d, m, mixed = X.shape[1], kept.tiles.shape[0] * kept.tiles.shape[2], any_of(nominal)
    far, near, whole, x, scores = (
        floats[:m],
        floats[m : 2 * m],
        floats[2 * m : 3 * m],
        floats[3 * m : 3 * m + d],
        floats[3 * m + d :],
    )
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known, n = notes[O_KNOWN], head[F_SIZE]
        if notes[O_ROW] != r:
            scale(X[r], x, kept.spans, nominal, kind, LARGEST)
            measure(kept.tiles, n, x, far, nominal, mixed)
            by = 1.0 / max(width if width > 0.0 else gauge[G_SPREAD], 1e-12)
            weigh(far, by, near, whole, n)
            raise_powers(bits[m : 2 * m], bits[2 * m : 3 * m], n)
            notes[O_PREDICTED] = score(kept.sides, kept.voices, near, n, scores, known)
            notes[O_ROW] = r
        if events[e] >= 0:
            write_proba(scores, notes[O_PREDICTED], known, out[r])
            continue
        if n > 0:
            track_spread(gauge, far, n)
        if notes[O_PREDICTED] != y[r]:
            s = integer(kept.seeds, 0, N) if n == N and by_chance else head[F_PLACE]
            put(kept.tiles, s, x)
            kept.sides[s, C_FOR], kept.sides[s, C_AGAINST], kept.voices[s] = y[r], notes[O_PREDICTED], w[r]
            take_place(head, s, N)
        if kind != UNSCALED:
            observe(X[r], kept.spans, nominal)
        notes[O_KNOWN] = max(known, y[r] + 1)
        notes[O_ROW] = -1
