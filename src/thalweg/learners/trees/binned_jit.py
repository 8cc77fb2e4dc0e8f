"""Trees on binned numbers: the loop over events, and the tables of m trees that share arrays.

T trees; R = 2 L - 1 nodes and L leaves each; S features in B bins at most; K classes. Where leaves use naive Bayes
there are P = 2 planes of counts, ALL with what was inherited from the parent, and OWN; else P = 1, OWN only.

| table      | shape                 | dtype   | meaning                                                               |
| thresholds | T × R                 | float64 | a row goes left if its value is at most this                          |
| links      | T × R × 3             | int64   | feature (-1: leaf); left child (the right one is next) or leaf; depth |
| leaves     | T × L × 4             | float64 | own weight, that of the last attempt, majority right, Bayes right     |
| classes    | T × L × 2 × K         | float64 | class weights, inherited ones included (ALL); of its own rows (OWN)   |
| counts     | T × L × S × B × P × K | float64 | weight of each class in each bin                                      |
| totals     | T × L × S × K         | float64 | sum over the bins of ALL; without naive Bayes no features             |
| cuts       | T × S × W             | float64 | cut points, ascending, then infinity; W + 1 is a power of 2           |
| n_cuts     | T × S                 | int64   | how many; 0: the feature is not used                                  |
| gains      | T × S                 | float64 | sum of the gains of the splits on each feature                        |
| sizes      | T × 2                 | int64   | leaves; features                                                      |
"""

import math

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Tables = tuple[Floats, Ints, Floats, Floats, Floats, Floats, Floats, Ints, Floats, Ints]
"""The tables above, in that order; a plain tuple, since a named one takes Numba far longer to open."""
Work = tuple[Ints, Floats, Floats, Floats, Floats, Ints]
"""What a call works in: bins of the features; three times a cell for each class; FOUND by a search; NOTES."""

FEATURE, NEXT, DEPTH = range(3)
LEAF = -1
WEIGHT, TRIED, MAJORITY_RIGHT, BAYES_RIGHT = range(4)
ALL, OWN = range(2)
N_LEAVES, N_FEATURES = range(2)

MCDIARMID, GAUSSIAN, LCB, HOEFFDING = range(4)
"""Codes of the bounds."""
MAJORITY, BAYES, ADAPTIVE = range(3)
"""Codes of the ways in which leaves answer."""
BOUND, LOG_DELTA, Z, GRACE, TIE, ANSWER, MAX_LEAVES, MAX_DEPTH = range(8)
RULES = 8
"""Places in ``rules``; LOG_DELTA: ln(1/δ); Z: the normal quantile of 1 - δ."""
KNOWN, ROW, NODE, SAID = range(4)
NOTES = 4
"""Between events: classes known; the row that was placed last (-1: none), its node, what naive Bayes said of it."""
GAIN, ERROR, FOUND_FEATURE, FOUND_CUT, TOTAL, SECOND, SECOND_ERROR = range(7)
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
    while links[t, i, FEATURE] >= 0:
        i = links[t, i, NEXT] + (0 if x[links[t, i, FEATURE]] <= thresholds[t, i] else 1)
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
        p[k] = classes[t, s, ALL, k]
    for f in range(d):
        b = bins[f]
        if b < 0:
            continue
        most, n_bins = 0.0, n_cuts[t, f] + 1.0
        for k in range(K):
            p[k] = p[k] * ((counts[t, s, f, b, ALL, k] + 1.0) / (totals[t, s, f, k] + n_bins))
            most = max(most, p[k])
        while 0.0 < most < SMALL:
            most /= SMALL
            for k in range(K):
                p[k] /= SMALL
    return first_most(p)


@inlined
def first_most(p: Floats) -> int:
    """Give the place of the greatest, the first among equals."""
    best = 0
    for k in range(1, len(p)):
        if p[k] > p[best]:
            best = k
    return best


