"""Many rows go down a tree together: at each node a group of rows is divided, and whole groups come to the leaves.

The trees are those of trees_jit.py, the rules those of scores_jit.py.

"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.index.trees_jit import Whole, descend, step
from thalweg.jit.compile import hot, inlined
from thalweg.pool.leaf_jit import HUGE, Floats, Ints
from thalweg.pool.pool_jit import Nodes

Few = NDArray[np.uint16]
"""Rows of a block."""
BLOCK, CELLS = 1024, 1 << 18
"""Rows, and values, that are taken through all trees before the next ones."""
FEW = 8
"""Fewer rows than these find their leaves one after the other."""
NODE, SIDE, BEGIN, END = 0, 1, 2, 3


class Groups(NamedTuple):
    """Room for a block of rows on its way down; nothing of it is kept."""

    turned: Floats
    """d × n: the block, feature after feature."""
    rows: Few
    """2 × n: two lists of rows of the block: a group is a part of one of them, its two halves are the same part of the
    other."""
    waiting: Ints
    """groups × 4: groups that wait: at which NODE, in which list (SIDE), from BEGIN to END."""
    found: Ints
    """FEW × trees: the leaf of each of a few rows, see ``find_ahead``."""


@inlined
def turn(X: Floats, begin: int, n: int, turned: Floats) -> bool:
    """Copy n rows of X feature after feature; say whether no value is missing, or so large that it counts as missing.

    Eight rows at a time fill whole cache lines.
    """
    tame = True
    for some in range(0, n, 8):
        for f in range(X.shape[1]):
            for k in range(some, min(some + 8, n)):
                v = X[begin + k, f]
                turned[f, k] = v
                tame &= abs(v) <= HUGE
    return tame


@inlined
def gather(groups: Groups, t: int, root: int, n: int) -> int:
    """Let the n rows of a block wait at the root of tree t, or a few each at its leaf; give how many groups wait."""
    rows, waiting = groups.rows, groups.waiting
    if n < FEW:
        for k in range(n):
            rows[0, k] = k
            waiting[k, NODE], waiting[k, SIDE], waiting[k, BEGIN], waiting[k, END] = groups.found[k, t], 0, k, k + 1
        return n
    for k in range(n):
        rows[0, k] = k
    waiting[0, NODE], waiting[0, SIDE], waiting[0, BEGIN], waiting[0, END] = root, 0, 0, n
    return 1


@inlined
def next_group(packed: Nodes, groups: Groups, last: int) -> tuple[int, int, Few]:
    """Take the last group that waits down to a leaf; what goes another way waits. Give how many do, node and rows."""
    turned, rows, waiting = groups.turned, groups.rows, groups.waiting
    last -= 1
    i, side, begin, end = waiting[last, NODE], waiting[last, SIDE], waiting[last, BEGIN], waiting[last, END]
    left = np.int64(packed[i]["left"])
    while left != i:
        f, cut = np.int64(packed[i]["feature"]), packed[i]["threshold"]
        source, target = rows[side, begin:end], rows[1 - side, begin:end]
        if f & 1:
            middle = begin + divide(turned[f >> 1], cut, True, source, target)
        else:
            middle = begin + divide(turned[f >> 1], cut, False, source, target)
        side = 1 - side
        if middle == begin:
            i = left + 1
        else:
            if middle < end:
                waiting[last, NODE], waiting[last, SIDE] = left + 1, side
                waiting[last, BEGIN], waiting[last, END] = middle, end
                last += 1
            i, end = left, middle
        left = np.int64(packed[i]["left"])
    return last, i, rows[side, begin:end]


@inlined
def divide(column: Floats, cut: float, missing_right: bool, rows: Few, halves: Few) -> int:
    """Write rows that go left to the front of ``halves``, others to its back; give how many go left.

    Each is written to both, and the next one over it where it does not belong: so nothing branches.
    """
    low = np.uint64(0)
    for k in range(len(rows)):
        r = rows[k]
        halves[low] = r
        halves[low + np.uint64(len(rows) - 1 - k)] = r
        v = column[r]
        low += np.uint64(v <= cut if missing_right else not v > cut)
    return int(np.int64(low))


@inlined
def find_ahead(packed: Nodes, roots: Ints, X: Floats, r: int, found: Ints) -> None:
    """Find the leaf's node of row r in each tree: for a row by itself, eight trees at once. roots: the first column."""
    trees = len(roots)
    whole = trees - trees % 8
    for t in range(0, whole, 8):
        a, b, c, d = roots[t, 0], roots[t + 1, 0], roots[t + 2, 0], roots[t + 3, 0]
        e, f, g, h = roots[t + 4, 0], roots[t + 5, 0], roots[t + 6, 0], roots[t + 7, 0]
        moving = True
        while moving:
            a1, b1, c1, d1 = step(packed, a, X, r), step(packed, b, X, r), step(packed, c, X, r), step(packed, d, X, r)
            e1, f1, g1, h1 = step(packed, e, X, r), step(packed, f, X, r), step(packed, g, X, r), step(packed, h, X, r)
            moving = ((a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)) != 0
            a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        found[t], found[t + 1], found[t + 2], found[t + 3] = a, b, c, d
        found[t + 4], found[t + 5], found[t + 6], found[t + 7] = e, f, g, h
    for t in range(whole, trees):
        found[t] = descend(packed, roots[t, 0], X, r)


@hot
def batch_scores(packed: Nodes, rule: Whole, roots: Ints, payload: Floats, owner: Ints, alive: Ints, weight: Floats,
                 X: Floats, out: Floats, groups: Groups) -> None:  # fmt: skip
    """Go down every tree with many rows at once."""
    groups = Groups(*groups)
    block = groups.turned.shape[1]
    for begin in range(0, len(X), block):
        n = min(block, len(X) - begin)
        if n < FEW:
            for k in range(n):
                find_ahead(packed, roots, X, begin + k, groups.found[k])
        else:
            turn(X, begin, n, groups.turned)
        for t in range(len(roots)):
            waiting = gather(groups, t, roots[t, 0], n)
            while waiting > 0:
                waiting, node, here = next_group(packed, groups, waiting)
                i = np.int64(rule[node])
                if i < len(alive) and alive[i] != 0:
                    w = weight[owner[i]]
                    for c in range(out.shape[1]):
                        vote = w * payload[i, c]
                        if vote != 0.0:
                            for k in range(len(here)):
                                out[begin + here[k], c] += vote
