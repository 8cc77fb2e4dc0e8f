"""Trees on binned numbers: the loop over events, and the tables of m trees that share arrays."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.argmax import first_greatest
from thalweg.jit.compile import hot, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


NODE_FEATURE, NODE_NEXT, NODE_DEPTH = range(3)
LEAF = -1
LEAF_WEIGHT, LEAF_TRIED, LEAF_MAJORITY_RIGHT, LEAF_BAYES_RIGHT = range(4)
PLANE_ALL, PLANE_OWN = range(2)
TREE_LEAVES, TREE_FEATURES = range(2)


class Tables(NamedTuple):
    """All that T trees are, with 2 L - 1 nodes and L leaves each, on S features in B bins at most, with K classes.

    Where leaves use naive Bayes there are P = 2 planes of counts: PLANE_ALL with what was inherited from the parent,
    and PLANE_OWN; else P = 1, PLANE_OWN only.
    """

    thresholds: Annotated[Floats, table("T", "2 * L - 1")]
    """A row goes left if its value is at most this."""
    links: Annotated[
        Ints,
        table(
            "T",
            "2 * L - 1",
            3,
            cells={
                NODE_FEATURE: span(LEAF, "max(S, 1) - 1"),
                NODE_NEXT: span(0, "2 * L - 2"),
                NODE_DEPTH: span(0, "2 * L - 2"),
            },
        ),
    ]
    """Feature (-1: leaf); left child (the right one is next) or leaf; depth."""
    leaves: Annotated[Floats, table("T", "L", 4, least=0)]
    """Own weight, that of the last attempt, weight of rows that the majority or naive Bayes got right."""
    classes: Annotated[Floats, table("T", "L", 2, "K", least=0)]
    """Class weights, inherited ones included (PLANE_ALL); of its own rows (PLANE_OWN)."""
    counts: Annotated[Floats, table("T", "L", "S", "B", "P", "K", least=0)]
    """Weight of each class in each bin."""
    totals: Annotated[Floats, table("T", "L", "S * (P - 1)", "K", least=0)]
    """Sum over the bins of PLANE_ALL; without naive Bayes no features."""
    cuts: Annotated[Floats, table("T", "S", "W", loose=True)]
    """Cut points, ascending, then infinity; W + 1 is a power of 2."""
    n_cuts: Annotated[Ints, table("T", "S", least=0, most="B - 1")]
    """How many; 0: the feature is not used."""
    gains: Annotated[Floats, table("T", "S", least=0)]
    """Sum of the gains of the splits on each feature."""
    sizes: Annotated[Ints, table("T", 2, cells={TREE_LEAVES: span(1, "L"), TREE_FEATURES: span(0, "S")})]
    """Leaves; features."""


class Scratch(NamedTuple):
    """Room to work in, which holds nothing between two calls."""

    bins: Ints
    """S: the bin of each value of a row."""
    p: Floats
    """K: what naive Bayes says."""
    left: Floats
    """K: class weights on one side of a split. right: on the other."""
    right: Floats
    found: Floats
    """FOUND: what a search for a split finds."""


MCDIARMID, GAUSSIAN, LCB, HOEFFDING = range(4)
"""Codes of the bounds."""
MAJORITY, BAYES, ADAPTIVE = range(3)
"""Codes of the ways in which leaves answer."""
RULE_BOUND, RULE_LOG_DELTA, RULE_Z, RULE_GRACE, RULE_TAU, RULE_ANSWER, RULE_MAX_LEAVES, RULE_MAX_DEPTH = range(8)
RULES = 8
"""Places in ``rules``; RULE_LOG_DELTA: ln(1/δ); RULE_Z: the normal quantile of 1 - δ."""
NOTE_KNOWN, NOTE_ROW, NOTE_NODE, NOTE_SAID = range(4)
NOTES = 4
"""Between events: classes known; the row that was placed last (-1: none), its node, what naive Bayes said of it."""
BEST_GAIN, BEST_ERROR, BEST_FEATURE, BEST_CUT, BEST_WEIGHT, SECOND_GAIN, SECOND_ERROR = range(7)
FOUND = 7
"""What a search finds: the best split's gain, standard error, feature, cut, weight; the second best feature's gain."""

SMALL = 1e-100
LEAST_GAIN = 1e-9
"""A gain below it may be nothing but rounding."""


# -- a row finds its place --------------------------------------------------------------------------------------------


@inlined
def find(thresholds: Floats, links: Ints, t: int, x: Floats) -> int:
    """Give the node in which a row ends."""
    i = 0
    while links[t, i, NODE_FEATURE] >= 0:
        i = links[t, i, NODE_NEXT] + (0 if x[links[t, i, NODE_FEATURE]] <= thresholds[t, i] else 1)
    return i


@inlined
def place(cuts: Floats, n_cuts: Ints, t: int, d: int, x: Floats, bins: Ints) -> None:
    """Find the bin of each value: the number of cuts below it; -1 where it is missing or the feature is not used."""
    half = (cuts.shape[2] + 1) // 2
    for f in range(d):
        v, b, step = x[f], 0, half
        while step > 0:
            if cuts[t, f, b + step - 1] < v:
                b += step
            step //= 2
        bins[f] = b if n_cuts[t, f] > 0 and v == v else -1


# -- what a leaf says -------------------------------------------------------------------------------------------------


@inlined
def weigh(classes: Floats, counts: Floats, totals: Floats, n_cuts: Ints, t: int, s: int, d: int, bins: Ints,
          p: Floats) -> int:  # fmt: skip
    """Naive Bayes with Laplace's correction: p_k ∝ n_k Π (n_bk + 1) / (n_k + bins). Give the most probable class."""
    K = classes.shape[3]
    for k in range(K):
        p[k] = classes[t, s, PLANE_ALL, k]
    for f in range(d):
        b = bins[f]
        if b < 0:
            continue
        most, n_bins = 0.0, n_cuts[t, f] + 1.0
        for k in range(K):
            p[k] = p[k] * ((counts[t, s, f, b, PLANE_ALL, k] + 1.0) / (totals[t, s, f, k] + n_bins))
            most = max(most, p[k])
        while 0.0 < most < SMALL:
            most /= SMALL
            for k in range(K):
                p[k] /= SMALL
    return first_greatest(p, K)


