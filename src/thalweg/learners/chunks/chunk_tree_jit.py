"""A decision tree from one chunk of rows, after C4.5: entropy, gain ratio, pessimistic pruning.

| table   | shape        | dtype   | meaning                                                                       |
| order   | d × n        | int64   | the rows in the order of each feature, missing values last; those of a node    |
|         |              |         | lie side by side                                                              |
| values  | d            | int64   | branches of a nominal feature; 0: numeric                                     |
| spans   | nodes × 2    | int64   | the first row of a node in ``order``, and the end                             |
| links   | nodes × 4    | int64   | feature code, first child, branches, branch for missing values                |
| cuts    | nodes        | float64 | threshold of a numeric test                                                   |
| counts  | nodes × C    | float64 | class weights                                                                 |

Children have higher numbers than their parents. Gains are in bits times weight until the node's weight divides them.
Gains closer to each other than TIE are equal: the first feature and the lowest threshold win, however sums round.
"""

import math

import numpy as np

from thalweg.jit.compile import called, compiled, inlined
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import LEAF, NODE, Nodes, arity, feature_of, left_of

FEATURE, FIRST, BRANCHES, MISSING = 0, 1, 2, 3
TIE = 1e-9
_SUM_TIE = 1e-7
_SLACK = 0.1
"""A subtree must be expected to save more errors than this (Quinlan 1993)."""


@inlined
def part(n: float) -> float:
    """The term n log2 n of an entropy."""
    return n * math.log2(n) if n > 0.0 else 0.0


@called
def cut_number(
    X: Floats, y: Ints, w: Floats, rows: Ints, f: int, total: float, least: float, best: Floats, sides: Floats
) -> None:
    """Find the threshold of most gain; write gain, gain ratio and threshold to ``best`` (gain 0: there is none)."""
    best[0], best[1], best[2] = 0.0, 0.0, 0.0
    classes = sides.shape[1]
    sides[:] = 0.0  # class weights left and right, and their terms
    known, n = 0.0, 0
    for r in rows:
        if X[r, f] != X[r, f]:
            break
        sides[1, y[r]] += w[r]
        known += w[r]
        n += 1
    before, after_left, after_right = part(known), 0.0, 0.0
    for c in range(classes):
        sides[3, c] = part(sides[1, c])
        after_right += sides[3, c]
    before -= after_right
    left, right, most, tries, where, left_there = 0.0, known, _SUM_TIE, 0, -1, 0.0
    for k in range(n - 1):
        r = rows[k]
        c = y[r]
        left += w[r]
        right -= w[r]
        sides[0, c] += w[r]
        sides[1, c] -= w[r]
        a, b = part(sides[0, c]), part(sides[1, c])
        after_left += a - sides[2, c]
        after_right += b - sides[3, c]
        sides[2, c], sides[3, c] = a, b
        if X[rows[k + 1], f] > X[r, f] and left >= least and right >= least:
            tries += 1
            gain = before - (part(left) - after_left) - (part(right) - after_right)
            if gain > most + _SUM_TIE:
                most, where, left_there = gain, k, left
    if where < 0:
        return
    gain = (most - math.log2(tries)) / total  # Quinlan 1996: what it takes to say which threshold
    right = known - left_there
    if gain > TIE:
        info = (part(total) - part(left_there) - part(right) - part(total - known)) / total
        low, high = X[rows[where], f], X[rows[where + 1], f]
        t = 0.5 * low + 0.5 * high
        best[0], best[1], best[2] = gain, gain / info, t if low <= t < high else low


@called
def cut_values(
    X: Floats, y: Ints, w: Floats, rows: Ints, f: int, total: float, least: float, best: Floats, table: Floats
) -> None:
    """Weigh the test with a branch for each value of a nominal feature; write gain and gain ratio to ``best``."""
    best[0], best[1], best[2] = 0.0, 0.0, 0.0
    table[:] = 0.0
    k, classes = len(table) - 1, table.shape[1]
    known = 0.0
    for r in rows:
        if X[r, f] == X[r, f]:
            table[int(X[r, f]), y[r]] += w[r]
            known += w[r]
    gain, info, large = part(known), part(total) - part(total - known), 0
    for c in range(classes):
        for v in range(k):
            table[k, c] += table[v, c]
        gain -= part(table[k, c])
    for v in range(k):
        weight, terms = 0.0, 0.0
        for c in range(classes):
            weight += table[v, c]
            terms += part(table[v, c])
        gain -= part(weight) - terms
        info -= part(weight)
        large += int(weight >= least)
    if large >= 2 and gain > _SUM_TIE and gain / total > TIE:
        best[0], best[1] = gain / total, gain / info