@inlined
def believes(leaves: Floats, t: int, s: int, answer: int) -> bool:
    """Does the leaf answer by naive Bayes?"""
    return answer == BAYES or (answer == ADAPTIVE and leaves[t, s, BAYES_RIGHT] >= leaves[t, s, MAJORITY_RIGHT])


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
    found[FOUND_FEATURE], second, second_cut = LEAF, -1, 0
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
        if best > found[GAIN]:
            second, second_cut, found[SECOND] = int(found[FOUND_FEATURE]), int(found[FOUND_CUT]), found[GAIN]
            found[GAIN], found[FOUND_FEATURE], found[FOUND_CUT], found[TOTAL] = best, f, cut, n
        elif best > found[SECOND]:
            second, second_cut, found[SECOND] = f, cut, best
    f = int(found[FOUND_FEATURE])
    if f >= 0:
        found[ERROR] = error_at(counts, t, s, f, int(found[FOUND_CUT]), n_cuts[t, f] + 1, left, total)
    if second >= 0:
        found[SECOND_ERROR] = error_at(counts, t, s, second, second_cut, n_cuts[t, second] + 1, left, total)


@inlined
def decide(found: Floats, rules: Floats) -> bool:
    """Is the best split good enough? See the bounds in binned.py."""
    gain, n, bound = found[GAIN], found[TOTAL], int(rules[BOUND])
    if not gain > LEAST_GAIN:
        return False
    if bound == MCDIARMID:
        epsilon = math.sqrt(8.0 * rules[LOG_DELTA] / n)
    elif bound == HOEFFDING:
        epsilon = math.sqrt(rules[LOG_DELTA] / (2.0 * n))
    else:
        epsilon = rules[Z] * (found[ERROR] + found[SECOND_ERROR])
    if gain - found[SECOND] > epsilon:
        return True
    if bound == LCB:
        return bool(n >= 2.0 * rules[GRACE] and gain - rules[Z] * found[ERROR] > rules[TIE])
    return bool(epsilon < rules[TIE] < gain)


@hot
def split(thresholds: Floats, links: Ints, leaves: Floats, classes: Floats, counts: Floats, totals: Floats,
          cuts: Floats, n_cuts: Ints, gains: Floats, sizes: Ints, t: int, i: int, left: Floats, right: Floats,
          found: Floats) -> None:  # fmt: skip
    """Turn leaf i into a split. The left child takes its row of counts, the right one a new row.

    Class weights go to the children as the counts of the feature say; for naive Bayes so do the counts of all other
    features, class by class.
    """
    f, cut, s, r = int(found[FOUND_FEATURE]), int(found[FOUND_CUT]), links[t, i, NEXT], sizes[t, N_LEAVES]
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
        whole = classes[t, s, ALL, k]
        classes[t, s, ALL, k], classes[t, r, ALL, k] = whole * left[k], whole * (1.0 - left[k])
        classes[t, s, OWN, k], classes[t, r, OWN, k] = 0.0, 0.0
    for g in range(sizes[t, N_FEATURES]):
        for b in range(n_cuts[t, g] + 1):
            for k in range(K):
                v, part = counts[t, s, g, b, 0, k], left[k]
                if g == f:
                    part = 1.0 if b <= cut else 0.0
                if inherit:
                    counts[t, s, g, b, ALL, k], counts[t, r, g, b, ALL, k] = v * part, v * (1.0 - part)
                    counts[t, s, g, b, OWN, k] = 0.0
                else:
                    counts[t, s, g, b, 0, k] = 0.0
        for k in range(K if inherit else 0):
            v = totals[t, s, g, k]
            totals[t, s, g, k], totals[t, r, g, k] = v * left[k], v * (1.0 - left[k])
    first = 2 * r - 1
    for c in range(2):
        child, slot = first + c, r if c == 1 else s
        links[t, child, FEATURE], links[t, child, NEXT], links[t, child, DEPTH] = LEAF, slot, links[t, i, DEPTH] + 1
        leaves[t, slot, :] = 0.0
    links[t, i, FEATURE], links[t, i, NEXT] = f, first
    thresholds[t, i] = cuts[t, f, cut]
    gains[t, f] += found[GAIN]
    sizes[t, N_LEAVES] = r + 1


