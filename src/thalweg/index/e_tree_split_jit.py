"""How a node of the E-tree with too many entries is divided."""

import math

import numpy as np

from thalweg.index.e_tree_nodes_jit import (
    FLOOR,
    LEAST,
    LEVEL,
    LOGS,
    SIZE,
    Box,
    Tree,
    empty_node,
    flag,
    growth,
    new_box,
    put,
    take_node,
    volume,
)
from thalweg.jit.compile import called
from thalweg.pool.leaf_jit import Floats, Ints

GREEDY, RSTAR = 0, 1


@called
def divide(tree: Tree, i: int, rule: int) -> int:
    """Divide the M + 1 entries of node i between it and a new node, which is given."""
    n = tree.links[i, SIZE]
    los, his, bits = tree.low[i].copy(), tree.high[i].copy(), tree.flags[i].copy()
    what, second = tree.entry[i, :n].copy(), np.zeros(n, dtype=np.int64)
    if rule == RSTAR:
        by_axis(los, his, tree.values, tree.domain, n, tree.head[LEAST], second)
    else:
        by_seeds(tree, i, n, second)
    other = take_node(tree, tree.links[i, LEVEL])
    empty_node(tree, i)
    box = new_box(tree)
    for e in range(n):
        box.lo[:], box.hi[:], box.bits[:] = los[:, e], his[:, e], bits[e]
        put(tree, other if second[e] != 0 else i, what[e], box)
    return other


@called
def by_seeds(tree: Tree, i: int, n: int, second: Ints) -> None:
    """Divide greedily: the two entries with the most distant centres, then each to the group that grows less by it."""
    away, one, other = distances(tree, i, n)
    order = np.argsort(-np.abs(away[one] - away[other]), kind="mergesort")
    members, grown, groups, both = (
        np.zeros(2, dtype=np.int64),
        np.empty(2),
        (new_box(tree), new_box(tree)),
        new_box(tree),
    )
    left, least, logs = n, tree.head[LEAST], len(tree.values) > LOGS
    for turn in range(n + 2):
        e = one if turn == 0 else other if turn == 1 else int(order[turn - 2])
        if turn >= 2 and e in (one, other):
            continue
        if turn < 2:
            g = turn
            groups[g].lo[:], groups[g].hi[:], groups[g].bits[:] = (
                tree.low[i, :, e],
                tree.high[i, :, e],
                tree.flags[i, e],
            )
        else:
            for g in range(2):
                unite(tree, i, e, groups[g], both)
                grown[g] = growth(logs, volume(tree, groups[g]), volume(tree, both))
            g = 0 if grown[0] < grown[1] or (grown[0] == grown[1] and members[0] <= members[1]) else 1
            if members[0] + left <= least:
                g = 0
            elif members[1] + left <= least:
                g = 1
            unite(tree, i, e, groups[g], groups[g])
        members[g] += 1
        left -= 1
        second[e] = g


@called
def distances(tree: Tree, i: int, n: int) -> tuple[Floats, int, int]:
    """Give the distances between the centres of the n entries of node i, and the first two that are farthest apart."""
    values, at = tree.values, tree.at
    centre, away = centres(tree, i, n), np.zeros((n, n))
    one, other, far = 0, 1, -1.0
    for e in range(n):
        for g in range(e + 1, n):
            s = 0.0
            for f in range(len(values)):
                s += (centre[e, f] - centre[g, f]) ** 2
                if values[f] > 0:
                    for k in range(at[f], at[f] + values[f] + 2):
                        s += 1.0 if flag(tree.flags, i, e, k) != flag(tree.flags, i, g, k) else 0.0
            away[e, g] = away[g, e] = math.sqrt(s)
            if away[e, g] > far:
                one, other, far = e, g, away[e, g]
    return away, one, other


@called
def unite(tree: Tree, i: int, e: int, box: Box, both: Box) -> None:
    """Write to ``both``, which may be the box itself, the union of a box and of entry e of node i."""
    for f in range(len(box.lo)):
        both.lo[f], both.hi[f] = min(box.lo[f], tree.low[i, f, e]), max(box.hi[f], tree.high[i, f, e])
    for k in range(len(box.bits)):
        both.bits[k] = box.bits[k] | tree.flags[i, e, k]


