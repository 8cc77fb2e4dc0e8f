"""What all indexes share: the table of rules, and how matched rules become scores.

Rules are boxes (trees_jit.py), a row for each, in the order of insertion. The votes of the rules that hold a record are
added in the order of the table, whichever index finds them: sums of floats depend on it.
"""

from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import table
from thalweg.index.trees_jit import Boxes, Whole, descend, holds
from thalweg.jit.compile import called, compiled, inlined
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import Nodes


class Votes(NamedTuple):
    """What the rules of an index vote, and which classifiers they are of."""

    payload: Annotated[Floats, table("rules", "classes", loose=True)]
    """rules × C: what each rule votes."""
    owner: Annotated[Ints, table("rules", least=0, most="slots - 1")]
    """rules: the classifier that each is of, counted in the order of insertion."""
    number: Annotated[Ints, table("rules", least=0, most="rules - 1")]
    """rules: which rule of its classifier each is."""
    alive: Annotated[Ints, table("rules", least=0, most=1)]
    """rules: 0: the classifier was deleted."""
    weight: Annotated[Floats, table("slots", least=0)]
    """classifiers: of each one's votes."""
    names: Annotated[Ints, table("slots", loose=True)]
    """classifiers: the number under which each was inserted; the least there is: it was deleted."""


@inlined
def add_rule(payload: Floats, owner: Ints, weight: Floats, i: int, out: Floats, r: int) -> None:
    """Add the votes of rule i to row r of ``out``."""
    w = weight[owner[i]]
    for c in range(out.shape[1]):
        out[r, c] += w * payload[i, c]


@called
def push(found: Ints, n: int, i: int) -> Ints:
    """Write i to cell n of ``found``, in a longer copy where that is full."""
    if n == len(found):
        longer = np.empty(2 * n + 64, dtype=np.int64)
        longer[:n] = found
        found = longer
    found[n] = i
    return found


# -- scans ------------------------------------------------------------------------------------------------------------


@compiled
def scan_scores(boxes: Boxes, payload: Floats, owner: Ints, alive: Ints, weight: Floats, X: Floats,
                out: Floats) -> None:  # fmt: skip
    """Look at every rule for every row."""
    boxes = Boxes(*boxes)
    for r in range(len(X)):
        for i in range(len(alive)):
            if alive[i] != 0 and holds(boxes, i, X, r):
                add_rule(payload, owner, weight, i, out, r)


@compiled
def scan_match(boxes: Boxes, alive: Ints, X: Floats, start: Ints) -> Ints:
    """Give the rules that hold each row, one row after the other; row r's begin at start[r]."""
    boxes = Boxes(*boxes)
    found, n = np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        start[r] = n
        for i in range(len(alive)):
            if alive[i] != 0 and holds(boxes, i, X, r):
                found = push(found, n, i)
                n += 1
    start[len(X)] = n
    return found[:n]


# -- trees ------------------------------------------------------------------------------------------------------------


@compiled
def descend_scores(packed: Nodes, rule: Whole, roots: Ints, payload: Floats, owner: Ints, alive: Ints, weight: Floats,
                   X: Floats, out: Floats) -> None:  # fmt: skip
    """Go down every tree for every row. rule: of a leaf; at least ``len(alive)``: none."""
    for r in range(len(X)):
        for t in range(len(roots)):
            i = int(np.int64(rule[descend(packed, roots[t], X, r)]))
            if i < len(alive) and alive[i] != 0:
                add_rule(payload, owner, weight, i, out, r)


@compiled
def descend_match(packed: Nodes, rule: Whole, roots: Ints, alive: Ints, X: Floats, start: Ints) -> Ints:
    """Give the rules that hold each row, one row after the other."""
    found, n = np.empty(64, dtype=np.int64), 0
    for r in range(len(X)):
        start[r] = n
        for t in range(len(roots)):
            i = int(np.int64(rule[descend(packed, roots[t], X, r)]))
            if i < len(alive) and alive[i] != 0:
                found = push(found, n, i)
                n += 1
    start[len(X)] = n
    return found[:n]
