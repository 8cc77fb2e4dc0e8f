"""The loop over members and events for every forest. The tables of the trees are in pool_jit.py.

Over 450 lines: its functions are inlined into one loop, which is best read in one place (decision 17).

A member is two trees of the pool, a detector or two, a generator and a record. Members of most forests do not look at
each other. Then member after member plays all events (``apart``), which keeps its leaves in the cache and lets threads
share the work; the answer is the same as event after event. Where members depend on each other, or share a limited
memory, each event is played by all members before the next one.

members[t], one row of float64 per member:

| column | name         | meaning                                                                                |
| 0      | M_FORE       | number of its tree in the pool                                                         |
| 1      | M_BACK       | number of the tree that is kept for the background                                     |
| 2      | M_GROWS      | 1 while the background tree learns, after a warning                                    |
| 3      | M_SEEN       | weight of the rows that its tree has been tested on                                    |
| 4      | M_RIGHT      | weight of those it got right                                                           |
| 5      | M_ROWS       | rows met so far                                                                        |
| 6      | M_BORN       | M_ROWS when its tree began                                                             |
| 7      | M_BACK_BORN  | M_ROWS when its background tree began                                                  |
| 8      | M_WARNINGS   | warnings so far                                                                        |
| 9      | M_DRIFTS     | replacements so far                                                                    |
| 10     | M_ALPHA      | weight of its vote (boosting)                                                          |
| 11     | M_EXPERT     | weight of the first t + 1 members as one expert (boosting by exponential weights)      |
| 12     | M_HIT        | was it right about the present row? +1 or -1                                           |
| 13     | M_PREFIX_HIT | were the first t + 1 members together? +1 or -1                                        |
| 14 …   | M_REPLACED   | M_ROWS at the latest replacements, a ring of M_RING                                    |

Tables of a call, which are no state: ``Work``.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import span, table
from thalweg.detectors.any_jit import feed, forget, mean_error
from thalweg.jit.compile import called, compiled, hot, inlined
from thalweg.jit.random import Seeds, bits, uniform
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.moving_jit import clear_tree, draw_patch
from thalweg.pool.pool_jit import (
    ADAPTIVE,
    R_LEAF,
    Tables,
    Trees,
    find,
    find_way,
    greatest,
    guess,
    has_room,
    keeps,
    learn,
    meet,
    vote,
)
from thalweg.pool.split_jit import attempt

M_FORE, M_BACK, M_GROWS, M_SEEN, M_RIGHT, M_ROWS, M_BORN, M_BACK_BORN, M_WARNINGS, M_DRIFTS = range(10)
M_ALPHA, M_EXPERT, M_HIT, M_PREFIX_HIT, M_REPLACED = 10, 11, 12, 13, 14
M_RING = 18
M_COLUMNS = M_REPLACED + M_RING

F_SAMPLING, F_RATE, F_REPLACE, F_WARN, F_DRIFT, F_BEFORE, F_BACK_POISSON, F_VOTES, F_ALL_FED, F_CODES = range(10)
F_GAMMA, F_DECAY, F_VARIANT, F_RULES = range(10, 14)
"""Cells of ``how``: codes of the rules below; the rate of Poisson; codes of the detectors (-1: none); flags;
F_GAMMA and F_DECAY = ½ ln(1 - γ) of boosting."""
DRAW_ONCE, DRAW_POISSON, DRAW_HALF, DRAW_ONE_MORE, DRAW_ANY, DRAW_MISSED, DRAW_BOOST = 0, 1, 2, 3, 4, 5, 6
"""F_SAMPLING: weight 1; Poisson(rate); 1 or 0 by a coin; 1 + Poisson; 1 if Poisson > 0; what is missed; boosting."""
REPLACE_NEVER, REPLACE_OWN, REPLACE_WORST = 0, 1, 2
"""F_REPLACE: never; a member whose detector reports a drift; the worst member when any detector reports one."""
VOTE_EQUAL, VOTE_BY_ACCURACY, VOTE_BY_ALPHA = 0, 1, 2
"""F_VOTES: how members are weighed."""
BOOST_PLAIN, BOOST_CONVEX, BOOST_EXPONENTIAL = 0, 1, 2
"""F_VARIANT of boosting: how M_ALPHA is learned."""

SIDES = 2
"""Classes to the trees of a forest with output codes."""
GUIDE = 256
_FLOOR = 0.01  # vote of a member that has no record yet, or was never right

NOW_CHANGED, NOW_MARGIN, NOW_WEIGHT, NOW_VOTES = 0, 1, 2, 4
"""Cells of ``now``; from NOW_VOTES on a cell for each class."""
NOTE_LEAF, NOTE_PARENT, NOTE_ANSWERED, NOTE_BY_BAYES, NOTE_DEPTH, NOTE_WAY, NOTE_COLUMNS = 0, 1, 2, 3, 4, 5, 64
"""Columns of ``notes``; from NOTE_WAY on the inner nodes on the way to the leaf, the first NOTE_DEPTH of them."""


class Team(NamedTuple):
    """The members of a shard, and the rules of the forest."""

    members: Annotated[
        Floats,
        table(
            "size",
            M_COLUMNS,
            least=0,
            cells={
                M_FORE: span(0, "2 * size - 1", whole=True),
                M_BACK: span(0, "2 * size - 1", whole=True),
                M_GROWS: span(0, "grows", whole=True),
                **dict.fromkeys((M_ROWS, M_BORN, M_BACK_BORN, M_WARNINGS, M_DRIFTS), span(0, whole=True)),
                **dict.fromkeys((M_HIT, M_PREFIX_HIT), span(-1, 1)),
            },
        ),
    ]
    """See above."""
    dice: Annotated[Seeds, table("size")]
    """A random generator for each member."""
    warn: Annotated[Floats, table("size", "warning", loose=True)]
    """A row for each member's detector of warnings, as the detector declares it."""
    drift: Annotated[Floats, table("size", "drifting", loose=True)]
    """The same for drifts."""
    odds: Floats
    """A table of the Poisson distribution, see ``odds``. Not state, nor are those that follow."""
    warn_rules: Floats
    drift_rules: Floats
    """The parameters of the detectors."""
    how: Floats
    """F_RULES: the rules of the forest, see the F_ names."""


