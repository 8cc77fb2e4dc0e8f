"""A forest as it is at one moment, laid out for answering. How its leaves answer is in frozen_leaf_jit.py.

| table  | shape     | dtype   | meaning |
| packed | nodes     | PACKED  | all trees, each packed as in trees_jit.py, in the order of ``in_depth`` there |
| leaf   | nodes     | uint32  | the number of a leaf; NO_LEAF: an inner node |
| trees  | trees × 3 | int64   | ROOT; SHARD: trees of a shard are added up first, as the living forest does; FIRST of |
|        |           |         | its leaves |
| weight | trees     | float64 | of each tree's vote; -1: votes are not scaled, as a tree by itself answers |
"""

import numpy as np

from thalweg.frozen.frozen_leaf_jit import CLASSES, add_many, add_plain, add_two, get
from thalweg.index.batch_jit import FEW, Few, find_ahead, gather, gather_at, next_group, turn
from thalweg.index.trees_jit import Whole
from thalweg.jit.compile import hot, inlined
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import Nodes

ROOT, SHARD, FIRST = 0, 1, 2


@hot
def answer(packed: Nodes, leaf: Whole, trees: Ints, weight: Floats, sides: Ints, leaves: Whole, plain: Floats,
           cells: Floats, lists: Whole, X: Floats, out: Floats, part: Floats, logs: Floats, turned: Floats, rows: Few,
           waiting: Ints, found: Ints) -> None:  # fmt: skip
    """Fill ``out`` with the probabilities of each row.

    For work: what batch_jit.py needs, part: C × block, logs: C.
    """
    block = turned.shape[1]
    for begin in range(0, len(X), block):
        n = min(block, len(X) - begin)
        few = n < FEW
        part[:, :] = 0.0
        shard = 0
        tame = turn(X, begin, n, turned)
        if few:
            for k in range(n):
                find_ahead(packed, trees, X, begin + k, found[k])
        for t in range(len(trees)):
            if trees[t, SHARD] != shard:
                close(part, out, begin, n, shard == 0)
                shard = trees[t, SHARD]
            groups = gather_at(rows, waiting, found, t, n) if few else gather(rows, waiting, trees[t, ROOT], n)
            while groups > 0:
                groups, node, here = next_group(packed, turned, rows, waiting, groups)
                j = int(np.int64(leaf[node]))
                classes = get(leaves, j, CLASSES)
                if classes == 0:
                    add_plain(plain, j, here, part)
                elif classes > 2:
                    add_many(leaves, plain, cells, lists, weight[t], j, X, begin, here, logs, part)
                elif tame:
                    add_two(leaves, plain, cells, lists, sides, t, weight[t], j, X, begin, here, True, part)
                else:
                    add_two(leaves, plain, cells, lists, sides, t, weight[t], j, X, begin, here, False, part)
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