@called
def centres(tree: Tree, i: int, n: int) -> Floats:
    """The middle of each entry of node i in each numeric feature, as a share of the domain: n × d."""
    values, domain = tree.values, tree.domain
    found = np.zeros((n, len(values)))
    for f in range(len(values)):
        if values[f] == 0 and domain[0, f] < domain[1, f]:
            a, b, unit = domain[0, f], domain[1, f], 1.0 / (domain[1, f] - domain[0, f])
            for e in range(n):
                x, y = min(max(tree.low[i, f, e], a), b), min(max(tree.high[i, f, e], a), b)
                found[e, f] = (0.5 * (x + y) - a) * unit
    return found


@called
def farthest(tree: Tree, i: int, n: int, share: float) -> Ints:
    """The share of the n entries of node i, at least one, whose middles are farthest from that of the node's own box.

    The farthest come first. Of a nominal feature each value counts that an entry lacks.
    """
    values, at, domain, flags = tree.values, tree.at, tree.domain, tree.flags
    centre, away = centres(tree, i, n), np.zeros(n)
    for f in range(len(values)):
        if values[f] == 0:
            if domain[0, f] < domain[1, f]:
                a, b = domain[0, f], domain[1, f]
                x, y = tree.low[i, f, :n].min(), tree.high[i, f, :n].max()
                middle = (0.5 * (min(max(x, a), b) + min(max(y, a), b)) - a) * (1.0 / (b - a))
                for e in range(n):
                    away[e] += (centre[e, f] - middle) ** 2
            continue
        for k in range(at[f], at[f] + values[f] + 2):
            some = 0
            for e in range(n):
                some |= int(flag(flags, i, e, k))
            for e in range(n):
                away[e] += float(some - int(flag(flags, i, e, k)))
    return np.argsort(-away, kind="mergesort")[: max(1, int(share * n))]


@called
def by_axis(low: Floats, high: Floats, values: Ints, domain: Floats, n: int, least: int,
            second: Ints) -> None:  # fmt: skip
    """Divide along one feature, as the R*-tree does: the one with the least margins, there the least overlap."""
    d = len(values)
    best_axis, best_margin = -1, math.inf
    lo, hi = np.empty((2, d)), np.empty((2, d))
    for f in range(d):
        if values[f] == 0 and domain[0, f] < domain[1, f]:
            order, margin = sorted_along(low, high, domain, f, n), 0.0
            for cut in range(least, n - least + 1):
                unions(low, high, domain, order, cut, lo, hi)
                for g in range(2):
                    for h in range(d):
                        margin += hi[g, h] - lo[g, h]
            if margin < best_margin:
                best_axis, best_margin = f, margin
    if best_axis < 0:
        for e in range(n // 2, n):
            second[e] = 1
        return
    order = sorted_along(low, high, domain, best_axis, n)
    best_cut, best_overlap, best_area = least, math.inf, math.inf
    for cut in range(least, n - least + 1):
        unions(low, high, domain, order, cut, lo, hi)
        overlap, first_area, second_area = 1.0, 1.0, 1.0
        for h in range(d):
            overlap *= max(0.0, min(hi[0, h], hi[1, h]) - max(lo[0, h], lo[1, h]))
            first_area *= max(FLOOR, hi[0, h] - lo[0, h])
            second_area *= max(FLOOR, hi[1, h] - lo[1, h])
        area = first_area + second_area
        if overlap < best_overlap or (overlap == best_overlap and area < best_area):
            best_cut, best_overlap, best_area = cut, overlap, area
    for k in range(best_cut, n):
        second[order[k]] = 1


@called
def sorted_along(low: Floats, high: Floats, domain: Floats, f: int, n: int) -> Ints:
    """The entries in the order of their lower, then upper ends in feature f."""
    key = np.empty(n)
    for e in range(n):
        a = min(max(low[f, e], domain[0, f]), domain[1, f])
        b = min(max(high[f, e], domain[0, f]), domain[1, f])
        key[e] = a + 1e-3 * b
    return np.argsort(key, kind="mergesort")


@called
def unions(low: Floats, high: Floats, domain: Floats, order: Ints, cut: int, lo: Floats, hi: Floats) -> None:
    """The boxes of the first ``cut`` entries and of the others, as shares of the domain."""
    for f in range(lo.shape[1]):
        a, b = domain[0, f], domain[1, f]
        unit = 1.0 / (b - a) if a < b else 0.0
        lo[0, f], hi[0, f], lo[1, f], hi[1, f] = 1.0, 0.0, 1.0, 0.0
        for k in range(len(order)):
            g, e = int(k >= cut), order[k]
            x = (min(max(low[f, e], a), b) - a) * unit if unit > 0.0 else 0.0
            y = (min(max(high[f, e], a), b) - a) * unit if unit > 0.0 else 1.0
            lo[g, f], hi[g, f] = min(lo[g, f], x), max(hi[g, f], y)