Members = tuple[Floats, Seeds, Floats, Floats, Floats, Floats, Floats, Floats]
"""``Team`` as a plain tuple: that is how it comes from Python, since a named one takes Numba far longer to open."""


class Work(NamedTuple):
    """What a call works in; it starts as anything, but ``now`` and ``sums`` with zeros, ``notes`` without answers (-1).

    Votes and notes may also be those of the call before, if no table has grown since.
    """

    sums: Floats
    """predictions × classes: the votes of the members, one row for each event that predicts."""
    now: Floats
    """What members hand on within a row: was a drift reported; boosting: margin, weight; then the votes so far."""
    votes: Floats
    """(members + 1) × room for classes: what each member's tree last said; the last row is for background trees."""
    logs: Floats
    """A row for each of these: see pool_jit.cut."""
    notes: Ints
    """members × NOTE_COLUMNS: the leaf of the row last looked at, its parent, the row if the votes stand for it still
    (-1: they do not), whether they are naive Bayes's, and the way to the leaf."""


Space = tuple[Floats, Floats, Floats, Floats, Ints]
"""``Work`` as a plain tuple."""


@hot
def play(tables: Tables, team: Members, X: Floats, y: Ints, w: Floats, events: Ints, work: Space, known: int,
         start: int, apart: bool, first: int) -> int:  # fmt: skip
    """Play member × event steps from ``start`` on; the number done is less than all when a table must grow first.

    ``first``: the number of the first of these members in the forest.
    """
    p, f = Trees(*tables), Team(*team)
    sums, now, votes, logs, notes = Work(*work)
    members, how = f.members, f.how
    size, n = len(members), len(events)
    need = 1 + int(how[F_WARN] >= 0.0)
    seen, q = known, 0  # classes known, and predictions made, before event k
    begin = True
    inner = max(n if apart else size, 1)
    slow, fast = start // inner, start % inner
    for step in range(start, size * n):
        t, k = (slow, fast) if apart else (fast, slow)
        fast += 1
        if fast == inner:
            slow, fast = slow + 1, 0
        if k == 0:
            seen, q = known, 0
        elif begin:
            seen, q = before(events, y, known, k)
        begin = False
        e = events[k]
        r = e if e >= 0 else ~e
        fore = int(members[t, M_FORE])
        mine = votes[t]
        if e < 0:
            label = code(first + t, y[r]) if how[F_CODES] > 0.0 else y[r]
            if not has_room(p, need, X, r, label):
                return step
            meet(p, X, r)
        if e >= 0 or notes[t, NOTE_ANSWERED] != r:
            leaf, parent, notes[t, NOTE_DEPTH] = find_way(p, fore, X, r, notes[t, NOTE_WAY:])
            notes[t, NOTE_LEAF], notes[t, NOTE_PARENT] = leaf, parent
            notes[t, NOTE_BY_BAYES] = vote(p, leaf, parent, X, r, logs[t], mine)
        if e >= 0:
            notes[t, NOTE_ANSWERED] = r if keeps(p, X, r) else -1
            add_votes(how, first + t, mine, say(members, how, t), sums, q)
            if apart or t == size - 1:
                q += 1
            continue
        notes[t, NOTE_ANSWERED] = -1
        seen = max(seen, y[r] + 1)
        heaviest = greatest(mine)
        right = heaviest == label and mine[heaviest] > 0.0
        members[t, M_ROWS] += 1.0
        members[t, M_SEEN] += w[r]
        if right:
            members[t, M_RIGHT] += w[r]
        error = mean_error(int(how[F_DRIFT]), f.drift, t) if how[F_SAMPLING] == DRAW_MISSED else 0.0
        chance = sample(f, t, right, error)
        if how[F_SAMPLING] == DRAW_BOOST:
            chance = boost(members, how, t, right, mine, y[r], now)
        wrong, kept = 0.0 if right else 1.0, False
        if chance > 0.0:
            by_fore = notes[t, NOTE_BY_BAYES] > 0
            kept = by_fore or p.rules[R_LEAF] == ADAPTIVE
            for role in range(1 + int(members[t, M_GROWS])):
                weight = chance * w[r] if role == 0 or how[F_BACK_POISSON] > 0.0 else w[r]
                tree = fore if role == 0 else int(members[t, M_BACK])
                at, i = t if role == 0 else size, notes[t, NOTE_LEAF]
                if role == 0 and notes[t, NOTE_DEPTH] <= NOTE_COLUMNS - NOTE_WAY:
                    for j in notes[t, NOTE_WAY : NOTE_WAY + notes[t, NOTE_DEPTH]]:
                        p.tally[j, 0] += weight
                else:
                    i, _ = find(p, tree, X, r, weight)
                if learn(p, tree, i, X, r, label, weight, by_fore, logs[at], votes[at]):
                    attempt(p, tree, 2 if how[F_CODES] > 0.0 else seen, i)
                    kept = kept and role > 0
                by_fore = False
        elif how[F_ALL_FED] == 0.0:
            continue
        if how[F_REPLACE] == REPLACE_NEVER:
            if how[F_SAMPLING] == DRAW_BOOST and t == size - 1 and how[F_VARIANT] != BOOST_PLAIN:
                weigh(members, how)
            continue
        if how[F_BEFORE] == 0.0 and chance > 0.0:
            i, j = find(p, notes[t, NOTE_LEAF], X, r, 0.0)  # the leaf may have split
            if j < 0:
                j = notes[t, NOTE_PARENT]  # it has not
            wrong = 0.0 if guess(p, i, j, X, r, label, chance * w[r], kept, logs[t]) == label else 1.0
        if how[F_WARN] >= 0.0 and feed(int(how[F_WARN]), f.warn, t, wrong, f.warn_rules) == 2:
            warn_of(p, f, t)
        if feed(int(how[F_DRIFT]), f.drift, t, wrong, f.drift_rules) == 2:
            now[NOW_CHANGED] = 1.0
            if how[F_REPLACE] == REPLACE_OWN:
                replace_tree(p, f, t)
        if how[F_REPLACE] == REPLACE_WORST and t == size - 1:
            if now[NOW_CHANGED] > 0.0:
                failing = worst(how, f.drift, size)
                if failing >= 0:
                    replace_tree(p, f, failing)
            now[NOW_CHANGED] = 0.0
    return size * n


