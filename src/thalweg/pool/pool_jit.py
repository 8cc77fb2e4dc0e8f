"""A pool of trees: T trees in one table of nodes and one table of leaf statistics; how they answer and learn a row.

Over 450 lines: its functions are inlined into one loop, which is best read in one place (decision 17).

The tables are those of ``Trees``. Node t is the root of tree t. Siblings lie side by side. A node is one of

| feature    | threshold | left              | test                                                  |
| f ≥ 0      | t         | first child       | x_f ≤ t goes left, else right                         |
| -1 (LEAF)  | –         | slot              | a leaf; left = FRESH: no row yet; IDLE: put to sleep to save memory |
| -2 - f     | v ≥ 0     | first child       | x_f equals v goes left, else right                    |
| -2 - f     | -k        | first child       | nominal value v goes to child v of k                  |

Some trees link an inner node to something else, in tables that a plain pool does not have:

| table   | meaning                                                                                                  |
| links   | of an inner node: NO_LINK, WANTED, or by the kind of the pool                                            |
|         | ALTERNATES: the root of another subtree, first of two nodes; KEPT: a slot                                |
| marks   | whatever the trees keep for each node                                                                    |
| pairs   | whatever they keep for each pair of nodes, and so for each inner node (the first pair of its children)   |
|         | and each root of another subtree                                                                         |
| turns   | how often something happened to the trees                                                                |

Where the tested value is missing, or no branch stands for it, a row takes the branch through which most weight passed.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import called, inlined
from thalweg.jit.random import Seeds, choose
from thalweg.pool.leaf_jit import (
    HUGE,
    L_PATCH,
    L_ROOM,
    L_VALUES,
    S_BAYES_RIGHT,
    S_HEADER,
    S_LAST,
    S_MAJORITY_RIGHT,
    S_NUMBERS,
    Floats,
    Ints,
    Watched,
    bayes,
    block_size,
    clear_block,
    clear_number,
    lanes_of,
    likeliest,
    likelihoods,
    observe,
    start_of,
    update,
)

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])
Nodes = NDArray[np.void]

LEAF = -1
"""The feature of a leaf."""
FRESH, IDLE = -1, -2
"""The slot of a leaf that has none: no row has reached it yet; it sleeps."""
H_NODES, H_FREE, H_SLOTS, H_FREE_SLOT, H_FROZEN, H_ARITY, H_NOMINAL, H_NEED = range(8)
"""Cells of ``head``: nodes used so far, first free pair; slots used so far, first free slot (-1: none); may no node
split any more? Most children of a split; nominal attributes; trees that the next step teaches."""
R_GRACE, R_DELTA, R_TAU, R_CRITERION, R_LEAF, R_BOUND, R_MIN_SHARE, R_NULL, R_POINTS, R_BINARY = range(10)
R_BAYES_FROM, R_PRUNE, R_DROP_POOR, R_LEAF_RANGE, R_SMOOTHING, R_OWN = 10, 11, 12, 13, 14, 16
"""Cells of ``rules``, in the order of ``Rules.to_array``; from R_OWN on those that only some trees have."""
MAJORITY, BAYES, ADAPTIVE = 0, 1, 2
"""R_LEAF: how a leaf answers."""
NULL_ZERO = 0
"""R_NULL: not to split is worth 0; any other code: minus infinity."""
UNLINKED, ALTERNATES, KEPT = 0, 1, 2
"""Kinds of links."""
NO_LINK, WANTED = -1, -2

Links = NDArray[np.int32]
Tables = tuple[Nodes, Floats, Floats, Watched, Ints, Seeds, Ints, Floats]
"""``Trees`` as a plain tuple: that is how they come from Python, since a named one takes Numba far longer to open."""
Linked = tuple[Links, Floats, Floats, Ints]
"""``links, marks, pairs, turns``."""


class Trees(NamedTuple):
    """The tables of a pool: N nodes, S slots, d features. ``moving_jit.sound`` checks what points where."""

    nodes: Annotated[Nodes, table("N", dtype=NODE, loose=True)]
    """Threshold, feature, left: see above."""
    tally: Annotated[Floats, table("N", "C", loose=True)]
    """Weight that passed; weight of each class there is room for (of an inner node: at its split)."""
    stats: Annotated[Floats, table("S", "width", loose=True)]
    """What an active leaf observes, see leaf_jit.py."""
    watched: Annotated[Watched, table("S", "m", 2, loose=True)]
    """The attributes an active leaf watches, and where their cells start."""
    layout: Annotated[Ints, table("L", "d", least=0)]
    """Room for values of each attribute (0: numeric), and values so far; where trees have patches: 1 in row 2 + t for
    what tree t may watch."""
    rng: Annotated[Seeds, table("trees")]
    """A random generator for each tree."""
    head: Annotated[
        Ints,
        table(
            8,
            cells={
                H_NODES: span("trees", "N", name="used"),
                H_FREE: span(-1, "used - 2"),
                H_SLOTS: span(0, "S", name="slots"),
                H_FREE_SLOT: span(-1, "slots - 1"),
                H_FROZEN: span(0, 1),
                H_ARITY: span(loose=True),  # this one and the next follow from the layout
                H_NOMINAL: span(loose=True),
                H_NEED: span(0, "need"),
            },
        ),
    ]
    """Counters and free lists, see the H_ names."""
    rules: Floats
    """16 and those that only some trees have: the parameters, see the R_ names; not state."""


@inlined
def no_literal(n: int) -> int:
    """Give n as a number that may change: for a literal Numba would compile whatever takes it once more."""
    return int(np.int64(n))


@inlined
def feature_of(nodes: Nodes, i: int) -> int:
    """What node i tests, as a feature code; LEAF: nothing."""
    return int(np.int64(nodes[i]["feature"]))  # one width of integer everywhere: each other one compiles all anew


@inlined
def left_of(nodes: Nodes, i: int) -> int:
    """Where node i leads: to its first child, or for a leaf to its slot, FRESH or IDLE."""
    return int(np.int64(nodes[i]["left"]))


@inlined
def arity(nodes: Nodes, i: int) -> int:
    """Number of children of inner node i."""
    return int(-nodes[i]["threshold"]) if nodes[i]["feature"] < LEAF and nodes[i]["threshold"] < 0.0 else 2


@inlined
def n_classes(p: Trees) -> int:
    """Room for classes."""
    return int(p.tally.shape[1] - 1)


@inlined
def cut(work: Floats, classes: int) -> tuple[Floats, Floats]:
    """Divide the work space of a routine: the votes for each class, and what ``likelihoods`` and ``observe`` need.

    After that is one more cell, for the row whose answer stands in the votes.
    """
    return work[len(work) - classes :], work[: len(work) - classes]


# -- finding a leaf ----------------------------------------------------------------------------------------------------


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
    i, parent = no_literal(root), -1
    while True:
        f = feature_of(p.nodes, i)
        if f == LEAF:
            return i, parent
        if w > 0.0:
            p.tally[i, 0] += w
        parent = i
        i = branch(p, i, f, X, r)


@inlined
def find_way(p: Trees, root: int, X: Floats, r: int, way: Ints) -> tuple[int, int, int]:
    """Find the leaf of row r, its parent (-1: none), and how many inner nodes are on the way.

    ``way`` gets these nodes, as many as it has room for.
    """
    i, parent, depth = no_literal(root), -1, 0
    while True:
        f = feature_of(p.nodes, i)
        if f == LEAF:
            return i, parent, depth
        if depth < len(way):
            way[depth] = i
        depth += 1
        parent = i
        i = branch(p, i, f, X, r)


# -- answering ---------------------------------------------------------------------------------------------------------


@inlined
def greatest(votes: Floats) -> int:
    """Find the greatest vote (the lowest code among equals)."""
    a, b, n, c = votes[0], votes[0], len(votes), 0
    while c + 2 <= n:  # two at a time, and without branches that a processor would have to guess
        v, u = votes[c], votes[c + 1]
        a, b, c = v if v > a else a, u if u > b else b, c + 2
    a = votes[n - 1] if votes[n - 1] > a else a
    a, best = b if b > a else a, 0
    while votes[best] < a:
        best += 1
    return best


@inlined
def majority(tally: Floats, i: int) -> int:
    """Find the heaviest class of node i (the lowest code among equals)."""
    return greatest(tally[i, 1:])


@inlined
def trusts_bayes(p: Trees, i: int, slot: int) -> bool:
    """Does leaf i, whose left is ``slot``, answer by naive Bayes?"""
    kind = p.rules[R_LEAF]
    return bool(
        slot >= 0
        and (
            (kind == ADAPTIVE and p.stats[slot, S_MAJORITY_RIGHT] <= p.stats[slot, S_BAYES_RIGHT])
            or (kind == BAYES and p.tally[i, 0] >= p.rules[R_BAYES_FROM])
        )
    )


@inlined
def ask_bayes(p: Trees, i: int, slot: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:
    """Fill ``votes`` with the naive Bayes answer of leaf i to row r; False (and no votes) where it has none."""
    likelihoods(p.stats, p.watched, slot, p.layout, len(votes), X, r, logs)
    return bayes(p.tally, i, logs, len(votes), votes)


@inlined
def vote(p: Trees, i: int, parent: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:
    """Fill ``votes`` with the answer of leaf i to row r, not normalised; True: they are naive Bayes's own."""
    slot = left_of(p.nodes, i)
    if trusts_bayes(p, i, slot) and ask_bayes(p, i, slot, X, r, logs, votes):
        return True
    if parent >= 0 and p.tally[i, 0] == 0.0:  # a branch that no row has taken answers as its parent did
        i = parent
    for c in range(len(votes)):
        votes[c] = p.tally[i, 1 + c]
    return False


