"""The votes of the nearest rows on one query, most rows being measured in part: see window_jit.py for the tables.

A distance is a sum over features of what is never below 0. So rows whose sum over the first features is greater already
than the whole distance of k others need no more of it. What is added up is the same, in the same order, as in
distances_jit.py: the answers are the same to the last bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.learners.windows.distances_jit import add_four, add_four_squares, find_nearest, measure_all, vote
from thalweg.learners.windows.window_jit import (
    EUCLIDEAN,
    MANHATTAN,
    NUMBER,
    Q_HELD,
    Q_KNOWN,
    Q_NEWEST,
    Q_ROW,
    Q_SEEN,
    R_K,
    R_METRIC,
    R_WINDOW,
    W_NEXT,
    W_SIZE,
    Scratch,
    Window,
    ask,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEP = 8  # features that are added up for all rows at a time
_FEW = 8  # one of so many rows left is few


class Near(NamedTuple):
    """Room for the rows that may be among the nearest; nothing of it is kept."""

    slots: Ints
    codes: Ints
    """Their tiles; then, the oldest first, their classes."""
    voices: Floats
    sums: Floats


@called
def answer(window: Window, scratch: Scratch, near: Near, rules: Ints, X: NDArray[Any], r: int, known: int, out: Floats,
           row: int) -> None:  # fmt: skip
    """Let the nearest rows vote on row r of X: their votes go to row ``row`` of ``out``, which comes with zeros."""
    n, newest = window.head[W_SIZE], window.head[W_NEXT]
    ask(window, scratch, rules, X, r, 0)
    moment = scratch.moments[0]
    moment[Q_ROW], moment[Q_SEEN], moment[Q_KNOWN], moment[Q_HELD], moment[Q_NEWEST] = row, 0, known, n, newest
    left = measure_near(window, scratch, near, rules)
    if left < 0:
        measure_all(window, scratch, rules[R_METRIC], 1, 0)
        vote(window.codes, window.voices, scratch.sums[0], moment, scratch.nearest, rules, out)
        return
    oldest, first, m = newest if n == rules[R_WINDOW] else 0, 0, 0
    while first < left and near.slots[first] < oldest:
        first += 1
    for half in range(2):
        for j in range(first if half == 0 else 0, left if half == 0 else first):
            s = near.slots[j]
            near.codes[m], near.voices[m], near.sums[m] = window.codes[s], window.voices[s], scratch.sums[0, s]
            m += 1
    moment[Q_HELD], moment[Q_NEWEST] = m, 0
    vote(near.codes, near.voices, near.sums, moment, scratch.nearest, rules, out)


@inlined
def measure_near(window: Window, scratch: Scratch, near: Near, rules: Ints) -> int:
    """Note the slots of the rows that may be among the nearest, and measure these; give how many, at least k.

    -1: nothing was measured, since there is little to spare, or not all is numbers.
    """
    ring, x, by, sums, metric = window.ring, scratch.x[0], scratch.by[0], scratch.sums[0], rules[R_METRIC]
    n, d, k, B = window.head[W_SIZE], window.ring.shape[1], rules[R_K], window.ring.shape[2]
    other = 0
    for f in range(d):
        other += scratch.kind[0, f]
    if d < 2 * _STEP or n < 4 * k or metric > MANHATTAN or other != NUMBER:
        return -1
    for s in range(n):
        sums[s] = 0.0
    f, left, limit = 0, n, np.inf
    while left > n // _FEW and f + _STEP <= d:
        for t in range((n + B - 1) // B):
            part = sums[t * B : min(n, (t + 1) * B)]
            for g in range(f, f + _STEP, 4):
                if metric == EUCLIDEAN:
                    add_four_squares(part, ring[t], x, by, g, len(part))
                else:
                    add_four(part, ring[t], x, by, g, len(part))
        f += _STEP
        if limit == np.inf:  # the distance of k rows, those that seem to be the nearest, is a limit
            find_nearest(sums, n, scratch.nearest, k)
            left = choose(sums, n, B, scratch.nearest[0], near)
            add_rest(ring, near, left, x, by, f, metric, np.inf)
            limit = near.sums[0]
            for j in range(1, k):
                limit = max(limit, near.sums[j])
        left = choose(sums, n, B, limit, near)
    left = add_rest(ring, near, left, x, by, f, metric, limit)
    for j in range(left):
        sums[near.slots[j]] = near.sums[j]
    return left


@inlined
def choose(sums: Floats, n: int, B: int, limit: float, near: Near) -> int:
    """Note the rows whose sums are within the limit; give how many."""
    left = 0
    for t in range((n + B - 1) // B):
        for s in range(t * B, min(n, (t + 1) * B)):
            if sums[s] <= limit:
                near.slots[left], near.codes[left], near.sums[left] = s, t, sums[s]
                left += 1
    return left


@called
def add_rest(ring: NDArray[Any], near: Near, left: int, x: Floats, by: Floats, first: int, metric: int,
             limit: float) -> int:  # fmt: skip
    """Add the features from ``first`` on to the sums of the rows chosen; give how many stay within the limit."""
    m, d = 0, len(x)
    for j in range(left):
        s, t, total, f = near.slots[j], near.codes[j], near.sums[j], first
        tile, lane = ring[t], s - t * ring.shape[2]
        while f < d and total <= limit:
            for g in range(f, min(d, f + _STEP)):
                gap = abs(x[g] - tile[g, lane]) * by[g]
                total += gap * gap if metric == EUCLIDEAN else gap
            f += _STEP
        near.slots[m], near.codes[m], near.sums[m] = s, t, total
        m += 1 if total <= limit else 0
    return m
