"""A pool of trees: T trees in one table of nodes and one table of leaf statistics.

| table   | shape              | dtype   | meaning                                                        |
| nodes   | nodes              | NODE    | threshold, feature, left: see below                            |
| tally   | nodes × (1 + C)    | float64 | weight that passed; class weights (of an inner node: at its split) |
| stats   | slots × width      | float64 | what an active leaf observes, see leaf_jit.py                  |
| watched | slots × m × 2      | int32   | the attributes an active leaf watches, and where their blocks start |
| layout  | 2 × features       | int64   | room for values of each attribute (0: numeric), and values so far |
| rng     | trees              | uint64  | a random generator for each tree                               |
| head    | 8                  | int64   | counters and free lists, see the H_ names                      |
| rules   | 16                 | float64 | the parameters, see the R_ names; not state                    |

Node t is the root of tree t. Siblings lie side by side. A node is one of

| feature    | threshold | left              | test                                                  |
| f ≥ 0      | t         | first child       | x_f ≤ t goes left, else right                         |
| -1 (LEAF)  | –         | slot              | a leaf; left = FRESH: no row yet; IDLE: put to sleep to save memory |
| -2 - f     | v ≥ 0     | first child       | x_f equals v goes left, else right                    |
| -2 - f     | -k        | first child       | nominal value v goes to child v of k                  |

Where the tested value is missing, or no branch stands for it, the row takes the branch through which most weight passed.
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.bounds import bound
from thalweg.jit.compile import called, compiled, inlined
from thalweg.jit.impurity import GAIN, cost
from thalweg.jit.random import Seeds, choose
from thalweg.trees.leaf_jit import (
    BAYES_RIGHT, HEADER, HUGE, LAST, MAJORITY_RIGHT, NUMERIC_COLUMNS, ROOM, VALUES, Floats, Ints, Watched, bayes,
    best_number, best_value, clear_block, divide_number, likelihoods, observe,
)

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("left", np.int32)])
Nodes = NDArray[np.void]

LEAF = -1
FRESH, IDLE = -1, -2
H_NODES, H_FREE, H_SLOTS, H_FREE_SLOT, H_FROZEN, H_ARITY, H_NOMINAL = 0, 1, 2, 3, 4, 5, 6
R_GRACE, R_DELTA, R_TAU, R_CRITERION, R_LEAF, R_BOUND, R_MIN_SHARE, R_NULL, R_POINTS = 0, 1, 2, 3, 4, 5, 6, 7, 8
R_BINARY, R_BAYES_FROM, R_PRUNE, R_DROP_POOR, R_LEAF_RANGE = 9, 10, 11, 12, 13
MAJORITY, BAYES, ADAPTIVE = 0, 1, 2
NULL_ZERO, NULL_MINUS_INFINITY = 0, 1


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
def branch(nodes: Nodes, tally: Floats, i: int, f: int, X: Floats, r: int) -> int:
    """Find the child of inner node i, which tests feature code f, that row r goes to."""
    t = nodes[i]["threshold"]
    left = nodes[i]["left"]
    if f >= 0:
        v = X[r, f]
        if v <= t:
            return left
        return left + 1 if v > t else heavier(tally, left, 2)
    v = X[r, -2 - f]
    if t >= 0.0:
        return heavier(tally, left, 2) if v != v else left + int(v != t)
    return left + int(v) if v < -t else heavier(tally, left, int(-t))


@inlined
def find(nodes: Nodes, tally: Floats, root: int, X: Floats, r: int, w: float) -> tuple[int, int]:
    """Find the leaf of row r and its parent (-1: none); add weight w > 0 to every node on the way."""
    i, parent = root, -1
    while True:
        if w > 0.0:
            tally[i, 0] += w
        f = nodes[i]["feature"]
        if f == LEAF:
            return i, parent
        parent = i
        i = branch(nodes, tally, i, f, X, r)


# -- answering --------------------------------------------------------------------------------------------------------


@inlined
def majority(tally: Floats, i: int) -> int:
    """Find the heaviest class of node i (the lowest code among equals)."""
    best = 0
    for c in range(1, tally.shape[1] - 1):
        if tally[i, 1 + c] > tally[i, 1 + best]:
            best = c
    return best


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
              logs: Floats, votes: Floats) -> bool:
    """Fill ``votes`` with the naive Bayes answer of leaf i to row r; False (and no votes) where it has none."""
    classes = tally.shape[1] - 1
    likelihoods(stats, watched, slot, layout, classes, X, r, logs)
    return bayes(tally, i, logs, classes, votes)


@inlined
def vote(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rules: Floats, i: int,
         parent: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:
    """Fill ``votes`` with the answer of leaf i to row r, not normalised; True: they are naive Bayes's own."""
    slot = nodes[i]["left"]
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
    """Can row r be learned by one tree without growing a table?"""
    if y >= tally.shape[1] - 1:
        return False
    if head[H_FREE_SLOT] < 0 and head[H_SLOTS] == len(stats):
        return False
    if head[H_FROZEN] == 0 and head[H_NODES] + head[H_ARITY] > len(nodes) and (
        head[H_ARITY] > 2 or head[H_FREE] < 0
    ):
        return False
    if head[H_NOMINAL] > 0:
        return meet_values(layout, head, X, r)
    return True


