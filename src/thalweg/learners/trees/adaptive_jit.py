"""How a Hoeffding adaptive tree answers and learns a row. The tables of a pool of one tree, linked by ALTERNATES.

Alternates have no alternates of their own until they have taken over. A node that splits starts a new ADWIN.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import table
from thalweg.detectors import adwin_jit
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.random import poisson
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.moving_jit import free_below
from thalweg.pool.pool_jit import (
    ALTERNATES,
    H_FREE,
    H_FROZEN,
    H_NEED,
    LEAF,
    NO_LINK,
    R_OWN,
    WANTED,
    Linked,
    Links,
    Tables,
    Trees,
    arity,
    branch,
    cut,
    feature_of,
    find,
    greatest,
    has_room,
    keeps,
    learn,
    left_of,
    meet,
    n_classes,
    no_literal,
    plant,
    take_nodes,
    vote,
    write_proba,
)
from thalweg.pool.split_jit import attempt

A_ERROR, A_ROWS = 0, 1
"""Columns of ``marks``."""
STARTED, TAKEN, DROPPED = 0, 1, 2
R_DRIFT, R_SWITCH, R_MIN_ROWS, R_BOOTSTRAP, R_BLEND = R_OWN, R_OWN + 1, R_OWN + 2, R_OWN + 3, R_OWN + 4
LEAST_ERROR = 0.01
TREES = 1


class Alternates(NamedTuple):
    """The tables that plain trees do not have."""

    links: Annotated[Links, table("N", least=WANTED, most="N - 1")]
    """Of an inner node: root of the alternate subtree that may take its place; WANTED: start one."""
    marks: Annotated[Floats, table("N", 2, least=0)]
    """Of a leaf: its mean error, which forgets; rows so far, from one."""
    pairs: Annotated[Floats, table("(N - trees) // 2", "columns", loose=True)]
    """Of an inner node, or the root of an alternate (while it is still a leaf: its own pair): an ADWIN on the errors
    that the rows which pass it get below it; ``adwin_jit.Rows`` declares its row."""
    turns: Annotated[Ints, table(3, least=0)]
    """Alternates started, taken over, dropped."""


@inlined
def link_of(a: Alternates, i: int) -> int:
    """What inner node i is linked to."""
    return int(np.int64(a.links[i]))


@called
def feed(monitors: Floats, k: int, wrong: float, delta: float) -> int:
    """Let an ADWIN take an error; 1: errors have risen (Bifet, Gavaldà 2007: the cut ε of adwin_jit.py)."""
    return adwin_jit.change(monitors, k, wrong, delta)


@called
def renew(monitors: Floats, k: int) -> None:
    """Let an ADWIN forget everything."""
    adwin_jit.clear(monitors, k)


@inlined
def pair_of(node: int) -> int:
    """Row of ``pairs`` for the pair of nodes that begins here."""
    return (node - TREES) // 2


@inlined
def monitor_of(p: Trees, i: int) -> int:
    """Row of the ADWIN of node i, an inner node or the root of an alternate."""
    return pair_of(left_of(p.nodes, i) if feature_of(p.nodes, i) != LEAF else i)


@inlined
def begin(a: Alternates, i: int) -> None:
    """Make the marks of a leaf that has seen nothing; the prior is half a row of two."""
    a.links[i] = NO_LINK
    a.marks[i, A_ERROR] = 0.5
    a.marks[i, A_ROWS] = 1.0


# -- answering --------------------------------------------------------------------------------------------------------


@inlined
def survey(p: Trees, a: Alternates, X: Floats, r: int) -> tuple[int, int, int]:
    """Find the leaf of row r, its parent, and how many alternates on the way the row will meet."""
    i, parent, met = no_literal(0), no_literal(-1), 0
    while True:
        f = feature_of(p.nodes, i)
        if f == LEAF:
            return i, parent, met
        met += a.links[i] != NO_LINK
        parent = i
        i = branch(p, i, f, X, r)


@called
def ask(p: Trees, leaf: int, parent: int, X: Floats, r: int, logs: Floats, votes: Floats) -> bool:
    """What ``vote`` does, out of line: for all but the most frequent case."""
    return vote(p, leaf, parent, X, r, logs, votes)


@inlined
def answer(p: Trees, a: Alternates, X: Floats, r: int, known: int, out: Floats, logs: Floats, votes: Floats) -> bool:
    """Write the answer to row r; leave the votes of the tree's own leaf in ``votes``, True: they are naive Bayes's."""
    i, parent, met = survey(p, a, X, r)
    if met == 0 or p.rules[R_BLEND] == 0.0:
        own = vote(p, i, parent, X, r, logs, votes)
        write_proba(votes, known, out, r)
        return own
    return blend(p, a, X, r, known, out, logs, votes)


@called
def blend(p: Trees, a: Alternates, X: Floats, r: int, known: int, out: Floats, logs: Floats, votes: Floats) -> bool:
    """Write the votes of the tree's own leaf and of alternates that have split, each divided by its squared error."""
    out[r, :] = 0.0
    i, parent = no_literal(0), no_literal(-1)
    while True:
        f = feature_of(p.nodes, i)
        if f == LEAF:
            break
        other = link_of(a, i)
        if other >= 0 and feature_of(p.nodes, other) != LEAF:
            leaf, above = find(p, other, X, r, 0.0)
            ask(p, leaf, above, X, r, logs, votes)
            add_votes(a, leaf, known, votes, out, r)
        parent = i
        i = branch(p, i, f, X, r)
    own = ask(p, i, parent, X, r, logs, votes)
    add_votes(a, i, known, votes, out, r)
    write_proba(out[r], known, out, r)
    return own