@inlined
def believes(leaves: Floats, t: int, s: int, answer: int) -> bool:
    """Does the leaf answer by naive Bayes?"""
    return answer == BAYES or (
        answer == ADAPTIVE and leaves[t, s, LEAF_BAYES_RIGHT] >= leaves[t, s, LEAF_MAJORITY_RIGHT]
    )


@inlined
def tell(weights: Floats, known: int, added: float, out: Floats) -> None:
    """Turn weights into probabilities of the known classes; each has ``added`` weight more."""
    n = 0.0
    for k in range(min(known, len(weights))):
        n += weights[k]
    n += added * known
    for k in range(known):
        v = weights[k] + added if k < len(weights) else added
        out[k] = v / n if n > 0.0 else 1.0 / known


# -- splitting --------------------------------------------------------------------------------------------------------


@inlined
def add_up(counts: Floats, t: int, s: int, f: int, first: int, end: int, plane: int, total: Floats) -> None:
    """Sum the bins from ``first`` to before ``end`` by class."""
    for k in range(len(total)):
        total[k] = 0.0
    for b in range(first, end):
        for k in range(len(total)):
            total[k] += counts[t, s, f, b, plane, k]


@inlined
def gain_of(left: Floats, total: Floats, n: float, squares: float) -> float:
    """Gini gain of a split, Σ_q Σ_k n_qk² / (n_q n) - Σ_k n_k² / n²; 0 where a side is empty."""
    nl, nr, sl, sr = 0.0, 0.0, 0.0, 0.0
    for k in range(len(left)):
        a = left[k]
        c = total[k] - a
        nl += a
        nr += c
        sl += a * a
        sr += c * c
    if nl <= 0.0 or nr <= 0.0:
        return 0.0
    return (sl / nl + sr / nr) / n - squares / (n * n)


