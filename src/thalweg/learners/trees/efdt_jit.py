"""How an extremely fast decision tree learns a row. The tables of a pool of one tree, linked by KEPT.

An inner node also goes on counting classes in ``tally``, and S_LAST of its slot is the weight at its last review.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import table
from thalweg.jit.compile import called, hot, inlined
from thalweg.jit.impurity import GAIN
from thalweg.pool.leaf_jit import L_PATCH, S_BAYES_RIGHT, S_LAST, S_MAJORITY_RIGHT, Floats, Ints, observe
from thalweg.pool.moving_jit import free_below
from thalweg.pool.pool_jit import (
    H_FROZEN,
    H_NODES,
    KEPT,
    LEAF,
    NO_LINK,
    R_CRITERION,
    R_OWN,
    R_SMOOTHING,
    R_TAU,
    Linked,
    Links,
    Tables,
    Trees,
    answer,
    arity,
    branch,
    cut,
    draw,
    feature_of,
    has_room,
    learn,
    left_of,
    meet,
    n_classes,
    no_literal,
)
from thalweg.pool.split_jit import best_test, branch_out, weigh_up, work_space

SPLITS, REPLACED, CUT = 0, 1, 2
R_REVIEW = R_OWN
LEAST_GAIN = 1e-10
"""A split must gain more than this, however small ε is."""


class Kept(NamedTuple):
    """The tables that plain trees do not have."""

    links: Annotated[Links, table("N", least=NO_LINK, most="S - 1")]
    """Of an inner node: the slot in which it goes on observing; NO_LINK: given up to save memory."""
    turns: Annotated[Ints, table(3, least=0)]
    """Splits, splits replaced by better ones, subtrees cut back to a leaf."""


@called
def consider(p: Trees, links: Links, turns: Ints, known: int, i: int, slot: int) -> bool:
    """Split leaf i, or review inner node i, by what its slot has observed (Manapragada, Webb, Salehi 2018).

    A leaf splits once its best test is better than no split by more than ε, or ε < τ. An inner node takes the best test
    once its attribute is better than the present one by more than ε, or by more than τ / 2 where ε < τ; where no split
    is best it becomes a leaf again. True: node i has changed.
    """
    rules = p.rules
    present, whole, epsilon = weigh_up(p, known, i, slot)
    if present < 2:
        return False
    code = feature_of(p.nodes, i)
    criterion = int(rules[R_CRITERION])
    tie = epsilon < rules[R_TAU]
    null = 0.0 if criterion == GAIN else 1.0 - whole  # merit of no split; none is more than `whole` better
    work = work_space(p)
    now, least = null, LEAST_GAIN if tie else epsilon
    mine, same = no_literal(-1), math.nan
    if code != LEAF:
        now, least = -math.inf, min(epsilon, 0.5 * rules[R_TAU]) if tie else epsilon
        for j in range(p.watched.shape[1]):
            if p.watched[slot, j, 0] == (code if code >= 0 else -2 - code):
                mine = j
                now, same = best_test(p, slot, j, criterion, whole, work)
    if null + whole - now <= least:  # whatever the others are worth
        return False
    best, winner, where, candidates = null, no_literal(-1), math.nan, 0
    for j in range(p.watched.shape[1]):
        merit, test = now, same
        if j != mine:
            merit, test = best_test(p, slot, j, criterion, whole, work)
        candidates += merit > -math.inf
        if merit > best:
            best, winner, where = merit, j, test
    if code == LEAF and candidates == 0 and p.watched.shape[1] < p.layout.shape[1] and p.layout.shape[0] == L_PATCH:
        draw(p, 0, slot)  # nothing to split on: let a random-subspace leaf look elsewhere
    if best - now <= least:
        return False
    k = int(-where) if where < -2.0 else 2
    if p.head[H_FROZEN] != 0 and k > 2 and p.head[H_NODES] + k + k % 2 > len(p.nodes):
        return False  # a pair of nodes is always left behind, more may not be
    if code != LEAF:
        links[i] = NO_LINK
        free_below(p, links, KEPT, i)
        p.head[H_FROZEN] = 0
        p.stats[slot, S_MAJORITY_RIGHT] = 0.0
        p.stats[slot, S_BAYES_RIGHT] = 0.0
        p.nodes[i]["feature"] = LEAF
        p.nodes[i]["threshold"] = 0.0
        p.nodes[i]["left"] = slot
    if winner < 0:
        turns[CUT] += 1
        return True
    branch_out(p, i, slot, winner, where)
    turns[SPLITS if code == LEAF else REPLACED] += 1
    links[i] = slot
    first = left_of(p.nodes, i)
    for child in range(first, first + arity(p.nodes, i)):
        links[child] = NO_LINK
    return True


@inlined
def teach(p: Trees, links: Links, turns: Ints, known: int, X: Floats, r: int, y: int, w: float, answered: bool,
          logs: Floats, votes: Floats) -> None:  # fmt: skip
    """Learn row r in every node on its way; what is below a node that changes has learned it by that."""
    i = no_literal(0)
    while True:
        f = feature_of(p.nodes, i)
        if f == LEAF:
            due = learn(p, 0, i, X, r, y, w, answered, logs, votes)
            slot = left_of(p.nodes, i)
        else:
            p.tally[i, 0] += w
            p.tally[i, 1 + y] += w
            due, slot = False, int(np.int64(links[i]))
            if slot >= 0:
                observe(p.stats, p.watched, slot, X, r, len(votes), y, w, p.rules[R_SMOOTHING], logs)
                due = bool(p.tally[i, 0] - p.stats[slot, S_LAST] >= p.rules[R_REVIEW])
        if (due and consider(p, links, turns, known, i, slot)) or f == LEAF:
            return
        i = branch(p, i, f, X, r)


@hot
def play(tables: Tables, linked: Linked, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int,
         work: Floats) -> int:  # fmt: skip
    """Carry out events in order; the number done is less than all when a table must grow first.

    ``work`` has the cells that ``Pool`` says; what they hold does not matter.
    """
    p = Trees(*tables)
    links, _, _, turns = linked
    votes, logs = cut(work, n_classes(p))
    answered = -1  # the row whose naive Bayes answer stands in votes
    for k in range(len(events)):
        e = events[k]
        if e >= 0:
            answered = answer(p, X, e, known, out, logs, votes)
        else:
            r = ~e
            if not has_room(p, 1, X, r, y[r]):
                return k
            meet(p, X, r)
            known = max(known, y[r] + 1)
            teach(p, links, turns, known, X, r, y[r], w[r], answered == r, logs, votes)
            answered = -1
    return len(events)