@inlined
def add_votes(a: Alternates, leaf: int, known: int, votes: Floats, out: Floats, r: int) -> None:
    """Add the votes of a leaf, divided by their sum and by its squared error."""
    total = 0.0
    for c in range(min(known, len(votes))):
        total += votes[c]
    if total > 0.0:
        e = max(a.marks[leaf, A_ERROR], LEAST_ERROR)
        for c in range(min(known, len(votes))):
            out[r, c] += votes[c] / (total * e * e)


# -- learning ---------------------------------------------------------------------------------------------------------


@inlined
def grow(p: Trees, a: Alternates, i: int, known: int, X: Floats, r: int, y: int, w: float, wrong: float, own: bool,
         logs: Floats, votes: Floats) -> None:  # fmt: skip
    """Learn a row in its leaf i; where the leaf splits, begin what its children and its ADWIN need."""
    a.marks[i, A_ROWS] += 1.0
    a.marks[i, A_ERROR] += (wrong - a.marks[i, A_ERROR]) / min(a.marks[i, A_ROWS], p.rules[R_MIN_ROWS])
    if p.rules[R_BOOTSTRAP] > 0.0:
        w *= max(1.0, float(poisson(p.rng, 0, 1.0)))
    if learn(p, 0, i, X, r, y, w, own, logs, votes):
        attempt(p, 0, known, i)
    if feature_of(p.nodes, i) != LEAF:
        first = left_of(p.nodes, i)
        for child in range(first, first + arity(p.nodes, i)):
            begin(a, child)
        a.links[i] = NO_LINK
        renew(a.pairs, pair_of(first))


@inlined
def compare(p: Trees, a: Alternates, i: int) -> int:
    """Is the alternate of inner node i surely better (1), surely worse (-1), or is it too early to say (0)?

    HAT's switch (Bifet, Gavaldà 2009; the bound is MOA's): the errors e of the node and e' of the alternate, over n and
    m rows, differ by more than √(2 e (1 - e) ln(2 / δ') (1/n + 1/m)), with δ' = switch_delta.
    """
    mine, other = monitor_of(p, i), monitor_of(p, link_of(a, i))
    n, m = a.pairs[mine, adwin_jit.A_WIDTH], a.pairs[other, adwin_jit.A_WIDTH]
    if min(n, m) <= p.rules[R_MIN_ROWS]:
        return 0
    e = adwin_jit.estimate(a.pairs, mine)
    gap = e - adwin_jit.estimate(a.pairs, other)
    bound = math.sqrt(2.0 * e * (1.0 - e) * math.log(2.0 / p.rules[R_SWITCH]) * (1.0 / n + 1.0 / m))
    if gap > bound:
        return 1
    return -1 if -gap > bound else 0