@inlined
def error_of(left: Floats, total: Floats, n: float) -> float:
    """Standard error of that gain by the delta method on the 2 K shares of its cells."""
    pl, pr, sl, sr = 0.0, 0.0, 0.0, 0.0
    for k in range(len(left)):
        a, c = left[k] / n, (total[k] - left[k]) / n
        pl += a
        pr += c
        sl += a * a
        sr += c * c
    mean, square = 0.0, 0.0
    for k in range(len(left)):
        a, c = left[k] / n, (total[k] - left[k]) / n
        g = 2.0 * a / pl - sl / (pl * pl) - 2.0 * (total[k] / n)
        h = 2.0 * c / pr - sr / (pr * pr) - 2.0 * (total[k] / n)
        mean += a * g + c * h
        square += a * g * g + c * h * h
    return math.sqrt(max(0.0, square - mean * mean) / n)


@hot
def error_at(counts: Floats, t: int, s: int, f: int, cut: int, end: int, left: Floats, total: Floats) -> float:
    """Standard error of the gain of one split of a leaf."""
    own = counts.shape[4] - 1
    add_up(counts, t, s, f, 0, end, own, total)
    add_up(counts, t, s, f, 0, cut + 1, own, left)
    n = 0.0
    for k in range(len(total)):
        n += total[k]
    return error_of(left, total, n)


@hot
def search(counts: Floats, n_cuts: Ints, t: int, s: int, d: int, left: Floats, total: Floats, found: Floats) -> None:
    """Find a leaf's best split, and that of the second best feature. Not to split, a gain of 0, counts as a feature."""
    own = counts.shape[4] - 1
    found[:] = 0.0
    found[BEST_FEATURE], second, second_cut = LEAF, -1, 0
    for f in range(d):
        end = n_cuts[t, f] + 1
        add_up(counts, t, s, f, 0, end, own, total)
        n, squares = 0.0, 0.0
        for k in range(len(total)):
            n += total[k]
            squares += total[k] * total[k]
            left[k] = 0.0
        if n <= 0.0:
            continue
        best, cut = 0.0, 0
        for b in range(end - 1):
            for k in range(len(left)):
                left[k] += counts[t, s, f, b, own, k]
            gain = gain_of(left, total, n, squares)
            if gain > best:
                best, cut = gain, b
        if best > found[BEST_GAIN]:
            second, second_cut, found[SECOND_GAIN] = int(found[BEST_FEATURE]), int(found[BEST_CUT]), found[BEST_GAIN]
            found[BEST_GAIN], found[BEST_FEATURE], found[BEST_CUT], found[BEST_WEIGHT] = best, f, cut, n
        elif best > found[SECOND_GAIN]:
            second, second_cut, found[SECOND_GAIN] = f, cut, best
    f = int(found[BEST_FEATURE])
    if f >= 0:
        found[BEST_ERROR] = error_at(counts, t, s, f, int(found[BEST_CUT]), n_cuts[t, f] + 1, left, total)
    if second >= 0:
        found[SECOND_ERROR] = error_at(counts, t, s, second, second_cut, n_cuts[t, second] + 1, left, total)