# -- learning ---------------------------------------------------------------------------------------------------------


@inlined
def learn(leaves: Floats, classes: Floats, counts: Floats, totals: Floats, t: int, s: int, d: int, bins: Ints, y: int,
          w: float) -> None:  # fmt: skip
    """Count a row in a leaf."""
    planes = counts.shape[4]
    leaves[t, s, WEIGHT] += w
    classes[t, s, ALL, y] += w
    classes[t, s, OWN, y] += w
    for f in range(d):
        b = bins[f]
        if b >= 0:
            counts[t, s, f, b, 0, y] += w
            if planes == 2:
                counts[t, s, f, b, OWN, y] += w
                totals[t, s, f, y] += w


@inlined
def is_due(links: Ints, leaves: Floats, classes: Floats, sizes: Ints, rules: Floats, t: int, i: int, s: int) -> bool:
    """Is it time for an attempt to split, and may there be more leaves? Leaves with one class wait."""
    if leaves[t, s, WEIGHT] - leaves[t, s, TRIED] < rules[GRACE] or links[t, i, DEPTH] >= rules[MAX_DEPTH]:
        return False
    leaves[t, s, TRIED] = leaves[t, s, WEIGHT]
    there = 0
    for k in range(classes.shape[3]):
        if classes[t, s, OWN, k] > 0.0:
            there += 1
    return bool(there > 1 and sizes[t, N_LEAVES] < rules[MAX_LEAVES])


@hot
def play(tables: Tables, rules: Floats, work: Work, t: int, F: Floats, y: Ints, w: Floats, events: Ints,
         out: Floats) -> int:  # fmt: skip
    """Play the events with tree t; the number done is less than all when a table must grow first."""
    thresholds, links, leaves, classes, counts, totals, cuts, n_cuts, gains, sizes = tables
    bins, p, left, right, found, notes = work
    answer, d = int(rules[ANSWER]), sizes[t, N_FEATURES]
    for e in range(len(events)):
        r = events[e] if events[e] >= 0 else ~events[e]
        known = notes[KNOWN]
        if notes[ROW] != r:
            notes[ROW], notes[NODE] = r, find(thresholds, links, t, F[r])
            if answer != MAJORITY or events[e] < 0:
                place(cuts, n_cuts, t, d, F[r], bins)
            if answer != MAJORITY:
                notes[SAID] = weigh(classes, counts, totals, n_cuts, t, links[t, notes[NODE], NEXT], d, bins, p)
        i = notes[NODE]
        s = links[t, i, NEXT]
        if events[e] >= 0:
            if believes(leaves, t, s, answer):
                tell(p, known, 0.0, out[r])
            else:
                tell(classes[t, s, ALL], known, 1.0, out[r])
            if answer == MAJORITY:
                notes[ROW] = -1
            continue
        notes[ROW] = -1
        if y[r] >= classes.shape[3] or (sizes[t, N_LEAVES] == leaves.shape[1] and leaves.shape[1] < rules[MAX_LEAVES]):
            return e
        if answer == ADAPTIVE:
            if first_most(classes[t, s, ALL]) == y[r]:
                leaves[t, s, MAJORITY_RIGHT] += w[r]
            if notes[SAID] == y[r]:
                leaves[t, s, BAYES_RIGHT] += w[r]
        learn(leaves, classes, counts, totals, t, s, d, bins, y[r], w[r])
        notes[KNOWN] = max(known, y[r] + 1)
        if is_due(links, leaves, classes, sizes, rules, t, i, s):
            search(counts, n_cuts, t, s, d, left, right, found)
            if decide(found, rules):
                split(thresholds, links, leaves, classes, counts, totals, cuts, n_cuts, gains, sizes, t, i, left, right,
                      found)  # fmt: skip
    return len(events)
