"""A forest as it is at one moment, laid out for answering. How its leaves answer is in frozen_leaf_jit.py."""

from typing import Annotated, NamedTuple

import numpy as np

from thalweg.core.declared import span, table
from thalweg.frozen.frozen_leaf_jit import CLASSES, Leaves, add_many, add_plain, add_two, get
from thalweg.index.batch_jit import FEW, Groups, find_ahead, gather, next_group, turn
from thalweg.index.trees_jit import PACKED_NODES, Whole
from thalweg.jit.compile import hot, inlined
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import Nodes

ROOT, SHARD, FIRST = 0, 1, 2


class Forest(NamedTuple):
    """The trees of a frozen forest, down to their leaves."""

    packed: Annotated[Nodes, PACKED_NODES]
    """All trees, each packed as in trees_jit.py, in the order of ``in_depth`` there."""
    leaf: Annotated[Whole, table("nodes", loose=True)]
    """nodes: the number of a leaf; NO_LEAF: an inner node."""
    trees: Annotated[
        Ints,
        table(
            "trees",
            3,
            cells={ROOT: span(0, "nodes - 1"), SHARD: span(0, "trees - 1"), FIRST: span(0, "leaves - 1")},
        ),
    ]
    """trees × 3: ROOT; SHARD: trees of a shard are added up first, as the living forest does; FIRST of its leaves."""
    weight: Annotated[Floats, table("trees", loose=True)]
    """trees: of each tree's vote; -1: votes are not scaled, as a tree by itself answers."""
    sides: Annotated[Ints, table("coded", "classes", least=-1, most="max(1, classes - 1)")]
    """trees × C: which of the votes of its leaves is for class c (-1: none); no rows: the same as c."""


@hot
def answer(forest: Forest, leaves: Leaves, X: Floats, out: Floats, groups: Groups, part: Floats, logs: Floats) -> None:
    """Fill ``out`` with the probabilities of each row. For work: part: C × block, logs: C."""
    forest, p, groups = Forest(*forest), Leaves(*leaves), Groups(*groups)
    trees, weight, sides, block = forest.trees, forest.weight, forest.sides, groups.turned.shape[1]
    for begin in range(0, len(X), block):
        n = min(block, len(X) - begin)
        part[:, :] = 0.0
        shard = 0
        tame = turn(X, begin, n, groups.turned)
        if n < FEW:
            for k in range(n):
                find_ahead(forest.packed, trees, X, begin + k, groups.found[k])
        for t in range(len(trees)):
            if trees[t, SHARD] != shard:
                close(part, out, begin, n, shard == 0)
                shard = trees[t, SHARD]
            waiting = gather(groups, t, trees[t, ROOT], n)
            while waiting > 0:
                waiting, node, here = next_group(forest.packed, groups, waiting)
                j = int(np.int64(forest.leaf[node]))
                classes = get(p, j, CLASSES)
                if classes == 0:
                    add_plain(p, j, here, part)
                elif classes > 2:
                    add_many(p, weight[t], j, X, begin, here, logs, part)
                elif tame:
                    add_two(p, sides, t, weight[t], j, X, begin, here, True, part)
                else:
                    add_two(p, sides, t, weight[t], j, X, begin, here, False, part)
        close(part, out, begin, n, shard == 0)
        share(out, begin, n)


@inlined
def close(part: Floats, out: Floats, begin: int, n: int, first: bool) -> None:
    """Add what the trees of a shard said to what was said before."""
    for c in range(len(part)):
        for k in range(n):
            out[begin + k, c] = part[c, k] if first else out[begin + k, c] + part[c, k]
            part[c, k] = 0.0


@inlined
def share(out: Floats, begin: int, n: int) -> None:
    """Let what was said about each row be shares of all; nothing: all classes alike."""
    classes = out.shape[1]
    for r in range(begin, begin + n):
        total = 0.0
        for c in range(classes):
            total += out[r, c]
        for c in range(classes):
            out[r, c] = out[r, c] / total if total > 0.0 else 1.0 / classes