@called
def meet_values(layout: Ints, head: Ints, X: Floats, r: int) -> bool:
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
def draw(stats: Floats, watched: Watched, layout: Ints, rng: Seeds, t: int, slot: int, classes: int) -> None:
    """Choose the attributes that a leaf of tree t watches, and empty their blocks."""
    m, d = watched.shape[1], layout.shape[1]
    if m == d:
        chosen = np.arange(d)
    else:
        chosen = np.empty(m, dtype=np.int64)
        choose(rng, t, d, chosen)
    start = HEADER
    for j in range(m):
        f = chosen[j]
        watched[slot, j, 0] = f
        watched[slot, j, 1] = start
        clear_block(stats, slot, start, layout[ROOM, f], classes)
        start += block_size(layout[ROOM, f], classes)


@inlined
def block_size(room: int, classes: int) -> int:
    """Cells of one attribute's block."""
    return 1 + NUMERIC_COLUMNS * classes if room == 0 else 1 + classes + room * classes


@called
def wake(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints, t: int,
         i: int, weight: float) -> int:
    """Give leaf i, which held ``weight`` before this row, a slot to observe with."""
    slot = head[H_FREE_SLOT]
    if slot >= 0:
        head[H_FREE_SLOT] = watched[slot, 0, 0]
    else:
        slot = head[H_SLOTS]
        head[H_SLOTS] += 1
    stats[slot, LAST] = weight
    stats[slot, MAJORITY_RIGHT] = 0.0
    stats[slot, BAYES_RIGHT] = 0.0
    draw(stats, watched, layout, rng, t, slot, tally.shape[1] - 1)
    nodes[i]["left"] = slot
    return slot


@inlined
def release(watched: Watched, head: Ints, slot: int) -> None:
    """Put a slot on the free list."""
    watched[slot, 0, 0] = head[H_FREE_SLOT]
    head[H_FREE_SLOT] = slot


