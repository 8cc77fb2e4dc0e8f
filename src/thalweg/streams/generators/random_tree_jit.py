"""RandomTree: growing the tree, and rows through it.

| table      | shape | dtype   | meaning                                                         |
| random     | 1 / 3 | uint64  | random state of the rows, see draw_jit                          |
| features   | nodes | int64   | what a node splits on, nominal ones first; -1: a leaf (fixed)   |
| thresholds | nodes | float64 | numeric split: left where below it; else infinite (fixed)       |
| children   | nodes | int64   | first of adjacent children, or the class of a leaf (fixed)      |
| asked      | nodes | int64   | the feature to look at; a leaf looks at any (fixed)             |
| moves      | nodes | float64 | 1; 0 at a leaf, where one stays whatever one sees (fixed)       |
| nexts      | nodes | int64   | first of adjacent children, or the leaf itself (fixed)          |
"""

import math

import numpy as np

from thalweg.jit.compile import compiled
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer, integers, uniform

_TOGETHER = 32


@compiled
def grow(
    s: Seeds,
    java: bool,
    shape: Ints,
    leaf_fraction: float,
    features: Ints,
    thresholds: Floats,
    children: Ints,
) -> int:
    """Draw the tree, depth first and from left to right; give the number of nodes, or -1 where there is no room.

    shape: nominal features, numeric features, values of a nominal one, classes, depth, first level with leaves.
    """
    nominals, numerics, values, classes, depth, first_leaf = shape
    most = 1 + depth * max(values, 2)  # nodes that wait for their turn
    nodes, levels = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    used = np.zeros((most, nominals), dtype=np.bool_)
    low, high = np.zeros((most, numerics)), np.ones((most, numerics))
    count, waiting = 1, 1
    while waiting > 0:
        waiting -= 1
        i, level = nodes[waiting], levels[waiting]
        taken, least, greatest = used[waiting].copy(), low[waiting].copy(), high[waiting].copy()
        free = nominals - taken.sum()
        stop = level >= depth or free + numerics == 0
        if not stop and level >= first_leaf:
            stop = leaf_fraction >= 1.0 - uniform(s, java)
        if stop:
            features[i], thresholds[i], children[i] = -1, math.inf, integer(s, java, classes)
            continue
        pick = integer(s, java, free + numerics)
        branches = values if pick < free else 2
        if count + branches > len(features):
            return -1
        children[i], thresholds[i] = count, math.inf
        f = 0
        if pick < free:
            while taken[f] or pick > 0:  # the pick-th of those that are free
                pick -= 0 if taken[f] else 1
                f += 1
            taken[f] = True
            features[i] = f
        else:
            f = pick - free
            features[i] = nominals + f
            thresholds[i] = (greatest[f] - least[f]) * uniform(s, java) + least[f]
        for b in range(branches - 1, -1, -1):  # the first child is the next one to be taken from the pile
            nodes[waiting], levels[waiting] = count + b, level + 1
            used[waiting], low[waiting], high[waiting] = taken, least, greatest
            if features[i] >= nominals:
                (high if b == 0 else low)[waiting, f] = thresholds[i]
            waiting += 1
        count += branches
    return count


@compiled
def fill(
    random: Seeds,
    nominals: int,
    values: int,
    depth: int,
    asked: Ints,
    thresholds: Floats,
    moves: Floats,
    nexts: Ints,
    children: Ints,
    java: bool,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows and the classes of their leaves: a few rows at a time go down together, level by level."""
    nodes = np.empty(_TOGETHER, dtype=np.int64)
    for start in range(0, len(y), _TOGETHER):
        m = min(_TOGETHER, len(y) - start)
        integers(random, java, values, nominals, X[start : start + m])
        nodes[:] = 0
        for _ in range(depth):
            for r in range(m):
                i = nodes[r]
                v = X[start + r, asked[i]]  # one of the two below is 0: numeric values lie below 1
                nodes[r] = nexts[i] + int(v * moves[i]) + int(v >= thresholds[i])
        for r in range(m):
            y[start + r] = children[nodes[r]]