@called
def tend(p: Trees, a: Alternates, i: int, rise: bool) -> int:
    """See to the alternate of inner node i; give the root of what is to learn the row besides, -1: nothing.

    The root is i itself where the alternate has taken its place. rise: errors have risen, so that a new alternate is
    wanted; the next row that comes by starts it. Without room for one the subtree starts again at once.
    """
    here = link_of(a, i)
    restart = p.head[H_FROZEN] != 0 and (rise or here == WANTED)
    if here == WANTED and not rise and not restart:
        root = take_nodes(p, 2)
        plant(p, root)
        begin(a, root)
        renew(a.pairs, pair_of(root))
        a.links[i] = root
        a.turns[STARTED] += 1
        return root
    verdict = -1 if rise or restart else compare(p, a, i)
    if verdict == 0:
        return here
    if here >= 0:
        a.turns[TAKEN if verdict > 0 else DROPPED] += 1
    if verdict > 0:
        a.links[i] = NO_LINK
    if restart or verdict > 0 or here >= 0:
        free_below(p, a.links, ALTERNATES, i if restart or verdict > 0 else here)
    if restart:
        plant(p, i)
        begin(a, i)
        a.turns[STARTED] += 1
        a.turns[TAKEN] += 1
        return i
    if verdict > 0:
        copy_node(p, a, here, i)
    if here >= 0:
        p.nodes[here]["left"] = p.head[H_FREE]
        p.head[H_FREE] = here
    a.links[i] = WANTED if rise else NO_LINK
    return i if verdict > 0 else -1


@inlined
def copy_node(p: Trees, a: Alternates, root: int, i: int) -> None:
    """Make node i what ``root`` is."""
    p.nodes[i]["feature"] = p.nodes[root]["feature"]
    p.nodes[i]["threshold"] = p.nodes[root]["threshold"]
    p.nodes[i]["left"] = p.nodes[root]["left"]
    for c in range(p.tally.shape[1]):
        p.tally[i, c] = p.tally[root, c]
    a.marks[i, A_ERROR], a.marks[i, A_ROWS] = a.marks[root, A_ERROR], a.marks[root, A_ROWS]


@inlined
def teach(p: Trees, a: Alternates, known: int, X: Floats, r: int, y: int, w: float, own: bool, logs: Floats,
          votes: Floats) -> None:  # fmt: skip
    """Learn row r: in each alternate on its way as it is met, at last in its leaf.

    ``votes``: those of its leaf; ``own``: they are naive Bayes's.
    """
    mine = 1.0 if greatest(votes) != y else 0.0
    i, last = no_literal(0), False
    while not last:
        root, wrong = -1, mine
        while root < 0:
            f = feature_of(p.nodes, i)
            if f == LEAF:
                break
            p.tally[i, 0] += w
            rise = feed(a.pairs, pair_of(left_of(p.nodes, i)), mine, p.rules[R_DRIFT]) > 0
            if rise or a.links[i] != NO_LINK:
                root = tend(p, a, i, rise)
                if root == i:
                    break
            i = branch(p, i, f, X, r)
        last = root < 0 or root == i
        leaf = i
        if root >= 0:  # other votes than those of the leaf of the tree
            leaf, parent = find(p, root, X, r, w)
            own = ask(p, leaf, parent, X, r, logs, votes)
            wrong = 1.0 if greatest(votes) != y else 0.0
            judge(p, a, root, leaf, root != i, X, r, wrong)
        grow(p, a, leaf, known, X, r, y, w, wrong, own, logs, votes)
        own = False


@called
def judge(p: Trees, a: Alternates, root: int, leaf: int, alone: bool, X: Floats, r: int, wrong: float) -> None:
    """Show an error to each ADWIN from the root of an alternate to a leaf. ``alone``: the root has its own pair."""
    i = root
    while i != leaf:
        feed(a.pairs, monitor_of(p, i), wrong, p.rules[R_DRIFT])
        i = branch(p, i, feature_of(p.nodes, i), X, r)
    if alone and leaf == root:
        feed(a.pairs, pair_of(root), wrong, p.rules[R_DRIFT])


@hot
def play(tables: Tables, linked: Linked, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int,
         work: Floats) -> int:  # fmt: skip
    """Carry out events in order; the number done is less than all when a table must grow first.

    ``work`` has the cells that ``Pool`` says; what they hold does not matter.
    """
    p, a = Trees(*tables), Alternates(*linked)
    votes, logs = cut(work, n_classes(p))
    answered, own = -1, False  # the row whose leaf's votes stand in votes; are they naive Bayes's?
    for k in range(len(events)):
        e = events[k]
        if e >= 0:
            own = answer(p, a, X, e, known, out, logs, votes)
            answered = e if keeps(p, X, e) else -1
        else:
            r = ~e
            if p.head[H_FREE] >= 0:
                p.head[H_FROZEN] = 0  # where something was replaced the tree may grow again
            i, parent, met = survey(p, a, X, r)
            p.head[H_NEED] = 1 + 2 * met
            if not has_room(p, 1 + 2 * met, X, r, y[r]):
                return k
            meet(p, X, r)
            known = max(known, y[r] + 1)
            if answered != r:
                own = ask(p, i, parent, X, r, logs, votes)
            teach(p, a, known, X, r, y[r], w[r], own, logs, votes)
            answered = -1
    return len(events)
