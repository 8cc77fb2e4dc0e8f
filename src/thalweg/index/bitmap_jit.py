"""Which rules accept each interval of each feature, as bits.

Rules are taken in blocks of RULES, in the order of the table. For each block and feature the ends of the rules cut the
line into intervals; for each of these there is a row of bits, one for each rule of the block that accepts it.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import table
from thalweg.index.scores_jit import add_rule, push
from thalweg.index.trees_jit import Bits, Boxes, bit_at
from thalweg.jit.bits import lowest
from thalweg.jit.compile import called, compiled, hot, inlined
from thalweg.pool.leaf_jit import Floats, Ints

Guide = NDArray[np.int32]
WORDS = 32
RULES = 64 * WORDS
GUIDE = 512
ROW, CUT, CUTS, COLUMNS = 0, 1, 2, 3

_ONE = np.uint64(1)


class Bitmap(NamedTuple):
    """The tables of a bitmap. Those of a file are not used: they are made from the rules."""

    parts: Annotated[Ints, table("blocks", "d", COLUMNS, loose=True)]
    """blocks × d × 3: ROW: the first of the feature's rows (-1: no rule of the block tests it); CUT: its first cut;
    CUTS: how many."""
    cuts: Annotated[Floats, table("cuts", loose=True)]
    """Where intervals end: x is in the interval k if k cuts are < x."""
    lines: Annotated[Bits, table("lines", WORDS, loose=True)]
    """– × WORDS: a row for each interval, or each nominal value and then all others; one for missing values after
    them."""
    guide: Annotated[Guide, table("blocks", "d", GUIDE + 1, loose=True)]
    """blocks × d × GUIDE + 1: cuts before each of GUIDE equal parts of the range of cuts: where to search."""
    scale: Annotated[Floats, table("blocks", "d", 2, loose=True)]
    """blocks × d × 2: the least cut, and parts for each unit."""
    living: Annotated[Bits, table("blocks", WORDS, loose=True)]
    """blocks × WORDS: rules that are not deleted."""
    values: Ints
    """d: as in trees_jit.py."""


# -- building ---------------------------------------------------------------------------------------------------------


@called
def ends_of(rules: Boxes, first: int, last: int, f: int) -> Floats:
    """The distinct cuts of a feature for some rules, ascending."""
    lo, hi = rules.lo, rules.hi
    ends, n = np.empty(2 * (last - first)), 0
    for i in range(first, last):
        if -math.inf < lo[i, f] <= hi[i, f]:
            ends[n] = np.nextafter(lo[i, f], -math.inf)
            n += 1
        if lo[i, f] <= hi[i, f] < math.inf:
            ends[n] = hi[i, f]
            n += 1
    return np.unique(ends[:n])


@inlined
def count_below(cuts: Floats, a: int, b: int, v: float) -> int:
    """How many of cuts[a:b] are < v, and a."""
    while a < b:
        middle = (a + b) // 2
        if cuts[middle] < v:
            a = middle + 1
        else:
            b = middle
    return a


@called
def tested(rules: Boxes, first: int, last: int, f: int) -> bool:
    """Does any of some rules say anything about feature f?"""
    lo, hi, bits, values, at = rules
    for i in range(first, last):
        if lo[i, f] > -math.inf or hi[i, f] < math.inf:
            return True
        for k in range(values[f] + 2 if values[f] > 0 else 1):
            if not bit_at(bits, i, at[f] + k):
                return True
    return False


@compiled
def build(rules: Boxes, first: int, last: int, parts: Ints, guide: Guide, scale: Floats) -> tuple[Floats, Bits]:
    """Make a block of the rules from first to last; fill its part of each table, give its cuts and lines."""
    rules = Boxes(*rules)
    lo, hi, bits, values, at = rules
    d = len(values)
    n_cuts, n_lines = 0, 0
    all_cuts = np.empty(2 * d * (last - first))
    for f in range(d):
        parts[f, ROW], parts[f, CUT], parts[f, CUTS] = -1, n_cuts, 0
        if not tested(rules, first, last, f):
            continue
        parts[f, ROW] = n_lines
        if values[f] > 0:
            n_lines += values[f] + 2
            continue
        ends = ends_of(rules, first, last, f)
        parts[f, CUTS] = len(ends)
        all_cuts[n_cuts : n_cuts + len(ends)] = ends
        n_cuts += len(ends)
        n_lines += len(ends) + 2
    lines = np.zeros((n_lines, WORDS), dtype=np.uint64)
    for f in range(d):
        row, a, n = parts[f, ROW], parts[f, CUT], parts[f, CUTS]
        if row < 0:
            continue
        missing = row + (n + 1 if values[f] == 0 else values[f] + 1)
        for i in range(first, last):
            word, mask = (i - first) >> 6, _ONE << np.uint64((i - first) & 63)
            if bit_at(bits, i, at[f]):
                lines[missing, word] |= mask
            if values[f] > 0:
                for v in range(values[f] + 1):
                    if bit_at(bits, i, at[f] + 1 + v):
                        lines[row + v, word] |= mask
            elif lo[i, f] <= hi[i, f]:  # it begins in one interval and ends before another: turn its bit there
                lines[row + count_below(all_cuts, a, a + n, lo[i, f]) - a, word] ^= mask
                if hi[i, f] < math.inf:
                    lines[row + count_below(all_cuts, a, a + n, hi[i, f]) - a + 1, word] ^= mask
        if values[f] == 0:
            for k in range(row + 1, row + n + 1):
                for word in range(WORDS):
                    lines[k, word] ^= lines[k - 1, word]
            fill_guide(all_cuts[a : a + n], guide, scale, f)
    return all_cuts[:n_cuts], lines


@called
def fill_guide(cuts: Floats, guide: Guide, scale: Floats, f: int) -> None:
    """Note how many cuts there are before each part of their range."""
    n = len(cuts)
    span = cuts[n - 1] - cuts[0] if n > 0 else 0.0
    scale[f, 0] = cuts[0] if n > 0 else 0.0
    scale[f, 1] = GUIDE / span if 0.0 < span < math.inf and GUIDE / span < math.inf else 0.0
    k = 0
    for g in range(GUIDE + 1):
        while k < n and part_of(cuts[k], scale[f, 0], scale[f, 1]) < g:
            k += 1
        guide[f, g] = k


@inlined
def part_of(v: float, least: float, per_unit: float) -> int:
    """Which part of the range v is in. It never falls as v rises, so cuts in earlier parts are < v."""
    z = (v - least) * per_unit
    if not z > 0.0:
        return 0
    return int(z) if z < GUIDE - 1.0 else GUIDE - 1


# -- searching --------------------------------------------------------------------------------------------------------


@inlined
def line_of(bitmap: Bitmap, b: int, f: int, v: float) -> int:
    """The line of block b for value v of feature f; -1: all rules accept it."""
    parts, cuts, guide, scale, values = bitmap.parts, bitmap.cuts, bitmap.guide, bitmap.scale, bitmap.values
    row = parts[b, f, ROW]
    if row < 0:
        return -1
    n = parts[b, f, CUTS]
    if values[f] > 0:
        if v != v:
            return int(row + values[f] + 1)
        return int(row + (int(v) if 0.0 <= v < values[f] else values[f]))
    if v != v:
        return int(row + n + 1)
    if n == 0:
        return int(row)
    g = part_of(v, scale[b, f, 0], scale[b, f, 1])
    a = parts[b, f, CUT]
    k = a + np.int64(guide[b, f, g])
    end = a + np.int64(guide[b, f, g + 1])
    while k < end and cuts[k] < v:
        middle = (k + end) // 2
        if cuts[middle] < v:
            k = middle + 1
        else:
            end = middle
    return int(row + k - a)


@inlined
def find(bitmap: Bitmap, b: int, X: Floats, r: int, words: Bits) -> None:
    """Fill ``words`` with the rules of block b that hold row r."""
    for k in range(len(words)):
        words[k] = bitmap.living[b, k]
    for f in range(len(bitmap.values)):
        line = line_of(bitmap, b, f, X[r, f])
        if line >= 0:
            here, some = bitmap.lines[line], np.uint64(0)
            for k in range(len(words)):
                words[k] &= here[k]
                some |= words[k]
            if some == 0:
                return


@hot
def bitmap_scores(
    bitmap: Bitmap, payload: Floats, owner: Ints, weight: Floats, X: Floats, out: Floats, words: Bits
) -> None:
    """Add up the votes, block after block."""
    bitmap = Bitmap(*bitmap)
    for b in range(len(bitmap.parts)):
        for r in range(len(X)):
            find(bitmap, b, X, r, words)
            for k in range(len(words)):
                word = words[k]
                while word != 0:
                    add_rule(payload, owner, weight, b * RULES + 64 * k + lowest(word), out, r)
                    word &= word - _ONE


@compiled
def bitmap_match(bitmap: Bitmap, X: Floats, start: Ints) -> Ints:
    """Give the rules that hold each row, one row after the other."""
    bitmap = Bitmap(*bitmap)
    words = np.empty(WORDS, dtype=np.uint64)
    found, n = np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        start[r] = n
        for b in range(len(bitmap.parts)):
            find(bitmap, b, X, r, words)
            for k in range(WORDS):
                word = words[k]
                while word != 0:
                    found = push(found, n, b * RULES + 64 * k + lowest(word))
                    n += 1
                    word &= word - _ONE
    start[len(X)] = n
    return found[:n]