@inlined
def guess(p: Trees, i: int, parent: int, X: Floats, r: int, y: int, w: float, kept: bool, logs: Floats) -> int:
    """Find the greatest vote of leaf i for row r, which it has learned (the lowest code among equals); -1: it has none.

    ``kept``: ``logs`` holds the likelihoods of the row from before it was learned with label y and weight w.
    """
    slot, classes = left_of(p.nodes, i), n_classes(p)
    if trusts_bayes(p, i, slot):
        if not kept or not update(p.stats, p.watched, slot, p.layout, classes, X, r, y, w, logs):
            likelihoods(p.stats, p.watched, slot, p.layout, classes, X, r, logs)
        best = likeliest(p.tally, i, logs, classes)
        if best >= 0:
            return best
    if parent >= 0 and p.tally[i, 0] == 0.0:
        i = parent
    best = majority(p.tally, i)
    return best if p.tally[i, 1 + best] > 0.0 else -1


@inlined
def write_proba(votes: Floats, known: int, out: Floats, r: int) -> None:
    """Write votes as probabilities of the known classes to row r; no votes at all: all classes alike."""
    total = 0.0
    for c in range(min(known, len(votes))):
        total += votes[c]
    for c in range(known):
        if total > 0.0:
            out[r, c] = votes[c] / total if c < len(votes) else 0.0
        else:
            out[r, c] = 1.0 / known