@inlined
def learn(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints,
          rules: Floats, t: int, known: int, X: Floats, r: int, y: int, w: float, answered: bool, logs: Floats,
          votes: Floats) -> None:
    """Learn row r with label y and weight w in tree t. ``answered``: ``votes`` holds naive Bayes's answer to this row."""
    i, _ = find(nodes, tally, t, X, r, w)
    slot = nodes[i]["left"]
    if slot == IDLE:
        tally[i, 1 + y] += w
        return
    if slot == FRESH:
        slot = wake(nodes, tally, stats, watched, layout, rng, head, t, i, tally[i, 0] - w)
        answered = False
    if rules[R_LEAF] == ADAPTIVE:
        right = majority(tally, i)
        if right == y:
            stats[slot, MAJORITY_RIGHT] += w
        if answered or ask_bayes(tally, stats, watched, layout, i, slot, X, r, logs, votes):
            right = greatest(votes)
        if right == y:
            stats[slot, BAYES_RIGHT] += w
    tally[i, 1 + y] += w
    observe(stats, watched, slot, layout, tally.shape[1] - 1, X, r, y, w)
    if tally[i, 0] - stats[slot, LAST] >= rules[R_GRACE] and head[H_FROZEN] == 0:
        attempt(nodes, tally, stats, watched, layout, rng, head, rules, t, known, i)


@called
def attempt(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints,
            rules: Floats, t: int, known: int, i: int) -> None:
    """Split leaf i if its best attribute is better than the second by more than ε, or ε < τ (Domingos, Hulten 2000)."""
    slot = nodes[i]["left"]
    n = tally[i, 0]
    stats[slot, LAST] = n
    classes = tally.shape[1] - 1
    present = 0
    for c in range(classes):
        present += tally[i, 1 + c] > 0.0
    if present < 2:
        return
    criterion = int(rules[R_CRITERION])
    whole = cost(criterion, tally[i, 1:]) / tally[i, 1:].sum()
    left, right = np.empty(classes), np.empty(classes)
    merits = np.full(watched.shape[1], -math.inf)
    null = -math.inf  # merit of not splitting
    candidates = 0
    if rules[R_PRUNE] > 0.0:
        candidates = 1
        if criterion != GAIN:
            null = 1.0 - whole
        elif rules[R_NULL] == NULL_ZERO:
            null = 0.0
    best, second, winner, where = null, -math.inf, -1, math.nan
    for j in range(watched.shape[1]):
        f = watched[slot, j, 0]
        if f < 0 or stats[slot, watched[slot, j, 1]] == 0.0:
            continue
        if layout[ROOM, f] == 0:
            merit, test = best_number(
                stats, slot, watched[slot, j, 1], classes, criterion, whole, rules[R_MIN_SHARE], int(rules[R_POINTS]),
                left, right,
            )
        else:
            merit, test = best_value(
                stats, slot, watched[slot, j, 1], classes, layout[VALUES, f], rules[R_BINARY] == 0.0, criterion, whole,
                rules[R_MIN_SHARE], left, right,
            )
        if merit == -math.inf:
            continue
        candidates += 1
        merits[j] = merit
        if merit >= best:
            best, second, winner, where = merit, best, j, test
        else:
            second = max(second, merit)
    if winner < 0:
        if watched.shape[1] < layout.shape[1]:  # nothing to split on: let a random-subspace leaf look elsewhere
            draw(stats, watched, layout, rng, t, slot, classes)
        return
    span = 1.0
    if criterion == GAIN:
        span = math.log2(max(2.0, float(present if rules[R_LEAF_RANGE] > 0.0 else known)))
    epsilon = bound(int(rules[R_BOUND]), span, rules[R_DELTA], n)
    if candidates == 1 or best - second > epsilon or epsilon < rules[R_TAU]:
        split(nodes, tally, stats, watched, layout, head, i, slot, winner, where)
    elif rules[R_DROP_POOR] > 0.0:
        for j in range(watched.shape[1]):
            if merits[j] < best - epsilon:
                watched[slot, j, 0] = -1


