"""The loop over members and events for every forest. Members' tables are in members_jit.py, trees' in tables_jit.py.

Members of most forests do not look at each other. Then member after member plays all events (``apart``), which keeps
its leaves in the cache and lets threads share the work; the answer is the same as event after event. Where members
depend on each other, or share a limited memory, each event is played by all members before the next one.

| table | shape               | meaning                                                                            |
| sums  | predictions × C     | the votes, one row for each event that predicts                                    |
| now   | 4 + C               | what members hand on within a row: was a drift reported; boosting: margin, weight; |
|       |                     | then the votes of the members so far                                               |
"""

import math

from thalweg.detectors.any_jit import feed, mean_error
from thalweg.jit.compile import called, compiled, hot, inlined
from thalweg.jit.random import Seeds
from thalweg.learners.forests.members_jit import (
    ALL_FED,
    ALPHA,
    BACK,
    BACK_POISSON,
    BEFORE,
    BOOST,
    CODES,
    CONVEX,
    DECAY,
    DRIFT,
    EXPERT,
    EXPONENTIAL,
    FORE,
    GAMMA,
    GROWS,
    HIT,
    MISSED,
    NEVER,
    OWN,
    PLAIN,
    PREFIX_HIT,
    REPLACE,
    RIGHT,
    ROWS,
    SAMPLING,
    SEEN,
    VARIANT,
    WARN,
    WORST,
    code,
    replace,
    sample,
    say,
    warn_of,
)
from thalweg.pool.leaf_jit import Floats, Ints, Watched
from thalweg.pool.pool_jit import greatest, has_room, keeps, learn, vote
from thalweg.pool.tables_jit import Nodes, Trees, find

CHANGED, MARGIN, WEIGHT, VOTED = 0, 1, 2, 4
LEAF_AT, ABOVE, ANSWERED, BY_BAYES = 0, 1, 2, 3


