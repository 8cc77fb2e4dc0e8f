"""How a pool of trees answers and learns one row. Its tables are in tables_jit.py, its leaves in leaf_jit.py."""

import numpy as np

from thalweg.jit.compile import called, inlined
from thalweg.pool.leaf_jit import (
    BAYES_RIGHT,
    HUGE,
    LAST,
    MAJORITY_RIGHT,
    ROOM,
    VALUES,
    Floats,
    Ints,
    Watched,
    bayes,
    likelihoods,
    observe,
)
from thalweg.pool.split_jit import attempt
from thalweg.pool.tables_jit import (
    ADAPTIVE,
    BAYES,
    FRESH,
    H_ARITY,
    H_FREE,
    H_FREE_SLOT,
    H_FROZEN,
    H_NODES,
    H_NOMINAL,
    H_SLOTS,
    IDLE,
    R_BAYES_FROM,
    R_GRACE,
    R_LEAF,
    R_SMOOTHING,
    Nodes,
    Trees,
    left_of,
    majority,
    n_classes,
    wake,
)

# -- answering --------------------------------------------------------------------------------------------------------


@inlined
def greatest(votes: Floats) -> int:
    """Find the greatest vote (the lowest code among equals)."""
    best = 0
    for c in range(1, len(votes)):
        if votes[c] > votes[best]:
            best = c
    return best


@inlined
def ask_bayes(p: Trees, i: int, slot: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:
    """Fill ``votes`` with the naive Bayes answer of leaf i to row r; False (and no votes) where it has none."""
    likelihoods(p.stats, p.watched, slot, p.layout, len(votes), X, r, logs)
    return bayes(p.tally, i, logs, len(votes), votes)


@inlined
def vote(p: Trees, i: int, parent: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:
    """Fill ``votes`` with the answer of leaf i to row r, not normalised; True: they are naive Bayes's own."""
    slot = left_of(p.nodes, i)
    kind = p.rules[R_LEAF]
    if slot >= 0 and (
        (kind == ADAPTIVE and p.stats[slot, MAJORITY_RIGHT] <= p.stats[slot, BAYES_RIGHT])
        or (kind == BAYES and p.tally[i, 0] >= p.rules[R_BAYES_FROM])
    ):
        if ask_bayes(p, i, slot, X, r, logs, votes):
            return True
    if parent >= 0 and p.tally[i, 0] == 0.0:  # a branch that no row has taken answers as its parent did
        i = parent
    for c in range(len(votes)):
        votes[c] = p.tally[i, 1 + c]
    return False


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


# -- learning ---------------------------------------------------------------------------------------------------------


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
    return p.head[H_NOMINAL] == 0 or meet_values(p.layout, X, r)


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


@called
def meet_values(layout: Ints, X: Floats, r: int) -> bool:
    """Note the nominal values of row r; False: one is beyond the room in the table."""
    for f in range(layout.shape[1]):
        v = X[r, f]
        if layout[ROOM, f] > 0 and v <= HUGE:
            if v >= layout[ROOM, f]:
                return False
            if v >= layout[VALUES, f]:
                layout[VALUES, f] = int(v) + 1
    return True


@called
def new_values(layout: Ints, X: Floats, r: int) -> int:
    """Count the nominal values of row r that were never met before."""
    n = 0
    for f in range(layout.shape[1]):
        if layout[ROOM, f] > 0 and layout[VALUES, f] <= X[r, f] <= HUGE:
            n += 1
    return n


@inlined
def keeps(p: Trees, X: Floats, r: int) -> bool:
    """Will an answer to row r still be the same when the row is learned next? Not where it brings a new value."""
    return bool(p.head[H_NOMINAL] == 0 or new_values(p.layout, X, r) == 0)


@inlined
def learn(p: Trees, t: int, i: int, known: int, X: Floats, r: int, y: int, w: float, answered: bool, logs: Floats,
          votes: Floats) -> None:  # fmt: skip
    """Learn row r, label y, weight w in its leaf i of tree t. ``answered``: ``votes`` is naive Bayes's answer to it."""
    if study(p, t, i, X, r, y, w, answered, logs, votes):
        attempt(p, t, known, i)


@inlined
def study(p: Trees, t: int, i: int, X: Floats, r: int, y: int, w: float, answered: bool, logs: Floats,
          votes: Floats) -> bool:  # fmt: skip
    """Learn a row in its leaf i, but do not split; True: an attempt is due."""
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
            p.stats[slot, MAJORITY_RIGHT] += w
        if answered or ask_bayes(p, i, slot, X, r, logs, votes):
            right = greatest(votes)
        if right == y:
            p.stats[slot, BAYES_RIGHT] += w
    p.tally[i, 0] += w
    p.tally[i, 1 + y] += w
    observe(p.stats, p.watched, slot, X, r, len(votes), y, w, p.rules[R_SMOOTHING], logs)
    return bool(p.tally[i, 0] - p.stats[slot, LAST] >= p.rules[R_GRACE] and p.head[H_FROZEN] == 0)