@inlined
def answer(p: Trees, X: Floats, r: int, known: int, out: Floats, logs: Floats, votes: Floats) -> int:
    """Write a lone tree's answer to row r; give r if its votes are naive Bayes's and learning may use them, else -1."""
    i, parent = find(p, 0, X, r, 0.0)
    by_bayes = vote(p, i, parent, X, r, logs, votes)
    write_proba(votes, known, out, r)
    return r if by_bayes and keeps(p, X, r) else -1


# -- taking and giving back nodes and slots ----------------------------------------------------------------------------


@called
def draw(p: Trees, t: int, slot: int) -> None:
    """Choose the attributes that a leaf of tree t watches, and empty their cells."""
    m, d, classes = p.watched.shape[1], p.layout.shape[1], n_classes(p)
    chosen = np.arange(m)
    if p.layout.shape[0] > L_PATCH:
        j = 0
        for f in range(d):
            if p.layout[L_PATCH + t, f] > 0:
                chosen[j] = f
                j += 1
    elif m < d:
        choose(p.rng, t, d, chosen)
    p.watched[slot, 0, 0], p.watched[slot, 0, 1] = -1, S_HEADER  # without features: there is a cell, for the free list
    numbers = 0
    for k in range(m):
        numbers += chosen[k] < d and p.layout[L_ROOM, chosen[k]] == 0
    p.stats[slot, S_NUMBERS] = numbers
    n, j, start = 0, numbers, S_HEADER + numbers * block_size(0, classes)
    for k in range(m):
        f = int(chosen[k])
        if f < d and p.layout[L_ROOM, f] == 0:
            p.watched[slot, n, 0], p.watched[slot, n, 1] = f, start_of(n, classes)
            clear_number(p.stats, slot, start_of(n, classes), lanes_of(n, numbers), classes)
            n += 1
        elif f < d:
            p.watched[slot, j, 0], p.watched[slot, j, 1] = f, start
            clear_block(p.stats, slot, start, p.layout[L_ROOM, f], classes)
            start += block_size(p.layout[L_ROOM, f], classes)
            j += 1
    for a in range(start, p.stats.shape[1]):  # what another leaf may have left
        p.stats[slot, a] = 0.0


@called
def wake(p: Trees, t: int, i: int) -> int:
    """Give leaf i of tree t a slot to observe with."""
    slot = p.head[H_FREE_SLOT]
    if slot >= 0:
        p.head[H_FREE_SLOT] = p.watched[slot, 0, 0]
    else:
        slot = p.head[H_SLOTS]
        p.head[H_SLOTS] += 1
    p.stats[slot, S_LAST] = p.tally[i, 0]
    p.stats[slot, S_MAJORITY_RIGHT] = 0.0
    p.stats[slot, S_BAYES_RIGHT] = 0.0
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


@inlined
def plant(p: Trees, i: int) -> None:
    """Make node i a leaf that has seen nothing."""
    p.nodes[i]["feature"] = LEAF
    p.nodes[i]["left"] = FRESH
    p.nodes[i]["threshold"] = 0.0
    p.tally[i, :] = 0.0


