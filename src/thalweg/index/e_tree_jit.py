"""The E-tree: a height-balanced tree of boxes over the table of rules (Zhang et al. 2011, after Guttman's R-tree)."""

import math

import numpy as np

from thalweg.index.e_tree_nodes_jit import LEVEL, ROOT, SIZE, Searched, flag
from thalweg.index.scores_jit import add_rule, push
from thalweg.index.trees_jit import place
from thalweg.jit.compile import called, compiled, inlined
from thalweg.pool.leaf_jit import Floats, Ints


@inlined
def test(tree: Searched, i: int, n: int, X: Floats, r: int, hit: Ints) -> None:
    """Say in ``hit`` which of the n entries of node i hold row r."""
    values = tree.values
    for e in range(n):
        hit[e] = 1
    for f in range(len(values)):
        v = X[r, f]
        if values[f] == 0 and v == v:
            a, b = tree.low[i, f, :n], tree.high[i, f, :n]
            for e in range(len(a)):
                hit[e] &= int(a[e] <= v) & int(v <= b[e])
        else:
            k = place(values, tree.at, f, v)
            for e in range(n):
                hit[e] &= int(flag(tree.flags, i, e, k))


@called
def search(tree: Searched, payload: Floats, owner: Ints, weight: Floats, c: int, enough: float, X: Floats, r: int,
           stack: Ints, hit: Ints, found: Ints) -> tuple[Ints, int, int]:  # fmt: skip
    """Give the rules that hold row r, ascending, how many they are, and how many entries were tested.

    Once the rules found give class c more than ``enough`` votes (∞: never), no more are looked for.
    """
    entry, links = tree.entry, tree.links
    n, depth, tested, votes = 0, 1, 0, 0.0
    stack[0] = tree.head[ROOT]
    while depth > 0 and votes <= enough:
        depth -= 1
        i = stack[depth]
        size = links[i, SIZE]
        tested += size
        test(tree, i, size, X, r, hit)
        for e in range(size):
            if hit[e] != 0:
                if links[i, LEVEL] == 0:
                    found = push(found, n, entry[i, e])
                    n += 1
                    if enough < math.inf:
                        votes += weight[owner[entry[i, e]]] * payload[entry[i, e], c]
                else:
                    stack[depth] = entry[i, e]
                    depth += 1
    found[:n].sort()
    return found, n, tested


@compiled
def e_tree_scores(tree: Searched, payload: Floats, owner: Ints, weight: Floats, c: int, enough: float, X: Floats,
                  out: Floats) -> int:  # fmt: skip
    """Add up the votes, or as many as give class c more than ``enough``; give how many entries were tested."""
    tree = Searched(*tree)
    stack, hit, found = room(tree)
    tested = 0
    for r in range(len(X)):
        found, n, more = search(tree, payload, owner, weight, c, enough, X, r, stack, hit, found)
        tested += more
        for k in range(n):
            add_rule(payload, owner, weight, found[k], out, r)
    return tested


@compiled
def e_tree_match(tree: Searched, payload: Floats, owner: Ints, weight: Floats, X: Floats, start: Ints) -> Ints:
    """Give the rules that hold each row, one row after the other."""
    tree = Searched(*tree)
    stack, hit, found = room(tree)
    every, total = np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        start[r] = total
        found, n, _ = search(tree, payload, owner, weight, 0, math.inf, X, r, stack, hit, found)
        for k in range(n):
            every = push(every, total, found[k])
            total += 1
    start[len(X)] = total
    return every[:total]


@called
def room(tree: Searched) -> tuple[Ints, Ints, Ints]:
    """Make what ``search`` needs: nodes that wait, entries that were hit, rules that were found."""
    nodes, entries = tree.entry.shape
    return np.empty(nodes + 1, dtype=np.int64), np.empty(entries, dtype=np.int64), np.empty(64, dtype=np.int64)
