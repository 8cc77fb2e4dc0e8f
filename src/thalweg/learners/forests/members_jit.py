"""What a member of a forest is: two trees of the pool, a record, and the weight it gives to a row.

members[t], one row of float64 per member:

| column | name         | meaning                                                                              |
| 0      | FORE         | number of its tree in the pool                                                       |
| 1      | BACK         | number of the tree that is kept for the background                                   |
| 2      | GROWS        | 1 while the background tree learns, after a warning                                  |
| 3      | SEEN         | weight of the rows that its tree has been tested on                                  |
| 4      | RIGHT        | weight of those it got right                                                         |
| 5      | ROWS         | rows met so far                                                                      |
| 6      | BORN         | ROWS when its tree began                                                             |
| 7      | BACK_BORN    | ROWS when its background tree began                                                  |
| 8      | WARNINGS     | warnings so far                                                                      |
| 9      | DRIFTS       | replacements so far                                                                  |
| 10     | ALPHA        | weight of its vote (boosting)                                                        |
| 11     | EXPERT       | weight of the first t + 1 members as one expert (boosting by exponential weights)     |
| 12     | HIT          | was it right about the present row? +1 or -1                                         |
| 13     | PREFIX_HIT   | were the first t + 1 members together? +1 or -1                                      |
| 14 …   | REPLACED     | ROWS at the latest replacements, a ring of KEPT                                      |

how, the rules of a forest as numbers: see the names below. odds: a table of the Poisson distribution, see ``odds``.
"""

import math

import numpy as np

from thalweg.detectors.any_jit import forget
from thalweg.jit.compile import called, inlined
from thalweg.jit.random import Seeds, bits, uniform
from thalweg.pool.leaf_jit import Floats
from thalweg.pool.tables_jit import Trees, clear_tree, draw_patch

FORE, BACK, GROWS, SEEN, RIGHT, ROWS, BORN, BACK_BORN, WARNINGS, DRIFTS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
ALPHA, EXPERT, HIT, PREFIX_HIT, REPLACED = 10, 11, 12, 13, 14
KEPT = 18
COLUMNS = REPLACED + KEPT

SAMPLING, RATE, REPLACE, WARN, DRIFT, BEFORE, BACK_POISSON, VOTES, ALL_FED, CODES = range(10)
GAMMA, DECAY, VARIANT, RULES = range(10, 14)
"""Cells of ``how``: codes of the rules below; the rate of Poisson; codes of the detectors (-1: none); flags;
GAMMA and DECAY = ½ ln(1 - γ) of boosting."""
ONCE, POISSON, HALF, ONE_MORE, ANY, MISSED, BOOST = 0, 1, 2, 3, 4, 5, 6
"""SAMPLING: weight 1; Poisson(rate); 1 or 0 by a coin; 1 + Poisson; 1 if Poisson > 0; what is missed; boosting."""
NEVER, OWN, WORST = 0, 1, 2
"""REPLACE: never; a member whose detector reports a drift; the worst member when any detector reports one."""
EQUAL, BY_ACCURACY, BY_ALPHA = 0, 1, 2
"""VOTES: how members are weighed."""
PLAIN, CONVEX, EXPONENTIAL = 0, 1, 2
"""VARIANT of boosting: how ALPHA is learned."""

GUIDE = 256
_FLOOR = 0.01  # vote of a member that has no record yet, or was never right


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
def sample(how: Floats, table: Floats, dice: Seeds, t: int, right: bool, error: float) -> float:
    """Draw the weight that member t gives to a row, which it got right or not; error: its detector's estimate."""
    rule = how[SAMPLING]
    if rule == POISSON:
        return poisson(table, dice, t)
    if rule in (ONCE, BOOST):
        return 1.0
    if rule == HALF:
        return 1.0 if uniform(dice, t) < 0.5 else 0.0
    if rule == ONE_MORE:
        return 1.0 + poisson(table, dice, t)
    if rule == ANY:
        return 1.0 if poisson(table, dice, t) > 0.0 else 0.0
    if not right or error >= 0.5:
        return 1.0
    return 1.0 if uniform(dice, t) < error / (1.0 - error) else 0.0


@inlined
def say(members: Floats, how: Floats, t: int) -> float:
    """The weight of member t's vote."""
    if how[VOTES] == BY_ACCURACY:
        return members[t, RIGHT] / members[t, SEEN] if members[t, RIGHT] > 0.0 else _FLOOR
    return members[t, ALPHA] if how[VOTES] == BY_ALPHA else 1.0


@called
def code(t: int, c: int) -> int:
    """The side, 0 or 1, on which member t's output code puts class c. Classes 2j and 2j + 1 are on different sides."""
    pair = np.empty(1, dtype=np.uint64)
    pair[0] = np.uint64(t) << np.uint64(32) | np.uint64(c >> 1)
    return int(np.int64(bits(pair, 0) >> np.uint64(63))) ^ (c & 1)


@called
def note(members: Floats, t: int) -> None:
    """Write down that member t's tree has been replaced."""
    n = int(members[t, DRIFTS])
    members[t, REPLACED + n % KEPT] = members[t, ROWS]
    members[t, DRIFTS] = n + 1.0
    members[t, SEEN] = 0.0
    members[t, RIGHT] = 0.0


@called
def warn_of(p: Trees, members: Floats, how: Floats, warn: Floats, t: int) -> None:
    """Begin a new background tree for member t."""
    back = int(members[t, BACK])
    clear_tree(p, back)
    draw_patch(p, back)
    forget(int(how[WARN]), warn, t)
    members[t, GROWS] = 1.0
    members[t, BACK_BORN] = members[t, ROWS]
    members[t, WARNINGS] += 1.0


@called
def replace(p: Trees, members: Floats, how: Floats, warn: Floats, drift: Floats, t: int) -> None:
    """Put the background tree in the place of member t's tree, or a new one where there is none."""
    fore, back = int(members[t, FORE]), int(members[t, BACK])
    clear_tree(p, fore)
    forget(int(how[DRIFT]), drift, t)
    members[t, BORN] = members[t, ROWS]
    if members[t, GROWS] > 0.0:
        members[t, FORE], members[t, BACK], members[t, GROWS] = back, fore, 0.0
        members[t, BORN] = members[t, BACK_BORN]
        forget(int(how[WARN]), warn, t)
    else:
        draw_patch(p, fore)
    note(members, t)
