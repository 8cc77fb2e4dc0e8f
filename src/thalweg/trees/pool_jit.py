"""How a pool of trees answers and learns one row. Its tables are in tables_jit.py, its leaves in leaf_jit.py."""

from thalweg.jit.compile import called, inlined
from thalweg.jit.random import Seeds
from thalweg.trees.leaf_jit import (
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
from thalweg.trees.split_jit import attempt
from thalweg.trees.tables_jit import (
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
    Nodes,
    Trees,
    find,
    left_of,
    majority,
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
def ask_bayes(tally: Floats, stats: Floats, watched: Watched, layout: Ints, i: int, slot: int, X: Floats, r: int,
              logs: Floats, votes: Floats) -> bool:  # fmt: skip
    """Fill ``votes`` with the naive Bayes answer of leaf i to row r; False (and no votes) where it has none."""
    likelihoods(stats, watched, slot, layout, len(votes), X, r, logs)
    return bayes(tally, i, logs, len(votes), votes)


@inlined
def vote(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rules: Floats, i: int,
         parent: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:  # fmt: skip
    """Fill ``votes`` with the answer of leaf i to row r, not normalised; True: they are naive Bayes's own."""
    slot = left_of(nodes, i)
    kind = rules[R_LEAF]
    if slot >= 0 and (
        (kind == ADAPTIVE and stats[slot, MAJORITY_RIGHT] <= stats[slot, BAYES_RIGHT])
        or (kind == BAYES and tally[i, 0] >= rules[R_BAYES_FROM])
    ):
        if ask_bayes(tally, stats, watched, layout, i, slot, X, r, logs, votes):
            return True
    if parent >= 0 and tally[i, 0] == 0.0:  # a branch that no row has taken answers as its parent did
        i = parent
    for c in range(len(votes)):
        votes[c] = tally[i, 1 + c]
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
def has_room(nodes: Nodes, tally: Floats, stats: Floats, layout: Ints, head: Ints, X: Floats, r: int, y: int) -> bool:
    """Can one tree learn row r with label y without growing a table?"""
    if y >= tally.shape[1] - 1:
        return False
    if head[H_FREE_SLOT] < 0 and head[H_SLOTS] == len(stats) and len(stats) > 0:
        return False
    if head[H_FROZEN] == 0 and head[H_NODES] + head[H_ARITY] > len(nodes):
        if head[H_ARITY] > 2 or head[H_FREE] < 0:
            return False
    return head[H_NOMINAL] == 0 or meet_values(layout, X, r)


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


@inlined
def learn(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints,
          rules: Floats, t: int, known: int, X: Floats, r: int, y: int, w: float, answered: bool, logs: Floats,
          votes: Floats) -> None:  # fmt: skip
    """Learn row r, label y, weight w in tree t. ``answered``: ``votes`` holds naive Bayes's answer to this row."""
    i, _ = find(nodes, tally, t, X, r, w)
    slot = left_of(nodes, i)
    if slot == IDLE or len(stats) == 0:  # no room at all to observe: only count
        tally[i, 0] += w
        tally[i, 1 + y] += w
        return
    if slot == FRESH:
        slot = wake(Trees(nodes, tally, stats, watched, layout, rng, head, rules), t, i)
        answered = False
    if rules[R_LEAF] == ADAPTIVE:
        right = majority(tally, i)
        if right == y:
            stats[slot, MAJORITY_RIGHT] += w
        if answered or ask_bayes(tally, stats, watched, layout, i, slot, X, r, logs, votes):
            right = greatest(votes)
        if right == y:
            stats[slot, BAYES_RIGHT] += w
    tally[i, 0] += w
    tally[i, 1 + y] += w
    observe(stats, watched, slot, layout, len(votes), X, r, y, w)
    if tally[i, 0] - stats[slot, LAST] >= rules[R_GRACE] and head[H_FROZEN] == 0:
        attempt(Trees(nodes, tally, stats, watched, layout, rng, head, rules), t, known, i)
