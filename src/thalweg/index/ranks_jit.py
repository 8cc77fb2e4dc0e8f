"""Thresholds as ranks: rows are ranked once, and then go down all trees by comparing small whole numbers.

| table   | shape         | dtype   | meaning |
| ranked  | nodes         | RANKED  | a packed node (trees_jit.py): rank of its threshold among those of its feature, |
|         |               |         | column of ``ranks``, left child; of a leaf: the highest rank, 0, itself |
| cuts    | –             | float64 | the thresholds of each feature, ascending, no two alike, feature after feature |
| columns | features      | int64   | FEATURE, where its cuts BEGIN, and how MANY they are; others are not in it |
| ranks   | n × 2 columns | uint16  | how many cuts of the feature are below the value; the second of a pair differs |
|         |               |         | only for a missing value, which goes left by the first and right by the second |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.index.trees_jit import Whole
from thalweg.jit.compile import inlined
from thalweg.trees.leaf_jit import Floats, Ints
from thalweg.trees.tables_jit import Nodes

Ranks = NDArray[np.uint16]
RANKED = np.dtype([("rank", np.uint16), ("column", np.uint16), ("left", np.uint32)])
FEATURE, BEGIN, MANY = 0, 1, 2
HIGHEST, NEAR = 0xFFFF, 64
"""No value has a higher rank: that of a leaf's threshold, ∞. Rows that are ranked together."""


@inlined
def rank_rows(cuts: Floats, columns: Ints, X: Floats, begin: int, n: int, ranks: Ranks) -> None:
    """Fill ``ranks`` with those of n rows of X, few rows at a time, so that they stay near.

    A search takes as many steps for each value of a feature, and none of them branches: searches overlap.
    """
    for some in range(0, n, NEAR):
        for c in range(len(columns)):
            f, mine = columns[c, FEATURE], cuts[columns[c, BEGIN] : columns[c, BEGIN] + columns[c, MANY]]
            for k in range(some, min(some + NEAR, n)):
                v = X[begin + k, f]
                below, left = np.uint64(0), np.uint64(len(mine))
                while left > np.uint64(1):
                    half = left >> np.uint64(1)
                    below += half * np.uint64(mine[below + half - np.uint64(1)] < v)
                    left -= half
                below += np.uint64(mine[below] < v)
                ranks[k, 2 * c] = below
                ranks[k, 2 * c + 1] = below if v == v else HIGHEST


@inlined
def step(ranked: Nodes, i: int, ranks: Ranks, k: int) -> int:
    """Go from node i to the child that row k takes; a leaf leads to itself."""
    above = ranks[k, np.int64(ranked[i]["column"])] > ranked[i]["rank"]
    return int(np.int64(ranked[i]["left"]) + int(above))


@inlined
def find_ranked(ranked: Nodes, leaf: Whole, root: int, ranks: Ranks, n: int, at: Ints) -> None:
    """Find the leaf of each of n rows: eight rows go down together, so that none waits for the memory alone."""
    whole = n - n % 8
    for k in range(0, whole, 8):
        a, b, c, d, e, f, g, h = root, root, root, root, root, root, root, root
        moving = True
        while moving:
            a1, b1 = step(ranked, a, ranks, k), step(ranked, b, ranks, k + 1)
            c1, d1 = step(ranked, c, ranks, k + 2), step(ranked, d, ranks, k + 3)
            e1, f1 = step(ranked, e, ranks, k + 4), step(ranked, f, ranks, k + 5)
            g1, h1 = step(ranked, g, ranks, k + 6), step(ranked, h, ranks, k + 7)
            moving = ((a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)) != 0
            a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        at[k], at[k + 1], at[k + 2], at[k + 3] = leaf[a], leaf[b], leaf[c], leaf[d]
        at[k + 4], at[k + 5], at[k + 6], at[k + 7] = leaf[e], leaf[f], leaf[g], leaf[h]
    for k in range(whole, n):
        i = root
        j = step(ranked, i, ranks, k)
        while j != i:
            i = j
            j = step(ranked, i, ranks, k)
        at[k] = leaf[i]