@called
def best_test(
    X: Floats, y: Ints, w: Floats, order: Ints, values: Ints, low: int, high: int, total: float, least: float,
    found: Floats, sides: Floats,
) -> int:  # fmt: skip
    """Choose the feature of highest gain ratio among those of at least average gain; -1: none has any."""
    d, classes = len(values), sides.shape[1]
    gains, some = 0.0, 0
    for f in range(d):
        if values[f] == 0:
            cut_number(X, y, w, order[f, low:high], f, total, least, found[f], sides)
        else:
            cut_values(X, y, w, order[f, low:high], f, total, least, found[f], np.empty((int(values[f]) + 1, classes)))
        if found[f, 0] > 0.0:
            gains += found[f, 0]
            some += 1
    chosen = -1
    for f in range(d):
        if found[f, 0] > 0.0 and found[f, 0] >= gains / some - TIE:
            if chosen < 0 or found[f, 1] > found[chosen, 1] + TIE:
                chosen = f
    return chosen


@called
def divide(order: Ints, low: int, high: int, goes: Ints, starts: Ints, spare: Ints) -> None:
    """Put the rows of each branch side by side in the order of every feature. starts: the first place of each."""
    at = np.empty_like(starts)
    for f in range(len(order)):
        at[:] = starts
        for k in range(low, high):
            r = order[f, k]
            b = goes[r]
            spare[at[b]] = r
            at[b] += 1
        order[f, low:high] = spare[low:high]


@compiled
def grow(
    X: Floats, y: Ints, w: Floats, order: Ints, values: Ints, classes: int, least: float
) -> tuple[Ints, Floats, Floats]:
    """Grow a tree until no test gains anything; give ``links``, ``cuts`` and ``counts``. ``order`` is used up."""
    n, d, room = len(X), len(values), 64
    spans, links = np.zeros((room, 2), dtype=np.int64), np.zeros((room, 4), dtype=np.int64)
    cuts, counts = np.zeros(room), np.zeros((room, classes))
    goes, spare = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    found, sides = np.zeros((d, 3)), np.zeros((4, classes))
    spans[0, 1], links[0, FEATURE], used = n, LEAF, 1
    for r in range(n):
        counts[0, y[r]] += w[r]
    i = 0
    while i < used:
        low, high = spans[i, 0], spans[i, 1]
        total, heaviest = 0.0, 0.0
        for c in range(classes):
            total += counts[i, c]
            heaviest = max(heaviest, counts[i, c])
        f = -1
        if total >= 2.0 * least and heaviest < total and d > 0:
            f = best_test(X, y, w, order, values, low, high, total, least, found, sides)
        if f >= 0:
            k = 2 if values[f] == 0 else int(values[f])
            if used + k > room:
                more = max(2 * room, used + k)
                spans2, links2 = np.zeros((more, 2), dtype=np.int64), np.zeros((more, 4), dtype=np.int64)
                cuts2, counts2 = np.zeros(more), np.zeros((more, classes))
                spans2[:used], links2[:used], cuts2[:used], counts2[:used] = (
                    spans[:used], links[:used], cuts[:used], counts[:used]
                )  # fmt: skip
                spans, links, cuts, counts, room = spans2, links2, cuts2, counts2, more
            cuts[i] = found[f, 2]
            weights, sizes = np.zeros(k), np.zeros(k + 1, dtype=np.int64)
            for at in range(low, high):
                r = order[f, at]
                v = X[r, f]
                goes[r] = -1 if v != v else int(v > cuts[i]) if values[f] == 0 else int(v)
                if goes[r] >= 0:
                    weights[goes[r]] += w[r]
            heavy = 0
            for b in range(1, k):
                if weights[b] > weights[heavy]:
                    heavy = b
            links[i, FEATURE] = f if values[f] == 0 else -2 - f
            links[i, FIRST], links[i, BRANCHES], links[i, MISSING] = used, k, heavy
            for at in range(low, high):
                r = order[f, at]
                if goes[r] < 0:
                    goes[r] = heavy
                counts[used + goes[r], y[r]] += w[r]
                sizes[goes[r] + 1] += 1
            sizes[0] = low
            for b in range(k):
                sizes[b + 1] += sizes[b]
                spans[used + b, 0], spans[used + b, 1] = sizes[b], sizes[b + 1]
                links[used + b, FEATURE] = LEAF
            divide(order, low, high, goes, sizes[:k].copy(), spare)
            used += k
        i += 1
    return links[:used].copy(), cuts[:used].copy(), counts[:used].copy()


