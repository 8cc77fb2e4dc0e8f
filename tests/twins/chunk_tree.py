"""A plain tree after C4.5: dicts, recursion, entropies as they are written in the book. Slow."""

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np

TIE = 1e-9


def entropy(weights):
    total = sum(weights)
    return -sum(v / total * math.log2(v / total) for v in weights if v > 0)


def class_weights(y, w, classes):
    return [float(w[y == c].sum()) for c in range(classes)]


def weigh(parts, y, w, classes, total, least):
    """Gain and gain ratio of a test whose branches take these masks of rows; None: too few rows in them."""
    weights = [float(w[p].sum()) for p in parts]
    if sum(v >= least for v in weights) < 2:
        return None
    known = sum(weights)
    any_part = np.logical_or.reduce(parts)
    before = entropy(class_weights(y[any_part], w[any_part], classes))
    after = 0.0
    for p, v in zip(parts, weights, strict=True):
        after += v / known * entropy(class_weights(y[p], w[p], classes)) if v > 0 else 0.0
    return known / total * (before - after), entropy([*weights, total - known])


def best_cut(x, y, w, classes, total, least):
    there = np.unique(x[~np.isnan(x)])
    best, tries = None, 0
    for low, high in pairwise(there):
        left, right = x <= low, x >= high
        if min(w[left].sum(), w[right].sum()) < least:
            continue
        tries += 1
        gain, info = weigh([left, right], y, w, classes, total, least)
        if gain * total > 1e-7 and (best is None or gain * total > best[0] * total + 1e-7):
            middle = 0.5 * low + 0.5 * high
            best = gain, info, middle if low <= middle < high else low
    if best is None:
        return None
    gain = best[0] - math.log2(tries) / total
    return (gain, gain / best[1], best[2]) if gain > TIE else None


def best_test(X, y, w, values, classes, least):
    total = float(w.sum())
    found = {}
    for f, k in enumerate(values):
        x = X[:, f]
        if k == 0:
            cut = best_cut(x, y, w, classes, total, least)
        else:
            cut = weigh([x == v for v in range(k)], y, w, classes, total, least)
            cut = (cut[0], cut[0] / cut[1], None) if cut is not None and cut[0] > TIE else None
        if cut is not None:
            found[f] = cut
    if not found:
        return None
    average = sum(cut[0] for cut in found.values()) / len(found)
    chosen = None
    for f, cut in found.items():
        if cut[0] >= average - TIE and (chosen is None or cut[1] > found[chosen][1] + TIE):
            chosen = f
    return chosen, found[chosen][2]


def grow(X, y, w, values, classes, least):
    counts = class_weights(y, w, classes)
    node = {"counts": counts}
    if sum(counts) < 2 * least or max(counts) == sum(counts):
        return node
    test = best_test(X, y, w, values, classes, least)
    if test is None:
        return node
    f, t = test
    x = X[:, f]
    parts = [x <= t, x > t] if t is not None else [x == v for v in range(values[f])]
    heavy = int(np.argmax([w[p].sum() for p in parts]))
    parts[heavy] = parts[heavy] | np.isnan(x)
    node |= {"feature": f, "threshold": t, "heavy": heavy}
    node["branches"] = [grow(X[p], y[p], w[p], values, classes, least) for p in parts]
    return node


def upper(n, e, confidence):
    """Quinlan's pessimistic count of errors beyond e among n rows."""
    if e < 1e-6:
        return n * (1 - confidence ** (1 / n))
    if e < 1:
        none = upper(n, 0, confidence)
        return none + e * (upper(n, 1, confidence) - none)
    if e + 0.5 >= n:
        return 0.67 * (n - e)
    z = NormalDist().inv_cdf(1 - confidence)
    p = (e + 0.5 + z * z / 2 + z * math.sqrt((e + 0.5) * (1 - (e + 0.5) / n) + z * z / 4)) / (n + z * z)
    return n * p - e


def prune(node, confidence):
    """Prune in place; give the errors that the node is believed to make."""
    n, e = sum(node["counts"]), sum(node["counts"]) - max(node["counts"])
    alone = e + upper(n, e, confidence) if n > 0 else 0.0
    if "branches" not in node:
        return alone
    below = sum(prune(branch, confidence) for branch in node["branches"])
    if alone <= below + 0.1:
        del node["branches"]
        return alone
    return below


def twin_tree(X, y, values, *, w=None, classes=None, min_leaf=2.0, confidence=0.25):
    w = np.ones(len(y)) if w is None else w
    classes = int(y.max()) + 1 if classes is None else classes
    tree = grow(X, y, w, [int(k) for k in values], classes, min_leaf)
    if confidence is not None:
        prune(tree, confidence)
    return tree


def votes(tree, x):
    """What the tree votes for one row."""
    above = tree
    while "branches" in tree:
        v, t = x[tree["feature"]], tree["threshold"]
        k = tree["heavy"]
        if v == v and t is not None:
            k = int(v > t)
        elif v == v and v < len(tree["branches"]):
            k = int(v)
        above, tree = tree, tree["branches"][k]
    counts = np.array(tree["counts"] if sum(tree["counts"]) > 0 else above["counts"])
    return counts / counts.sum()


def shape(tree):
    """The tests of a tree, as nested tuples."""
    if "branches" not in tree:
        return ()
    return (tree["feature"], tree["threshold"], tree["heavy"], *map(shape, tree["branches"]))