@called
def before(events: Ints, y: Ints, known: int, k: int) -> tuple[int, int]:
    """Classes known, and predictions made, before event k."""
    q = 0
    for e in events[:k]:
        if e < 0:
            known = max(known, y[~e] + 1)
        else:
            q += 1
    return known, q


# -- answering ---------------------------------------------------------------------------------------------------------


@inlined
def add_votes(how: Floats, t: int, votes: Floats, weight: float, sums: Floats, q: int) -> None:
    """Add member t's votes, scaled to a sum of ``weight``, to row q of ``sums``."""
    total = 0.0
    for c in range(len(votes)):
        total += votes[c]
    if total <= 0.0:
        return
    scale = weight / total
    if how[F_CODES] > 0.0:
        for c in range(sums.shape[1]):
            sums[q, c] += votes[code(t, c)] * scale
        return
    for c in range(min(len(votes), sums.shape[1])):
        sums[q, c] += votes[c] * scale


@inlined
def say(members: Floats, how: Floats, t: int) -> float:
    """The weight of member t's vote."""
    if how[F_VOTES] == VOTE_BY_ACCURACY:
        return members[t, M_RIGHT] / members[t, M_SEEN] if members[t, M_RIGHT] > 0.0 else _FLOOR
    return members[t, M_ALPHA] if how[F_VOTES] == VOTE_BY_ALPHA else 1.0


