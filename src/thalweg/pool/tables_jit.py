"""The tables of a pool of trees: T trees in one table of nodes and one table of leaf statistics.

| table   | shape              | dtype   | meaning                                                        |
| nodes   | nodes              | NODE    | threshold, feature, left: see below                            |
| tally   | nodes × (1 + C)    | float64 | weight that passed; class weights (of an inner node: at its split) |
| stats   | slots × width      | float64 | what an active leaf observes, see leaf_jit.py                  |
| watched | slots × m × 2      | int32   | the attributes an active leaf watches, and where their cells start |
| layout  | 2 × features       | int64   | room for values of each attribute (0: numeric), and values so far; |
|         | (+ trees)          |         | where trees have patches: 1 in row 2 + t for what tree t may watch |
| rng     | trees              | uint64  | a random generator for each tree                               |
| head    | 8                  | int64   | counters and free lists, see the H_ names                      |
| rules   | 16                 | float64 | the parameters, see the R_ names; not state                    |

Node t is the root of tree t. Siblings lie side by side. A node is one of

| feature    | threshold | left              | test                                                  |
| f ≥ 0      | t         | first child       | x_f ≤ t goes left, else right                         |
| -1 (LEAF)  | –         | slot              | a leaf; left = FRESH: no row yet; IDLE: put to sleep to save memory |
| -2 - f     | v ≥ 0     | first child       | x_f equals v goes left, else right                    |
| -2 - f     | -k        | first child       | nominal value v goes to child v of k                  |

Some trees link an inner node to something else, in tables that a plain pool does not have:

| table   | shape              | dtype   | meaning                                                        |
| links   | nodes              | int32   | of an inner node: NO_LINK, WANTED, or by the kind of the pool  |
|         |                    |         | ALTERNATES: the root of another subtree, first of two nodes; KEPT: a slot |
| marks   | nodes × columns    | float64 | whatever the trees keep for each node                          |
| pairs   | (nodes - trees)/2  | float64 | whatever they keep for each pair of nodes, and so for each inner node |
|         | × columns          |         | (the first pair of its children) and each root of another subtree |

Where the tested value is missing, or no branch stands for it, a row takes the branch through which most weight passed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import called, inlined
from thalweg.jit.random import Seeds, choose
from thalweg.pool.leaf_jit import (
    BAYES_RIGHT,
    HEADER,
    LAST,
    MAJORITY_RIGHT,
    NUMBERS,
    PATCH,
    ROOM,
    Floats,
    Ints,
    Watched,
    block_size,
    clear_block,
    clear_number,
    lanes_of,
    start_of,
)

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])
Nodes = NDArray[np.void]

LEAF = -1
FRESH, IDLE = -1, -2
H_NODES, H_FREE, H_SLOTS, H_FREE_SLOT, H_FROZEN, H_ARITY, H_NOMINAL, H_NEED = 0, 1, 2, 3, 4, 5, 6, 7
R_GRACE, R_DELTA, R_TAU, R_CRITERION, R_LEAF, R_BOUND, R_MIN_SHARE, R_NULL, R_POINTS = 0, 1, 2, 3, 4, 5, 6, 7, 8
R_BINARY, R_BAYES_FROM, R_PRUNE, R_DROP_POOR, R_LEAF_RANGE, R_SMOOTHING, R_OWN = 9, 10, 11, 12, 13, 14, 16
MAJORITY, BAYES, ADAPTIVE = 0, 1, 2
NULL_ZERO, NULL_MINUS_INFINITY = 0, 1
PLAIN, ALTERNATES, KEPT = 0, 1, 2
NO_LINK, WANTED = -1, -2

Links = NDArray[np.int32]


class Trees(NamedTuple):
    """The tables in one bundle. An entry routine takes them one by one, which is faster to call, and makes one."""

    nodes: Nodes
    tally: Floats
    stats: Floats
    watched: Watched
    layout: Ints
    rng: Seeds
    head: Ints
    rules: Floats


@inlined
def feature_of(nodes: Nodes, i: int) -> int:
    """What node i tests, as a feature code; LEAF: nothing."""
    return int(np.int64(nodes[i]["feature"]))  # one width of integer everywhere: each other one compiles all anew


@inlined
def left_of(nodes: Nodes, i: int) -> int:
    """Where node i leads: to its first child, or for a leaf to its slot, FRESH or IDLE."""
    return int(np.int64(nodes[i]["left"]))


@inlined
def n_classes(p: Trees) -> int:
    """Room for classes."""
    return int(p.tally.shape[1] - 1)


# -- finding a leaf ---------------------------------------------------------------------------------------------------


@called
def heavier(tally: Floats, first: int, k: int) -> int:
    """Find the branch through which most weight passed (the first among equals)."""
    best = first
    for i in range(first + 1, first + k):
        if tally[i, 0] > tally[best, 0]:
            best = i
    return best


@inlined
def branch(p: Trees, i: int, f: int, X: Floats, r: int) -> int:
    """Find the child of inner node i, which tests feature code f, that row r goes to."""
    t = p.nodes[i]["threshold"]
    left = left_of(p.nodes, i)
    if f >= 0:
        v = X[r, f]
        if v <= t:
            return left
        return left + 1 if v > t else heavier(p.tally, left, 2)
    v = X[r, -2 - f]
    if t >= 0.0:
        return heavier(p.tally, left, 2) if v != v else left + int(v != t)
    return left + int(v) if v < -t else heavier(p.tally, left, int(-t))


@inlined
def find(p: Trees, root: int, X: Floats, r: int, w: float) -> tuple[int, int]:
    """Find the leaf of row r and its parent (-1: none); add weight w > 0 to every inner node on the way."""
    i, parent = root, -1
    while True:
        f = feature_of(p.nodes, i)
        if f == LEAF:
            return i, parent
        if w > 0.0:
            p.tally[i, 0] += w
        parent = i
        i = branch(p, i, f, X, r)


@inlined
def arity(nodes: Nodes, i: int) -> int:
    """Number of children of inner node i."""
    return int(-nodes[i]["threshold"]) if nodes[i]["feature"] < LEAF and nodes[i]["threshold"] < 0.0 else 2


@inlined
def majority(tally: Floats, i: int) -> int:
    """Find the heaviest class of node i (the lowest code among equals)."""
    best = 0
    for c in range(1, tally.shape[1] - 1):
        if tally[i, 1 + c] > tally[i, 1 + best]:
            best = c
    return best


# -- taking and giving back nodes and slots ---------------------------------------------------------------------------


@called
def draw(p: Trees, t: int, slot: int) -> None:
    """Choose the attributes that a leaf of tree t watches, and empty their cells."""
    m, d, classes = p.watched.shape[1], p.layout.shape[1], n_classes(p)
    chosen = np.arange(m)
    if p.layout.shape[0] > PATCH:
        j = 0
        for f in range(d):
            if p.layout[PATCH + t, f] > 0:
                chosen[j] = f
                j += 1
    elif m < d:
        choose(p.rng, t, d, chosen)
    p.watched[slot, 0, 0], p.watched[slot, 0, 1] = -1, HEADER  # without features: there is a cell, for the free list
    numbers = 0
    for k in range(m):
        numbers += chosen[k] < d and p.layout[ROOM, chosen[k]] == 0
    p.stats[slot, NUMBERS] = numbers
    n, j, start = 0, numbers, HEADER + numbers * block_size(0, classes)
    for k in range(m):
        f = int(chosen[k])
        if f < d and p.layout[ROOM, f] == 0:
            p.watched[slot, n, 0], p.watched[slot, n, 1] = f, start_of(n, classes)
            clear_number(p.stats, slot, start_of(n, classes), lanes_of(n, numbers), classes)
            n += 1
        elif f < d:
            p.watched[slot, j, 0], p.watched[slot, j, 1] = f, start
            clear_block(p.stats, slot, start, p.layout[ROOM, f], classes)
            start += block_size(p.layout[ROOM, f], classes)
            j += 1
    for a in range(start, p.stats.shape[1]):  # what another leaf may have left
        p.stats[slot, a] = 0.0


@called
def draw_patch(p: Trees, t: int) -> None:
    """Choose the attributes that tree t may watch from now on."""
    if p.layout.shape[0] > PATCH:
        chosen = np.empty(p.watched.shape[1], dtype=np.int64)
        choose(p.rng, t, p.layout.shape[1], chosen)
        p.layout[PATCH + t, :] = 0
        for f in chosen:
            p.layout[PATCH + t, f] = 1


@called
def wake(p: Trees, t: int, i: int) -> int:
    """Give leaf i of tree t a slot to observe with."""
    slot = p.head[H_FREE_SLOT]
    if slot >= 0:
        p.head[H_FREE_SLOT] = p.watched[slot, 0, 0]
    else:
        slot = p.head[H_SLOTS]
        p.head[H_SLOTS] += 1
    p.stats[slot, LAST] = p.tally[i, 0]
    p.stats[slot, MAJORITY_RIGHT] = 0.0
    p.stats[slot, BAYES_RIGHT] = 0.0
    draw(p, t, slot)
    p.nodes[i]["left"] = slot
    return int(slot)


@inlined
def release(watched: Watched, head: Ints, slot: int) -> None:
    """Put a slot on the free list."""
    watched[slot, 0, 0] = head[H_FREE_SLOT]
    head[H_FREE_SLOT] = slot


@inlined
def take_nodes(p: Trees, k: int) -> int:
    """Take k nodes side by side: a freed pair, or new ones (an even number, so that all can be freed as pairs)."""
    if k == 2 and p.head[H_FREE] >= 0:
        first = p.head[H_FREE]
        p.head[H_FREE] = p.nodes[first]["left"]
        return int(first)
    first = p.head[H_NODES]
    p.head[H_NODES] += k + k % 2
    return int(first)


@called
def clear_tree(p: Trees, t: int) -> None:
    """Make tree t a single leaf that has seen nothing; its nodes and slots are free for others."""
    free_below(p, np.empty(0, dtype=np.int32), PLAIN, t)
    plant(p, t)


@inlined
def plant(p: Trees, i: int) -> None:
    """Make node i a leaf that has seen nothing."""
    p.nodes[i]["feature"] = LEAF
    p.nodes[i]["left"] = FRESH
    p.nodes[i]["threshold"] = 0.0
    p.tally[i, :] = 0.0


@called
def free_below(p: Trees, links: Links, kind: int, root: int) -> None:
    """Free all nodes and slots below a node, and what they are linked to; the node itself must be rewritten."""
    stack = np.empty(p.head[H_NODES], dtype=np.int64)
    freed = np.empty(p.head[H_NODES], dtype=np.int64)
    n_freed = 0
    stack[0], depth = root, 1
    while depth > 0:
        depth -= 1
        i = stack[depth]
        left = left_of(p.nodes, i)
        if feature_of(p.nodes, i) == LEAF:
            if left >= 0:
                release(p.watched, p.head, left)
            continue
        for pair in range(left, left + arity(p.nodes, i), 2):
            freed[n_freed] = pair
            n_freed += 1
        for child in range(left, left + arity(p.nodes, i)):
            stack[depth] = child
            depth += 1
        if kind == ALTERNATES and links[i] >= 0:
            freed[n_freed] = links[i]
            n_freed += 1
            stack[depth] = links[i]
            depth += 1
        elif kind == KEPT and links[i] >= 0:
            release(p.watched, p.head, links[i])
    for k in range(n_freed):  # the free list runs through the nodes: only now that all are read
        p.nodes[freed[k]]["left"] = p.head[H_FREE]
        p.head[H_FREE] = freed[k]