# -- learning ----------------------------------------------------------------------------------------------------------


@inlined
def has_room(p: Trees, need: int, X: Floats, r: int, y: int) -> bool:
    """Can ``need`` trees learn row r with label y without growing a table?"""
    if y >= n_classes(p):
        return False
    spare = len(p.stats) - p.head[H_SLOTS]
    if spare < need and not has_slots(p.watched, p.head, min(need, len(p.stats)) - spare):
        return False
    if p.head[H_FROZEN] == 0 and p.head[H_NODES] + need * p.head[H_ARITY] > len(p.nodes):
        if p.head[H_ARITY] > 2 or not has_pairs(p.nodes, p.head, need):
            return False
    return p.head[H_NOMINAL] == 0 or values_fit(p.layout, X, r)


@called
def has_slots(watched: Watched, head: Ints, n: int) -> bool:
    """Does the free list hold n slots?"""
    slot = head[H_FREE_SLOT]
    while n > 0 and slot >= 0:
        slot = np.int64(watched[slot, 0, 0])
        n -= 1
    return n <= 0


@called
def has_pairs(nodes: Nodes, head: Ints, n: int) -> bool:
    """Does the free list hold n pairs of nodes?"""
    i = head[H_FREE]
    while n > 0 and i >= 0:
        i = np.int64(left_of(nodes, i))
        n -= 1
    return n <= 0


@inlined
def values_fit(layout: Ints, X: Floats, r: int) -> bool:
    """Is there room for the nominal values of row r?"""
    beyond = 0
    for f in range(layout.shape[1]):
        beyond += layout[L_ROOM, f] > 0 and layout[L_ROOM, f] <= X[r, f] <= HUGE
    return beyond == 0


@inlined
def meet(p: Trees, X: Floats, r: int) -> None:
    """Note the nominal values of row r, for which there is room."""
    if p.head[H_NOMINAL] > 0:
        meet_values(p.layout, X, r)


@inlined
def meet_values(layout: Ints, X: Floats, r: int) -> None:
    """Note the nominal values of row r."""
    for f in range(layout.shape[1]):
        if layout[L_ROOM, f] > 0 and layout[L_VALUES, f] <= X[r, f] <= HUGE:
            layout[L_VALUES, f] = int(X[r, f]) + 1


@inlined
def new_values(layout: Ints, X: Floats, r: int) -> int:
    """Count the nominal values of row r that were never met before."""
    n = 0
    for f in range(layout.shape[1]):
        if layout[L_ROOM, f] > 0 and layout[L_VALUES, f] <= X[r, f] <= HUGE:
            n += 1
    return n


@inlined
def keeps(p: Trees, X: Floats, r: int) -> bool:
    """Will an answer to row r still be the same when the row is learned next? Not where it brings a new value."""
    return bool(p.head[H_NOMINAL] == 0 or new_values(p.layout, X, r) == 0)


@inlined
def learn(p: Trees, t: int, i: int, X: Floats, r: int, y: int, w: float, answered: bool, logs: Floats,
          votes: Floats) -> bool:  # fmt: skip
    """Learn row r, label y, weight w in its leaf i of tree t; True: an attempt to split it is due.

    ``answered``: ``votes`` holds naive Bayes's answer to the row. An attempt is due when the leaf has gained the grace
    period (n_min) since the last one (Domingos, Hulten 2000). Adaptive leaves count how often the majority
    class and naive Bayes would have been right, and answer as the better one (Holmes, Kirkby, Pfahringer 2005).
    """
    slot = left_of(p.nodes, i)
    if slot == IDLE or (slot == FRESH and p.head[H_SLOTS] == len(p.stats) and p.head[H_FREE_SLOT] < 0):  # only count
        p.tally[i, 0] += w
        p.tally[i, 1 + y] += w
        return False
    if slot == FRESH:
        slot = wake(p, t, i)
        answered = False
    if p.rules[R_LEAF] == ADAPTIVE:
        right = majority(p.tally, i)
        if right == y:
            p.stats[slot, S_MAJORITY_RIGHT] += w
        if answered:
            right = greatest(votes)
        else:
            likelihoods(p.stats, p.watched, slot, p.layout, len(votes), X, r, logs)
            best = likeliest(p.tally, i, logs, len(votes))
            right = best if best >= 0 else right
        if right == y:
            p.stats[slot, S_BAYES_RIGHT] += w
    p.tally[i, 0] += w
    p.tally[i, 1 + y] += w
    observe(p.stats, p.watched, slot, X, r, len(votes), y, w, p.rules[R_SMOOTHING], logs)
    return bool(p.tally[i, 0] - p.stats[slot, S_LAST] >= p.rules[R_GRACE] and p.head[H_FROZEN] == 0)