@called
def split(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, head: Ints, i: int, slot: int,
          j: int, where: float) -> None:
    """Turn leaf i into an inner node that tests its j-th attribute; children start with the weights predicted for them."""
    classes = tally.shape[1] - 1
    f, start = watched[slot, j, 0], watched[slot, j, 1]
    nominal = layout[ROOM, f] > 0
    k = int(-where) if nominal and where < 0.0 else 2
    first = take_nodes(nodes, head, k)
    for child in range(first, first + k):
        nodes[child]["feature"] = LEAF
        nodes[child]["left"] = FRESH
        nodes[child]["threshold"] = 0.0
    if not nominal:
        divide_number(stats, slot, start, classes, where, tally[first, 1:], tally[first + 1, 1:])
    else:
        for c in range(classes):
            if where < 0.0:
                for v in range(k):
                    tally[first + v, 1 + c] = stats[slot, start + 1 + (1 + v) * classes + c]
            else:
                equal = stats[slot, start + 1 + (1 + int(where)) * classes + c]
                tally[first, 1 + c] = equal
                tally[first + 1, 1 + c] = max(0.0, stats[slot, start + 1 + c] - equal)
    for child in range(first, first + k):
        tally[child, 0] = tally[child, 1:].sum()
    nodes[i]["feature"] = -2 - f if nominal else f
    nodes[i]["threshold"] = where
    nodes[i]["left"] = first
    release(watched, head, slot)


@inlined
def take_nodes(nodes: Nodes, head: Ints, k: int) -> int:
    """Take k nodes that lie side by side: a freed pair, or new ones (an even number, so that all can be freed as pairs)."""
    if k == 2 and head[H_FREE] >= 0:
        first = head[H_FREE]
        head[H_FREE] = nodes[first]["left"]
        return first
    first = head[H_NODES]
    head[H_NODES] += k + k % 2
    return first


# -- replacing trees, moving house ------------------------------------------------------------------------------------


@inlined
def arity(nodes: Nodes, i: int) -> int:
    """Number of children of inner node i."""
    return int(-nodes[i]["threshold"]) if nodes[i]["feature"] < LEAF and nodes[i]["threshold"] < 0.0 else 2


@called
def clear_tree(nodes: Nodes, tally: Floats, watched: Watched, head: Ints, t: int) -> None:
    """Make tree t a single leaf that has seen nothing; its nodes and slots are free for others."""
    stack = np.empty(head[H_NODES], dtype=np.int64)
    stack[0], depth = t, 1
    while depth > 0:
        depth -= 1
        i = stack[depth]
        left = nodes[i]["left"]
        if nodes[i]["feature"] == LEAF:
            if left >= 0:
                release(watched, head, left)
            continue
        k = arity(nodes, i)
        for child in range(left, left + k):
            stack[depth] = child
            depth += 1
    # Second walk: the free list runs through the nodes themselves, so nothing may be pushed before all is read.
    stack[0], depth = t, 1
    freed = np.empty(head[H_NODES], dtype=np.int64)
    n_freed = 0
    while depth > 0:
        depth -= 1
        i = stack[depth]
        if nodes[i]["feature"] != LEAF:
            left, k = nodes[i]["left"], arity(nodes, i)
            for child in range(left, left + k):
                stack[depth] = child
                depth += 1
            for pair in range(left, left + k, 2):
                freed[n_freed] = pair
                n_freed += 1
    for p in range(n_freed):
        nodes[freed[p]]["left"] = head[H_FREE]
        head[H_FREE] = freed[p]
    nodes[t]["feature"] = LEAF
    nodes[t]["left"] = FRESH
    nodes[t]["threshold"] = 0.0
    tally[t, :] = 0.0


@compiled
def move(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, head: Ints, trees: int, new_nodes: Nodes,
         new_tally: Floats, new_stats: Floats, new_watched: Watched) -> None:
    """Copy all trees into other tables, parents before children and without gaps; free lists start empty."""
    n_nodes, n_slots = trees, 0
    source = np.empty(len(new_nodes), dtype=np.int64)  # where new node i came from
    for t in range(trees):
        source[t] = t
    done = 0
    while done < n_nodes:
        i = source[done]
        if i < 0:  # the odd one of a block with an odd number of children
            done += 1
            continue
        new_nodes[done] = nodes[i]
        new_tally[done] = tally[i]
        left = nodes[i]["left"]
        if nodes[i]["feature"] == LEAF:
            if left >= 0:
                new_stats[n_slots] = stats[left]
                new_watched[n_slots] = watched[left]
                new_nodes[done]["left"] = n_slots
                n_slots += 1
        else:
            k = arity(nodes, i)
            new_nodes[done]["left"] = n_nodes
            for c in range(k):
                source[n_nodes + c] = left + c
            if k % 2 == 1:
                source[n_nodes + k] = -1
            n_nodes += k + k % 2
        done += 1
    head[H_NODES], head[H_FREE], head[H_SLOTS], head[H_FREE_SLOT] = n_nodes, -1, n_slots, -1