# -- pruning ----------------------------------------------------------------------------------------------------------


@inlined
def more_errors(n: float, e: float, confidence: float, z: float) -> float:
    """How many errors, beyond the e among n rows that were seen, a leaf is believed to make (Quinlan 1993, ch. 4)."""
    none = n * (1.0 - math.exp(math.log(confidence) / n))
    if e < 1e-6:
        return none
    one = max(e, 1.0)
    if one + 0.5 >= n:
        some = 0.67 * (n - one)
    else:
        wide = math.sqrt((one + 0.5) * (1.0 - (one + 0.5) / n) + 0.25 * z * z)
        some = n * (one + 0.5 + 0.5 * z * z + z * wide) / (n + z * z) - one
    return some if e >= 1.0 else none + e * (some - none)


@compiled
def prune(links: Ints, counts: Floats, confidence: float, z: float) -> None:
    """Make a leaf of every node whose branches are not believed to err less than it would."""
    believed = np.zeros(len(links))
    for i in range(len(links) - 1, -1, -1):
        n, heaviest = 0.0, 0.0
        for c in range(counts.shape[1]):
            n += counts[i, c]
            heaviest = max(heaviest, counts[i, c])
        alone = n - heaviest + more_errors(n, n - heaviest, confidence, z) if n > 0.0 else 0.0
        believed[i] = alone
        if links[i, FEATURE] != LEAF:
            below = 0.0
            for child in range(links[i, FIRST], links[i, FIRST] + links[i, BRANCHES]):
                below += believed[child]
            if alone <= below + _SLACK:
                links[i, FEATURE] = LEAF
            else:
                believed[i] = below


@compiled
def finish(links: Ints, cuts: Floats, counts: Floats) -> tuple[Nodes, Ints, Floats, Floats]:
    """Copy what pruning left: nodes and ``missing`` as in index/trees_jit.py, votes and weight of each leaf.

    A leaf that no row came to votes as its parent would.
    """
    classes = counts.shape[1]
    order, above = np.zeros(len(links), dtype=np.int64), np.zeros(len(links), dtype=np.int64)
    n, leaves, k = 1, 0, 0
    while k < n:
        i = order[k]
        if links[i, FEATURE] == LEAF:
            leaves += 1
        else:
            for child in range(links[i, FIRST], links[i, FIRST] + links[i, BRANCHES]):
                order[n], above[n] = child, i
                n += 1
        k += 1
    nodes, missing = np.empty(n, dtype=NODE), np.full(n, -1, dtype=np.int64)
    votes, support = np.zeros((leaves, classes)), np.zeros(leaves)
    first, leaf = 1, 0
    for k in range(n):
        i = order[k]
        f = links[i, FEATURE]
        nodes[k]["feature"] = f
        if f == LEAF:
            nodes[k]["threshold"], nodes[k]["left"] = 0.0, leaf
            for c in range(classes):
                support[leaf] += counts[i, c]
            source, total = i if support[leaf] > 0.0 else above[k], 0.0
            for c in range(classes):
                total += counts[source, c]
            for c in range(classes):
                votes[leaf, c] = counts[source, c] / total if total > 0.0 else 1.0 / classes
            leaf += 1
        else:
            nodes[k]["threshold"] = cuts[i] if f >= 0 else -float(links[i, BRANCHES])
            nodes[k]["left"] = first
            missing[k] = first + links[i, MISSING]
            first += links[i, BRANCHES]
    return nodes, missing, votes, support


@compiled
def squared_errors(nodes: Nodes, missing: Ints, votes: Floats, X: Floats, y: Ints, w: Floats) -> float:
    """Add up, over weighted rows, the square of what a tree lacks of certainty in the true class."""
    total = 0.0
    for r in range(len(X)):
        i = 0
        f = feature_of(nodes, i)
        while f != LEAF:
            v, t = X[r, f if f >= 0 else -2 - f], nodes[i]["threshold"]
            if v != v or (f < 0 and t < 0.0 and int(v) >= arity(nodes, i)):
                i = missing[i]
            elif f >= 0:
                i = left_of(nodes, i) + int(v > t)
            else:
                i = left_of(nodes, i) + (int(v) if t < 0.0 else int(v != t))
            f = feature_of(nodes, i)
        miss = 1.0 - (votes[left_of(nodes, i), y[r]] if y[r] < votes.shape[1] else 0.0)
        total += w[r] * miss * miss
    return total
