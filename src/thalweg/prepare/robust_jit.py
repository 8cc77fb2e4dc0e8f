"""A sketch of the quartiles of columns in fixed memory, and rows scaled by them.

Values wait in a buffer of K; a full buffer is sorted, and every other value of it goes on to the next buffer, where
each stands for twice as many (Karnin, Lang, Liberty, "Optimal quantile approximation in streams", 2016, with buffers of
one size). Whether the odd or the even ones go on is drawn from a hash of how often the buffer was full, so that errors
cancel out and every run draws the same.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, table
from thalweg.jit.compile import called, compiled
from thalweg.prepare.rows_jit import keep
from thalweg.prepare.scaling_jit import FAR, near

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

K = 256
"""Values of a buffer."""
LEVELS = 32
"""Buffers of a column: enough for 2⁴⁰ rows."""
SEEN, NEXT = range(2)
LOW, MIDDLE, HIGH = range(3)
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Sketch(NamedTuple):
    """The state; c: columns."""

    values: Annotated[Floats, table("c", LEVELS, K, least=-FAR, most=FAR)]
    """c × 32 × 256: the buffers; a value of buffer h stands for 2ʰ values."""
    filled: Annotated[Ints, table("c", LEVELS, least=0, most=K - 1)]
    """c × 32: how many values each buffer has."""
    passed: Annotated[Ints, table("c", LEVELS, least=0, most=EXACT)]
    """c × 32: how often it was full."""
    counts: Annotated[Ints, table("c", 2, least=0, most=EXACT)]
    """c × 2: values seen, and at how many the quartiles are next worked out."""
    quartiles: Annotated[Floats, table("c", 3, least=-FAR, most=FAR)]
    """c × 3: first quartile, median, third quartile."""


@called
def observe(sketch: Sketch, k: int, v: float) -> None:
    """Let a column have one more value."""
    values, filled, passed = sketch.values[k], sketch.filled[k], sketch.passed[k]
    values[0, filled[0]] = v
    filled[0] += 1
    sketch.counts[k, SEEN] += 1
    h = 0
    while h < LEVELS - 1 and filled[h] == K:
        values[h].sort()
        coin = (np.uint64(passed[h] + 1) * _MIX + np.uint64(h)) * _MIX
        j = np.int64(coin >> np.uint64(63))
        while j < K:  # the next buffer is full after this, or has room
            values[h + 1, filled[h + 1]] = values[h, j]
            filled[h + 1] += 1
            j += 2
        filled[h] = 0
        passed[h] += 1
        h += 1
    if filled[LEVELS - 1] >= K // 2:  # never in practice
        filled[LEVELS - 1] = 0


@called
def work_out(sketch: Sketch, k: int) -> None:
    """Find the quartiles among all values, each of which stands for some."""
    filled = sketch.filled[k]
    n = filled.sum()
    values, stand = np.empty(n), np.empty(n)
    i, total = 0, 0.0
    for h in range(LEVELS):
        for j in range(filled[h]):
            values[i], stand[i] = sketch.values[k, h, j], 2.0**h
            total += stand[i]
            i += 1
    order = np.argsort(values, kind="mergesort")
    q, below = 0, 0.0
    for i in order:
        below += stand[i]
        while q < 3 and below >= 0.25 * (q + 1) * total:
            sketch.quartiles[k, q] = values[i]
            q += 1


@compiled
def scale(sketch: Sketch, columns: Ints, X: Floats, learned: Bools, out: Floats) -> None:
    """Subtract from each chosen value the median of those before, and divide by the distance of their quartiles.

    The quartiles are worked out anew when there is a 32nd more values than at the last time.
    """
    sketch = Sketch(*sketch)
    for i in range(len(X)):
        x, z = X[i], out[i]
        keep(x, z)
        for k in range(len(columns)):
            f = columns[k]
            if math.isnan(x[f]):
                continue
            v, middle = near(x[f]), sketch.quartiles[k, MIDDLE]
            spread = sketch.quartiles[k, HIGH] - sketch.quartiles[k, LOW]
            z[f] = 0.0 if sketch.counts[k, SEEN] == 0 else near((v - middle) / spread) if spread > 0.0 else v - middle
            if learned[i]:
                observe(sketch, k, v)
                seen = sketch.counts[k, SEEN]
                if seen >= sketch.counts[k, NEXT]:
                    work_out(sketch, k)
                    sketch.counts[k, NEXT] = seen + 1 + seen // 32
