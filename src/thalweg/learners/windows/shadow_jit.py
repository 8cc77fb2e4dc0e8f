"""A float32 shadow of a window of wide rows, from which sieve_jit.py finds rough distances.

With z' = (z - centre) by in float32: |x' - z'|² = |x'|² + |z'|² - 2 x'z', one product and one addition for each value
instead of four steps in float64. The tables belong to one call and are not kept.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.learners.windows.window_jit import R_SCALE, S_GREATEST, S_LEAST, W_SIZE, Scratch, Window, scale_of

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

STATUS_REST, STATUS_PAUSE, STATUS_REST_COARSE, STATUS_PAUSE_COARSE = range(4)
STATUS_CELLS = 4
"""What the status holds: groups that will still be measured without the sieves, and how many it will be next time; the
same for the coarse one alone."""
ALL_FEATURES, SOME_FEATURES = range(2)
"""Squared lengths: of all features, and of those that the coarse sieve takes."""
EVERY = 8
"""One feature of so many goes through the coarse sieve."""
SUMMED_SINGLE = 256
"""Products that are added in float32; the sums of the blocks are added in float64."""
PAUSES = 16, 4096
LEAST_SCALE = 0.9  # of a query for the coarse sieve, as a share of the shadow's: distances shrink by its square
STALE_SCALES = 0.95, 1.25  # beyond, a feature gets a new shadow
ROUNDING = 2.0**-24
SLACK = 1e-8  # for all that is done in float64
LARGEST_ROUGH = 1e30  # beyond, products in float32 might overflow
LEAST_ROUGH = 1e-40  # for each feature: what underflow can cost
STRETCH = 64  # features between two looks at the bound


class Sieve(NamedTuple):
    """The tables of the sieves; T = 0 where there are none."""

    shadow: Singles
    """T × d × B: the rows, centred, scaled, rounded; 0 where a value is missing."""
    rows: NDArray[Any]
    """(T B + G) × d: the rows themselves, each in one piece; then those pushed out by the group."""
    lengths: Floats
    """2 × T B: the squared lengths of the rows of the shadow, see ALL."""
    centre: Floats
    """d: what was subtracted."""
    by: Floats
    """d: what was multiplied; -1: this feature has no shadow yet."""
    query: Singles
    """Q × d: the queries, centred, scaled, rounded."""
    own: Floats
    """Q × 2: their squared lengths."""
    one: Singles
    """d: room for one row."""
    sums: Singles
    """Q × B: sums of products in one block."""
    errors: Floats
    """Q: how far a rough squared distance may be from the true one."""
    hard: Ints
    """Q: the queries that go through a sieve."""
    chosen: Ints
    """T B + G: the rows of one query that must be measured exactly ..."""
    exact: Floats
    """T B + G: ... and what came out; infinite where it is beyond the bound."""
    status: Ints
    """See STATUS."""


# -- the shadow -------------------------------------------------------------------------------------------------------


@called
def lay_down(sieve: Sieve, X: NDArray[Any], r: int, slot: int) -> None:
    """Let the sieves take row r, which has been learned, at this slot."""
    B, row, one = sieve.shadow.shape[2], sieve.rows[slot], sieve.one
    tile, lane = sieve.shadow[slot // B], slot % B
    for f in range(len(one)):
        row[f] = X[r, f]
        one[f] = shade(float(X[r, f]), sieve.centre[f], sieve.by[f])
    for f in range(len(one)):
        tile[f, lane] = one[f]
    sieve.lengths[SOME_FEATURES, slot], sieve.lengths[ALL_FEATURES, slot] = lengths_of(one)


@called
def set_aside(sieve: Sieve, slot: int, g: int) -> None:
    """Keep the row that the next one replaces, as the group's g-th."""
    B, T = sieve.shadow.shape[2], sieve.shadow.shape[0]
    row, kept = sieve.rows[slot], sieve.rows[T * B + g]
    for f in range(len(row)):
        kept[f] = row[f]


