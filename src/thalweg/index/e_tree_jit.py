"""The E-tree: a height-balanced tree of boxes over the table of rules (Zhang et al. 2011, after Guttman's R-tree).

| table  | shape             | dtype   | meaning |
| low    | nodes × d × E     | float64 | lower ends of the boxes of a node's entries, which lie side by side: all are |
| high   | nodes × d × E     | float64 | tested at once. Of an entry that is not there: ∞ and -∞ |
| flags  | nodes × E × B     | uint64  | the bits of the entries' boxes, see trees_jit.py; of one not there: 0 |
| entry  | nodes × E         | int64   | of a leaf node rules (rows of the table), of a pivot node its children |
| links  | nodes × 3         | int64   | SIZE: entries; PARENT (-1: none; of a free node: the next); LEVEL (0: leaf) |
| head   | 5                 | int64   | ROOT, USED nodes, FREE: a free one (-1: none), MOST and LEAST entries M and m |
| home   | rules             | int64   | the leaf node that holds the rule; -1: none |
| domain | 2 × d             | float64 | least and greatest end of all boxes so far, by which volumes are measured |

E is M + 1, rounded up to whole vectors. ``work`` has room for 2 × E numbers.
"""

import math

import numpy as np

from thalweg.index.e_tree_nodes_jit import LEVEL, ROOT, SIZE, flag
from thalweg.index.scores_jit import add_rule, push
from thalweg.index.trees_jit import Bits, place
from thalweg.jit.compile import called, compiled, inlined
from thalweg.pool.leaf_jit import Floats, Ints


@inlined
def test(low: Floats, high: Floats, flags: Bits, values: Ints, at: Ints, i: int, n: int, X: Floats, r: int,
         hit: Ints) -> None:  # fmt: skip
    """Say in ``hit`` which of the n entries of node i hold row r."""
    for e in range(n):
        hit[e] = 1
    for f in range(len(values)):
        v = X[r, f]
        if values[f] == 0 and v == v:
            a, b = low[i, f, :n], high[i, f, :n]
            for e in range(len(a)):
                hit[e] &= int(a[e] <= v) & int(v <= b[e])
        else:
            k = place(values, at, f, v)
            for e in range(n):
                hit[e] &= int(flag(flags, i, e, k))


@called
def search(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, values: Ints, at: Ints,
           payload: Floats, owner: Ints, weight: Floats, c: int, enough: float, X: Floats, r: int, stack: Ints,
           hit: Ints, found: Ints) -> tuple[Ints, int, int]:  # fmt: skip
    """Give the rules that hold row r, ascending, how many they are, and how many entries were tested.

    Once the rules found give class c more than ``enough`` votes (∞: never), no more are looked for.
    """
    n, depth, tested, votes = 0, 1, 0, 0.0
    stack[0] = head[ROOT]
    while depth > 0 and votes <= enough:
        depth -= 1
        i = stack[depth]
        size = links[i, SIZE]
        tested += size
        test(low, high, flags, values, at, i, size, X, r, hit)
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
def e_tree_scores(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, values: Ints, at: Ints,
                  payload: Floats, owner: Ints, weight: Floats, c: int, enough: float, X: Floats,
                  out: Floats) -> int:  # fmt: skip
    """Add up the votes, or as many as give class c more than ``enough``; give how many entries were tested."""
    stack, hit = np.empty(len(links) + 1, dtype=np.int64), np.empty(entry.shape[1], dtype=np.int64)
    found, tested = np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        found, n, more = search(low, high, flags, entry, links, head, values, at, payload, owner, weight, c, enough, X,
                                r, stack, hit, found)  # fmt: skip
        tested += more
        for k in range(n):
            add_rule(payload, owner, weight, found[k], out, r)
    return tested


@compiled
def e_tree_match(low: Floats, high: Floats, flags: Bits, entry: Ints, links: Ints, head: Ints, values: Ints, at: Ints,
                 payload: Floats, owner: Ints, weight: Floats, X: Floats, start: Ints) -> Ints:  # fmt: skip
    """Give the rules that hold each row, one row after the other."""
    stack, hit = np.empty(len(links) + 1, dtype=np.int64), np.empty(entry.shape[1], dtype=np.int64)
    found, every, total = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        start[r] = total
        found, n, _ = search(low, high, flags, entry, links, head, values, at, payload, owner, weight, 0, math.inf, X,
                             r, stack, hit, found)  # fmt: skip
        for k in range(n):
            every = push(every, total, found[k])
            total += 1
    start[len(X)] = total
    return every[:total]