@hot
def play(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints,
         rules: Floats, members: Floats, dice: Seeds, odds: Floats, warn: Floats, drift: Floats, warn_rules: Floats,
         drift_rules: Floats, how: Floats, X: Floats, y: Ints, w: Floats, events: Ints, sums: Floats, now: Floats,
         votes: Floats, logs: Floats, notes: Ints, known: int, start: int, apart: bool,
         first: int) -> int:  # fmt: skip
    """Play member × event steps from ``start`` on; the number done is less than all when a table must grow first.

    ``first``: the number of the first of these members in the forest.
    """
    p = Trees(nodes, tally, stats, watched, layout, rng, head, rules)
    size, n = len(members), len(events)
    need = 1 + int(how[WARN] >= 0.0)
    seen, q = known, 0  # classes known, and predictions made, before event k
    begin = True
    for t in range(size):
        notes[t, ANSWERED] = -1
    for step in range(start, size * n):
        t, k = (step // n, step % n) if apart else (step % size, step // size)
        if begin or (apart and k == 0):
            seen, q = before(events, y, known, k)
            begin = False
        e = events[k]
        r = e if e >= 0 else ~e
        fore = int(members[t, FORE])
        mine = votes[t]
        if e < 0:
            label = code(first + t, y[r]) if how[CODES] > 0.0 else y[r]
            if not has_room(p, need, X, r, label):
                return step
        if e >= 0 or notes[t, ANSWERED] != r:
            notes[t, LEAF_AT], notes[t, ABOVE] = find(p, fore, X, r, 0.0)
            notes[t, BY_BAYES] = vote(p, notes[t, LEAF_AT], notes[t, ABOVE], X, r, logs, mine)
        if e >= 0:
            notes[t, ANSWERED] = r if keeps(p, X, r) else -1
            add_votes(how, first + t, mine, say(members, how, t), sums, q)
            if apart or t == size - 1:
                q += 1
            continue
        notes[t, ANSWERED] = -1
        seen = max(seen, y[r] + 1)
        guess = greatest(mine)
        right = guess == label and mine[guess] > 0.0
        members[t, ROWS] += 1.0
        members[t, SEEN] += w[r]
        if right:
            members[t, RIGHT] += w[r]
        error = mean_error(int(how[DRIFT]), drift, t) if how[SAMPLING] == MISSED else 0.0
        chance = sample(how, odds, dice, t, right, error)
        if how[SAMPLING] == BOOST:
            chance = boost(members, how, t, right, mine, y[r], now)
        wrong = 0.0 if right else 1.0
        if chance > 0.0:
            by_fore = notes[t, BY_BAYES] > 0
            for role in range(1 + int(members[t, GROWS])):
                weight = chance * w[r] if role == 0 or how[BACK_POISSON] > 0.0 else w[r]
                tree = fore if role == 0 else int(members[t, BACK])
                i, _ = find(p, tree, X, r, weight)
                learn(p, tree, i, 2 if how[CODES] > 0.0 else seen, X, r, label, weight, by_fore, logs, mine)
                by_fore = False
        elif how[ALL_FED] == 0.0:
            continue
        if how[REPLACE] == NEVER:
            if how[SAMPLING] == BOOST and t == size - 1 and how[VARIANT] != PLAIN:
                weigh(members, how)
            continue
        if how[BEFORE] == 0.0:
            i, j = find(p, notes[t, LEAF_AT], X, r, 0.0)  # the leaf may have split
            if j < 0:
                j = notes[t, ABOVE]  # it has not
            vote(p, i, j, X, r, logs, mine)
            guess = greatest(mine)
            wrong = 1.0 if guess != label or mine[guess] == 0.0 else 0.0
        if how[WARN] >= 0.0 and feed(int(how[WARN]), warn, t, wrong, warn_rules) == 2:
            warn_of(p, members, how, warn, t)
        if feed(int(how[DRIFT]), drift, t, wrong, drift_rules) == 2:
            now[CHANGED] = 1.0
            if how[REPLACE] == OWN:
                replace(p, members, how, warn, drift, t)
        if how[REPLACE] == WORST and t == size - 1:
            if now[CHANGED] > 0.0:
                failing = worst(how, drift, size)
                if failing >= 0:
                    replace(p, members, how, warn, drift, failing)
            now[CHANGED] = 0.0
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


@inlined
def add_votes(how: Floats, t: int, votes: Floats, weight: float, sums: Floats, q: int) -> None:
    """Add member t's votes, scaled to a sum of ``weight``, to row q of ``sums``."""
    total = 0.0
    for c in range(len(votes)):
        total += votes[c]
    if total <= 0.0:
        return
    scale = weight / total
    if how[CODES] > 0.0:
        for c in range(sums.shape[1]):
            sums[q, c] += votes[code(t, c)] * scale
        return
    for c in range(min(len(votes), sums.shape[1])):
        sums[q, c] += votes[c] * scale


@called
def worst(how: Floats, drift: Floats, size: int) -> int:
    """Find the member with the greatest error (the first among equals); -1: none has any."""
    most, at = 0.0, -1
    for t in range(size):
        error = mean_error(int(how[DRIFT]), drift, t)
        if error > most:
            most, at = error, t
    return at


@called
def boost(members: Floats, how: Floats, t: int, right: bool, votes: Floats, y: int, now: Floats) -> float:
    """Give the weight with which member t learns the row, and hand on the margin (Chen, Lin, Lu 2012, algorithm 1)."""
    gamma = how[GAMMA]
    if t == 0:
        now[:] = 0.0
        now[WEIGHT] = 1.0
    weight = now[WEIGHT]
    members[t, HIT] = 1.0 if right else -1.0
    now[MARGIN] += members[t, HIT] - gamma / (2.0 + gamma)
    now[WEIGHT] = 1.0 if now[MARGIN] <= 0.0 else math.exp(now[MARGIN] * how[DECAY])  # (1 - γ)^(margin / 2)
    if how[VARIANT] == EXPONENTIAL:
        total = 0.0
        for c in range(len(votes)):
            total += votes[c]
        for c in range(min(len(votes), len(now) - VOTED)):
            now[VOTED + c] += votes[c] / total if total > 0.0 else 0.0
        together = now[VOTED:]
        best = greatest(together)
        members[t, PREFIX_HIT] = 1.0 if best == y and together[best] > 0.0 else -1.0
    return float(weight)


@called
def weigh(members: Floats, how: Floats) -> None:
    """Learn the weights of the votes after a row (section 4 of the same paper)."""
    size, gamma = len(members), how[GAMMA]
    rate = 1.0 / math.sqrt(members[0, ROWS])
    if how[VARIANT] == CONVEX:
        margin = 0.0
        for t in range(size):
            margin += members[t, ALPHA] * members[t, HIT]
        if margin < gamma / (2.0 + gamma):
            for t in range(size):
                members[t, ALPHA] += rate * members[t, HIT] / math.sqrt(float(size))
            onto_simplex(members)
        return
    rate *= math.sqrt(8.0 * math.log(max(2.0, float(size))))
    total = 0.0
    for t in range(size):
        if members[t, PREFIX_HIT] < 0.0:
            members[t, EXPERT] *= math.exp(-rate)
        total += members[t, EXPERT]
    tail = 0.0
    for t in range(size - 1, -1, -1):  # expert t is the mean of the first t + 1 members
        members[t, EXPERT] = max(members[t, EXPERT] / total, 1e-12)
        tail += members[t, EXPERT] / (t + 1.0)
        members[t, ALPHA] = tail


@called
def onto_simplex(members: Floats) -> None:
    """Move ALPHA to the nearest point with cells ≥ 0 that sum to 1: subtract the same from all, and cut at 0."""
    low, high = math.inf, -math.inf
    for t in range(len(members)):
        low, high = min(low, members[t, ALPHA]), max(high, members[t, ALPHA])
    low -= 1.0
    for _ in range(60):
        shift, total = 0.5 * (low + high), 0.0
        for t in range(len(members)):
            total += max(0.0, members[t, ALPHA] - shift)
        if total > 1.0:
            low = shift
        else:
            high = shift
    for t in range(len(members)):
        members[t, ALPHA] = max(0.0, members[t, ALPHA] - high)


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