@called
def copy_pushed(scratch: Scratch, sieve: Sieve, pushed: int) -> None:
    """Copy the rows set aside to where they are measured without a sieve."""
    B, T = sieve.shadow.shape[2], sieve.shadow.shape[0]
    for g in range(pushed):
        for f in range(len(sieve.by)):
            scratch.left[f, g] = sieve.rows[T * B + g, f]


@inlined
def shade(v: float, centre: float, by: float) -> Any:
    """Centre, scale and round a value."""
    return np.float32(0.0) if math.isnan(v) or by <= 0.0 else np.float32((v - centre) * by)


@inlined
def lengths_of(z: Singles) -> tuple[float, float]:
    """Give the squared length of a row: of every eighth feature, and of all."""
    few, rest, f, eight = 0.0, 0.0, 0, len(z) - len(z) % EVERY
    while f < eight:
        z0, z1, z2, z3 = float(z[f]), float(z[f + 1]), float(z[f + 2]), float(z[f + 3])
        z4, z5, z6, z7 = float(z[f + 4]), float(z[f + 5]), float(z[f + 6]), float(z[f + 7])
        few += z0 * z0
        rest += ((z1 * z1 + z2 * z2) + (z3 * z3 + z4 * z4)) + (z5 * z5 + (z6 * z6 + z7 * z7))
        f += EVERY
    while f < len(z):
        if f % EVERY == 0:
            few += float(z[f]) * float(z[f])
        else:
            rest += float(z[f]) * float(z[f])
        f += 1
    return few, few + rest


@called
def refresh(window: Window, sieve: Sieve, rules: Ints, least: float, greatest: float) -> None:
    """Give every feature a new shadow whose scale, as a share of the shadow's, is below or above these."""
    n, renewed = window.head[W_SIZE], False
    for f in range(len(sieve.by)):
        span = window.spans[f]
        by = scale_of(span, rules[R_SCALE])
        if is_stale(by, sieve.by[f], least, greatest):
            sieve.by[f] = by
            sieve.centre[f] = 0.5 * span[S_LEAST] + 0.5 * span[S_GREATEST] if span[S_LEAST] <= span[S_GREATEST] else 0.0
            darken(window.ring, sieve, f, n)
            renewed = True
    for s in range(n if renewed else 0):
        if math.isnan(sieve.lengths[ALL_FEATURES, s]):
            add_up(sieve, s)


@inlined
def is_stale(by: float, now: float, least: float, greatest: float) -> bool:
    """Is the scale of a shadow out of date?"""
    return now < 0.0 or by < least * now or by > greatest * now


@called
def darken(ring: NDArray[Any], sieve: Sieve, f: int, n: int) -> None:
    """Make the shadow of one feature; NaN for the length of a row that lay far outside: little would be left of it."""
    B, centre, by = ring.shape[2], sieve.centre[f], sieve.by[f]
    share = 1.0 if f % EVERY == 0 else 0.0
    for t in range((n + B - 1) // B):
        values, shadow = ring[t, f], sieve.shadow[t, f]
        few, whole = sieve.lengths[SOME_FEATURES, t * B : t * B + B], sieve.lengths[ALL_FEATURES, t * B : t * B + B]
        for i in range(B):
            old = float(shadow[i])
            new = shade(float(values[i]), centre, by)
            shadow[i] = new
            more = float(new) * float(new) - old * old if old * old <= 1.0 else math.nan
            whole[i] += more
            few[i] += share * more


@called
def add_up(sieve: Sieve, s: int) -> None:
    """Find the length of one row anew."""
    B = sieve.shadow.shape[2]
    tile, lane = sieve.shadow[s // B], s % B
    for f in range(tile.shape[0]):
        sieve.one[f] = tile[f, lane]
    sieve.lengths[SOME_FEATURES, s], sieve.lengths[ALL_FEATURES, s] = lengths_of(sieve.one)