@called
def code(t: int, c: int) -> int:
    """The side, 0 or 1, on which member t's output code puts class c. Classes 2j and 2j + 1 are on different sides."""
    pair = np.empty(1, dtype=np.uint64)
    pair[0] = np.uint64(t) << np.uint64(32) | np.uint64(c >> 1)
    return int(np.int64(bits(pair, 0) >> np.uint64(63))) ^ (c & 1)


@compiled
def write_all(sums: Floats, y: Ints, events: Ints, known: int, out: Floats) -> None:
    """Write the summed votes as probabilities of the classes known at each event; no votes: all classes alike."""
    q = 0
    for e in events:
        if e < 0:
            known = max(known, y[~e] + 1)
            continue
        total = 0.0
        for c in range(known):
            total += sums[q, c]
        for c in range(known):
            out[e, c] = sums[q, c] / total if total > 0.0 else 1.0 / known
        q += 1


# -- sampling ----------------------------------------------------------------------------------------------------------


def odds(rate: float) -> Floats:
    """Make the table that ``poisson`` reads: where to begin for each 1/256 of [0, 1), then P(k ≤ 0), P(k ≤ 1), …"""
    terms, p, k = [], math.exp(-rate), 0
    total = 0.0
    while total + p > total or k <= rate:
        total += p
        terms.append(total)
        k += 1
        p *= rate / k
        if p < 1e-290:  # of a great rate: it must not stay 0
            p = math.exp(k * math.log(rate) - rate - math.lgamma(k + 1.0))
    below = np.array([*terms, math.inf])
    guide = np.searchsorted(below, np.arange(GUIDE) / GUIDE, side="right")
    return np.concatenate([guide.astype(np.float64), below])


@inlined
def poisson(table: Floats, dice: Seeds, t: int) -> float:
    """Draw from the Poisson distribution of the table, by inversion."""
    u = uniform(dice, t)
    k = int(table[int(u * GUIDE)])
    while u >= table[GUIDE + k]:
        k += 1
    return float(k)


@inlined
def sample(f: Team, t: int, right: bool, error: float) -> float:
    """Draw the weight that member t gives to a row, which it got right or not; error: its detector's estimate."""
    rule = f.how[F_SAMPLING]
    if rule == DRAW_POISSON:
        return poisson(f.odds, f.dice, t)
    if rule in (DRAW_ONCE, DRAW_BOOST):
        return 1.0
    if rule == DRAW_HALF:
        return 1.0 if uniform(f.dice, t) < 0.5 else 0.0
    if rule == DRAW_ONE_MORE:
        return 1.0 + poisson(f.odds, f.dice, t)
    if rule == DRAW_ANY:
        return 1.0 if poisson(f.odds, f.dice, t) > 0.0 else 0.0
    if not right or error >= 0.5:
        return 1.0
    return 1.0 if uniform(f.dice, t) < error / (1.0 - error) else 0.0


# -- replacing ---------------------------------------------------------------------------------------------------------


@called
def note(members: Floats, t: int) -> None:
    """Write down that member t's tree has been replaced."""
    n = int(members[t, M_DRIFTS])
    members[t, M_REPLACED + n % M_RING] = members[t, M_ROWS]
    members[t, M_DRIFTS] = n + 1.0
    members[t, M_SEEN] = 0.0
    members[t, M_RIGHT] = 0.0


@called
def warn_of(p: Trees, f: Team, t: int) -> None:
    """Begin a new background tree for member t: what a warning, with δw, does (Gomes et al. 2017)."""
    members = f.members
    back = int(members[t, M_BACK])
    clear_tree(p, back)
    draw_patch(p, back)
    forget(int(f.how[F_WARN]), f.warn, t)
    members[t, M_GROWS] = 1.0
    members[t, M_BACK_BORN] = members[t, M_ROWS]
    members[t, M_WARNINGS] += 1.0


