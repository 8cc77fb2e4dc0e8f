"""The last values of columns, for each key."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, table
from thalweg.jit.compile import hot, inlined
from thalweg.prepare.rows_jit import carry_over
from thalweg.prepare.scaling_jit import FAR, near

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WAYS = 8
"""Keys that share a shelf: a new key takes the place of the one on its shelf that was not learned for longest."""


class Past(NamedTuple):
    """The state; a place for each key that is remembered."""

    keys: Annotated[Floats, table("places", least=-1e18, most=1e18, whole=True)]
    """The key of each place."""
    used: Annotated[Ints, table("places", least=0, most=EXACT)]
    """When it was learned last, by the clock; 0: the place is free."""
    filled: Annotated[Ints, table("places", least=0, most=EXACT)]
    """How many rows of the key have been learned."""
    ring: Annotated[Floats, table("places", "c", "size", least=-FAR, most=FAR, missing=True)]
    """The last values of each column; row n of a key is at n modulo size."""
    clock: Annotated[Ints, table(1, least=0, most=EXACT)]
    """1: rows learned."""


@inlined
def shelf_of(key: float, shelves: int) -> int:
    """Give the shelf of a key: the bits of a whole number, well mixed."""
    h = np.uint64(np.int64(key)) * np.uint64(0x9E3779B97F4A7C15)
    return int((h >> np.uint64(33)) % np.uint64(shelves))


@inlined
def find(past: Past, key: float) -> int:
    """Find the place of a key; -1: it is not remembered."""
    first = WAYS * shelf_of(key, len(past.keys) // WAYS)
    for j in range(first, first + WAYS):
        if past.used[j] > 0 and past.keys[j] == key:
            return j
    return -1


@inlined
def place_for(past: Past, key: float) -> int:
    """Make a place for a new key."""
    first = WAYS * shelf_of(key, len(past.keys) // WAYS)
    best = first
    for j in range(first + 1, first + WAYS):
        if past.used[j] < past.used[best]:
            best = j
    past.keys[best], past.filled[best] = key, 0
    return best


@hot
def look_back(
    past: Past, key_column: int, columns: Ints, places: Ints, lags: Ints, windows: Ints, differences: bool,
    X: Floats, learned: Bools, out: Floats,
) -> None:  # fmt: skip
    """Write, behind each chosen value, the lagged values of its key and the means of the last ones; then remember it.

    differences: write by how much the value is above each of these. What is not there yet is missing, and a missing
    value has no part in a mean. A row without a key has no past.
    """
    past = Past(*past)
    size = past.ring.shape[2]
    for i in range(len(X)):
        x, z = X[i], out[i]
        carry_over(x, z, places)
        key = x[key_column] if key_column >= 0 else 0.0
        keyed = not math.isnan(key)
        key = max(-1e18, min(1e18, math.floor(key))) if keyed else 0.0
        p = find(past, key) if keyed else -1
        n = past.filled[p] if p >= 0 else 0
        for k in range(len(columns)):
            at = places[columns[k]] + 1
            for j in range(len(lags)):
                z[at + j] = past.ring[p, k, (n - lags[j]) % size] if lags[j] <= n else math.nan
            for j in range(len(windows)):
                total, there = 0.0, 0
                for back in range(1, min(windows[j], n) + 1):
                    v = past.ring[p, k, (n - back) % size]
                    if not math.isnan(v):
                        total += v
                        there += 1
                z[at + len(lags) + j] = total / there if there > 0 else math.nan
            if differences:
                for j in range(at, at + len(lags) + len(windows)):
                    z[j] = near(x[columns[k]]) - z[j] if not math.isnan(x[columns[k]]) else math.nan
        if learned[i] and keyed:
            if p < 0:
                p = place_for(past, key)
            past.clock[0] += 1
            past.used[p] = past.clock[0]
            n = past.filled[p]
            for k in range(len(columns)):
                v = x[columns[k]]
                past.ring[p, k, n % size] = v if math.isnan(v) else near(v)
            past.filled[p] = n + 1