@inlined
def decide(found: Floats, rules: Floats) -> bool:
    """Is the best split good enough? See the bounds in binned.py."""
    gain, n, bound = found[BEST_GAIN], found[BEST_WEIGHT], int(rules[RULE_BOUND])
    if not gain > LEAST_GAIN:
        return False
    if bound == MCDIARMID:  # ε = √(8 ln(1/δ) / n), Krawczyk 2021
        epsilon = math.sqrt(8.0 * rules[RULE_LOG_DELTA] / n)
    elif bound == HOEFFDING:  # ε = √(ln(1/δ) / 2n), range 1
        epsilon = math.sqrt(rules[RULE_LOG_DELTA] / (2.0 * n))
    else:  # ε = z (se a + se b)
        epsilon = rules[RULE_Z] * (found[BEST_ERROR] + found[SECOND_ERROR])
    if gain - found[SECOND_GAIN] > epsilon:
        return True
    if bound == LCB:
        return bool(n >= 2.0 * rules[RULE_GRACE] and gain - rules[RULE_Z] * found[BEST_ERROR] > rules[RULE_TAU])
    return bool(epsilon < rules[RULE_TAU] < gain)


@hot
def split(trees: Tables, t: int, i: int, left: Floats, right: Floats, found: Floats) -> None:
    """Turn leaf i into a split. The left child takes its row of counts, the right one a new row.

    Class weights go to the children as the counts of the feature say; for naive Bayes so do the counts of all other
    features, class by class.
    """
    thresholds, links, leaves, classes, counts, totals, cuts, n_cuts, gains, sizes = trees
    f, cut, s, r = int(found[BEST_FEATURE]), int(found[BEST_CUT]), links[t, i, NODE_NEXT], sizes[t, TREE_LEAVES]
    K, inherit = classes.shape[3], counts.shape[4] == 2
    add_up(counts, t, s, f, 0, cut + 1, 0, left)
    add_up(counts, t, s, f, cut + 1, n_cuts[t, f] + 1, 0, right)
    nl, nr = 0.0, 0.0
    for k in range(K):
        nl += left[k]
        nr += right[k]
    for k in range(K):
        n = left[k] + right[k]
        left[k] = left[k] / n if n > 0.0 else nl / (nl + nr)  # from now on the left child's share of the class
        whole = classes[t, s, PLANE_ALL, k]
        classes[t, s, PLANE_ALL, k], classes[t, r, PLANE_ALL, k] = whole * left[k], whole * (1.0 - left[k])
        classes[t, s, PLANE_OWN, k], classes[t, r, PLANE_OWN, k] = 0.0, 0.0
    for g in range(sizes[t, TREE_FEATURES]):
        for b in range(n_cuts[t, g] + 1):
            for k in range(K):
                v, part = counts[t, s, g, b, 0, k], left[k]
                if g == f:
                    part = 1.0 if b <= cut else 0.0
                if inherit:
                    counts[t, s, g, b, PLANE_ALL, k], counts[t, r, g, b, PLANE_ALL, k] = v * part, v * (1.0 - part)
                    counts[t, s, g, b, PLANE_OWN, k] = 0.0
                else:
                    counts[t, s, g, b, 0, k] = 0.0
        for k in range(K if inherit else 0):
            v = totals[t, s, g, k]
            totals[t, s, g, k], totals[t, r, g, k] = v * left[k], v * (1.0 - left[k])
    first = 2 * r - 1
    for c in range(2):
        child, slot = first + c, r if c == 1 else s
        links[t, child, NODE_FEATURE], links[t, child, NODE_NEXT], links[t, child, NODE_DEPTH] = (
            LEAF,
            slot,
            links[t, i, NODE_DEPTH] + 1,
        )
        leaves[t, slot, :] = 0.0
    links[t, i, NODE_FEATURE], links[t, i, NODE_NEXT] = f, first
    thresholds[t, i] = cuts[t, f, cut]
    gains[t, f] += found[BEST_GAIN]
    sizes[t, TREE_LEAVES] = r + 1


# -- learning ---------------------------------------------------------------------------------------------------------