@compiled
def live(nodes: Nodes, trees: int) -> tuple[int, int]:
    """Count the nodes (in even blocks) and slots that the trees use."""
    stack = np.empty(len(nodes), dtype=np.int64)
    n_nodes, n_slots = trees, 0
    for t in range(trees):
        stack[0], depth = t, 1
        while depth > 0:
            depth -= 1
            i = stack[depth]
            left = nodes[i]["left"]
            if nodes[i]["feature"] == LEAF:
                n_slots += left >= 0
            else:
                k = arity(nodes, i)
                n_nodes += k + k % 2
                for child in range(left, left + k):
                    stack[depth] = child
                    depth += 1
    return n_nodes, n_slots


@compiled
def ration(nodes: Nodes, tally: Floats, watched: Watched, head: Ints, trees: int, keep: int) -> None:
    """Keep the ``keep`` most promising leaves awake, put the others to sleep.

    Promise is the weight that the majority class would get wrong. A sleeping leaf that makes the cut wakes afresh.
    """
    leaves = np.empty(head[H_NODES], dtype=np.int64)
    promise = np.empty(head[H_NODES])
    stack = np.empty(head[H_NODES], dtype=np.int64)
    n = 0
    for t in range(trees):
        stack[0], depth = t, 1
        while depth > 0:
            depth -= 1
            i = stack[depth]
            if nodes[i]["feature"] == LEAF:
                leaves[n] = i
                promise[n] = tally[i, 1 + majority(tally, i)] - tally[i, 0]
                n += 1
            else:
                for child in range(nodes[i]["left"], nodes[i]["left"] + arity(nodes, i)):
                    stack[depth] = child
                    depth += 1
    order = np.argsort(promise[:n], kind="mergesort")
    for rank in range(n):
        i = leaves[order[rank]]
        left = nodes[i]["left"]
        if rank < keep:
            if left == IDLE:
                nodes[i]["left"] = FRESH
        else:
            if left >= 0:
                release(watched, head, left)
            nodes[i]["left"] = IDLE


@compiled
def relayout(stats: Floats, watched: Watched, layout: Ints, classes: int, new_stats: Floats, new_watched: Watched,
             new_layout: Ints, new_classes: int, slots: int) -> None:
    """Copy the first slots, all in use, into rows with more room for classes, values or attributes.

    New attributes join a leaf that watches all of them; a random-subspace leaf keeps those it has.
    """
    for slot in range(slots):
        for a in range(HEADER):
            new_stats[slot, a] = stats[slot, a]
        start = HEADER
        for j in range(new_watched.shape[1]):
            f = watched[slot, j, 0] if j < watched.shape[1] else j
            new_watched[slot, j, 0] = f
            new_watched[slot, j, 1] = start
            if f < 0:  # given up
                continue
            room = new_layout[ROOM, f]
            clear_block(new_stats, slot, start, room, new_classes)
            if j < watched.shape[1]:
                old = watched[slot, j, 1]
                old_room = layout[ROOM, f]
                columns = NUMERIC_COLUMNS if room == 0 else 1 + old_room
                new_stats[slot, start] = stats[slot, old]
                for k in range(columns):
                    for c in range(classes):
                        new_stats[slot, start + 1 + k * new_classes + c] = stats[slot, old + 1 + k * classes + c]
            start += block_size(room, new_classes)
