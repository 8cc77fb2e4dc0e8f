"""Many rows go down a tree together. The tables are those of trees_jit.py and scores_jit.py."""

from thalweg.index.scores_jit import add_rule
from thalweg.index.trees_jit import Whole, descend, step
from thalweg.jit.compile import hot, inlined
from thalweg.trees.leaf_jit import Floats, Ints
from thalweg.trees.tables_jit import Nodes

BLOCK = 1024
"""Rows that are taken through all trees before the next ones."""


@inlined
def find_all(packed: Nodes, leaf: Whole, root: int, X: Floats, begin: int, n: int, at: Ints) -> None:
    """Find the leaf of each of n rows: eight rows go down together, so that none waits for the memory alone."""
    whole = n - n % 8
    for k in range(0, whole, 8):
        r = begin + k
        a, b, c, d, e, f, g, h = root, root, root, root, root, root, root, root
        moving = True
        while moving:
            a1, b1 = step(packed, a, X, r), step(packed, b, X, r + 1)
            c1, d1 = step(packed, c, X, r + 2), step(packed, d, X, r + 3)
            e1, f1 = step(packed, e, X, r + 4), step(packed, f, X, r + 5)
            g1, h1 = step(packed, g, X, r + 6), step(packed, h, X, r + 7)
            moving = ((a ^ a1) | (b ^ b1) | (c ^ c1) | (d ^ d1) | (e ^ e1) | (f ^ f1) | (g ^ g1) | (h ^ h1)) != 0
            a, b, c, d, e, f, g, h = a1, b1, c1, d1, e1, f1, g1, h1
        at[k], at[k + 1], at[k + 2], at[k + 3] = leaf[a], leaf[b], leaf[c], leaf[d]
        at[k + 4], at[k + 5], at[k + 6], at[k + 7] = leaf[e], leaf[f], leaf[g], leaf[h]
    for k in range(whole, n):
        at[k] = leaf[descend(packed, root, X, begin + k)]


@inlined
def find_ahead(packed: Nodes, leaf: Whole, roots: Ints, X: Floats, r: int, found: Ints) -> None:
    """Find the leaf of row r in each tree: for a row by itself, eight trees at once. roots: the first column."""
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
        found[t], found[t + 1], found[t + 2], found[t + 3] = leaf[a], leaf[b], leaf[c], leaf[d]
        found[t + 4], found[t + 5], found[t + 6], found[t + 7] = leaf[e], leaf[f], leaf[g], leaf[h]
    for t in range(whole, trees):
        found[t] = leaf[descend(packed, roots[t, 0], X, r)]


@hot
def batch_scores(packed: Nodes, rule: Whole, roots: Ints, payload: Floats, owner: Ints, alive: Ints, weight: Floats,
                 X: Floats, out: Floats, work: Ints) -> None:  # fmt: skip
    """Go down every tree with many rows at once."""
    for begin in range(0, len(X), BLOCK):
        n = min(BLOCK, len(X) - begin)
        for t in range(len(roots)):
            find_all(packed, rule, roots[t], X, begin, n, work)
            for k in range(n):
                i = work[k]
                if i < len(alive) and alive[i] != 0:
                    add_rule(payload, owner, weight, i, out, begin + k)