@inlined
def learn(leaves: Floats, classes: Floats, counts: Floats, totals: Floats, t: int, s: int, d: int, bins: Ints, y: int,
          w: float) -> None:  # fmt: skip
    """Count a row in a leaf."""
    planes = counts.shape[4]
    leaves[t, s, LEAF_WEIGHT] += w
    classes[t, s, PLANE_ALL, y] += w
    classes[t, s, PLANE_OWN, y] += w
    for f in range(d):
        b = bins[f]
        if b >= 0:
            counts[t, s, f, b, 0, y] += w
            if planes == 2:
                counts[t, s, f, b, PLANE_OWN, y] += w
                totals[t, s, f, y] += w


@inlined
def is_due(links: Ints, leaves: Floats, classes: Floats, sizes: Ints, rules: Floats, t: int, i: int, s: int) -> bool:
    """Is it time for an attempt to split, and may there be more leaves? Leaves with one class wait."""
    if (
        leaves[t, s, LEAF_WEIGHT] - leaves[t, s, LEAF_TRIED] < rules[RULE_GRACE]
        or links[t, i, NODE_DEPTH] >= rules[RULE_MAX_DEPTH]
    ):
        return False
    leaves[t, s, LEAF_TRIED] = leaves[t, s, LEAF_WEIGHT]
    there = 0
    for k in range(classes.shape[3]):
        if classes[t, s, PLANE_OWN, k] > 0.0:
            there += 1
    return bool(there > 1 and sizes[t, TREE_LEAVES] < rules[RULE_MAX_LEAVES])


@hot
def play(tables: Tables, rules: Floats, scratch: Scratch, notes: Ints, t: int, F: Floats, y: Ints, w: Floats,
         events: Ints, out: Floats) -> int:  # fmt: skip
    """Play the events with tree t; the number done is less than all when a table must grow first."""
    trees = Tables(*tables)
    thresholds, links, leaves, classes, counts, totals, cuts, n_cuts, _, sizes = trees
    bins, p, left, right, found = Scratch(*scratch)
    answer, d, K = int(rules[RULE_ANSWER]), sizes[t, TREE_FEATURES], classes.shape[3]
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known = notes[NOTE_KNOWN]
        if notes[NOTE_ROW] != r:
            notes[NOTE_ROW], notes[NOTE_NODE] = r, find(thresholds, links, t, F[r])
            if answer != MAJORITY or events[e] < 0:
                place(cuts, n_cuts, t, d, F[r], bins)
            if answer != MAJORITY:
                s = links[t, notes[NOTE_NODE], NODE_NEXT]
                notes[NOTE_SAID] = weigh(classes, counts, totals, n_cuts, t, s, d, bins, p)
        i = notes[NOTE_NODE]
        s = links[t, i, NODE_NEXT]
        if events[e] >= 0:
            if believes(leaves, t, s, answer):
                tell(p, known, 0.0, out[r])
            else:
                tell(classes[t, s, PLANE_ALL], known, 1.0, out[r])
            if answer == MAJORITY:
                notes[NOTE_ROW] = -1
            continue
        notes[NOTE_ROW] = -1
        full = sizes[t, TREE_LEAVES] == leaves.shape[1] and leaves.shape[1] < rules[RULE_MAX_LEAVES]
        if y[r] >= K or full:
            return e
        if answer == ADAPTIVE:
            if first_greatest(classes[t, s, PLANE_ALL], K) == y[r]:
                leaves[t, s, LEAF_MAJORITY_RIGHT] += w[r]
            if notes[NOTE_SAID] == y[r]:
                leaves[t, s, LEAF_BAYES_RIGHT] += w[r]
        learn(leaves, classes, counts, totals, t, s, d, bins, y[r], w[r])
        notes[NOTE_KNOWN] = max(known, y[r] + 1)
        if is_due(links, leaves, classes, sizes, rules, t, i, s):
            search(counts, n_cuts, t, s, d, left, right, found)
            if decide(found, rules):
                split(trees, t, i, left, right, found)
    return len(events)