@called
def replace_tree(p: Trees, f: Team, t: int) -> None:
    """Put the background tree in the place of member t's tree, or a new one where there is none.

    What a drift, with δd, does (Gomes et al. 2017).
    """
    members = f.members
    fore, back = int(members[t, M_FORE]), int(members[t, M_BACK])
    clear_tree(p, fore)
    forget(int(f.how[F_DRIFT]), f.drift, t)
    members[t, M_BORN] = members[t, M_ROWS]
    if members[t, M_GROWS] > 0.0:
        members[t, M_FORE], members[t, M_BACK], members[t, M_GROWS] = back, fore, 0.0
        members[t, M_BORN] = members[t, M_BACK_BORN]
        forget(int(f.how[F_WARN]), f.warn, t)
    else:
        draw_patch(p, fore)
    note(members, t)


@called
def worst(how: Floats, drift: Floats, size: int) -> int:
    """Find the member with the greatest error (the first among equals); -1: none has any."""
    most, at = 0.0, -1
    for t in range(size):
        error = mean_error(int(how[F_DRIFT]), drift, t)
        if error > most:
            most, at = error, t
    return at


# -- boosting ----------------------------------------------------------------------------------------------------------


@called
def boost(members: Floats, how: Floats, t: int, right: bool, votes: Floats, y: int, now: Floats) -> float:
    """Give the weight with which member t learns the row, and hand on the margin (Chen, Lin, Lu 2012)."""
    gamma = how[F_GAMMA]
    if t == 0:
        now[:] = 0.0
        now[NOW_WEIGHT] = 1.0
    weight = now[NOW_WEIGHT]
    members[t, M_HIT] = 1.0 if right else -1.0
    now[NOW_MARGIN] += members[t, M_HIT] - gamma / (2.0 + gamma)
    now[NOW_WEIGHT] = (
        1.0 if now[NOW_MARGIN] <= 0.0 else math.exp(now[NOW_MARGIN] * how[F_DECAY])
    )  # (1 - γ)^(margin / 2)
    if how[F_VARIANT] == BOOST_EXPONENTIAL:
        total = 0.0
        for c in range(len(votes)):
            total += votes[c]
        for c in range(min(len(votes), len(now) - NOW_VOTES)):
            now[NOW_VOTES + c] += votes[c] / total if total > 0.0 else 0.0
        together = now[NOW_VOTES:]
        best = greatest(together)
        members[t, M_PREFIX_HIT] = 1.0 if best == y and together[best] > 0.0 else -1.0
    return float(weight)


@called
def weigh(members: Floats, how: Floats) -> None:
    """Learn the weights of the votes after a row (OSBoost.OCP and OSBoost.EXP of the same paper)."""
    size, gamma = len(members), how[F_GAMMA]
    rate = 1.0 / math.sqrt(members[0, M_ROWS])
    if how[F_VARIANT] == BOOST_CONVEX:
        margin = 0.0
        for t in range(size):
            margin += members[t, M_ALPHA] * members[t, M_HIT]
        if margin < gamma / (2.0 + gamma):
            for t in range(size):
                members[t, M_ALPHA] += rate * members[t, M_HIT] / math.sqrt(float(size))
            onto_simplex(members)
        return
    rate *= math.sqrt(8.0 * math.log(max(2.0, float(size))))
    total = 0.0
    for t in range(size):
        if members[t, M_PREFIX_HIT] < 0.0:
            members[t, M_EXPERT] *= math.exp(-rate)
        total += members[t, M_EXPERT]
    tail = 0.0
    for t in range(size - 1, -1, -1):  # expert t is the mean of the first t + 1 members
        members[t, M_EXPERT] = max(members[t, M_EXPERT] / total, 1e-12)
        tail += members[t, M_EXPERT] / (t + 1.0)
        members[t, M_ALPHA] = tail


@called
def onto_simplex(members: Floats) -> None:
    """Move M_ALPHA to the nearest point with cells ≥ 0 that sum to 1: subtract the same from all, and cut at 0."""
    low, high = math.inf, -math.inf
    for t in range(len(members)):
        low, high = min(low, members[t, M_ALPHA]), max(high, members[t, M_ALPHA])
    low -= 1.0
    for _ in range(60):
        shift, total = 0.5 * (low + high), 0.0
        for t in range(len(members)):
            total += max(0.0, members[t, M_ALPHA] - shift)
        if total > 1.0:
            low = shift
        else:
            high = shift
    for t in range(len(members)):
        members[t, M_ALPHA] = max(0.0, members[t, M_ALPHA] - high)
