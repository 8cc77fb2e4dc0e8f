"""What it takes to send many rows down packed trees; see batch_jit.py for the tables."""

import numpy as np
from numpy.typing import NDArray

from thalweg.index.batch_jit import BLOCK, CELLS, FEW, Groups
from thalweg.index.rules import Floats, Ints


def rooms(X: Floats, height: int, trees: int) -> Groups:
    """Make room for rows that go down so many trees, none higher than this."""
    n, d = X.shape
    block, few = (n or 1, n) if n < FEW else (min(n, BLOCK, max(FEW * FEW, CELLS // max(1, d))), FEW)
    return Groups(
        np.empty((d, block)),
        np.empty((2, block), np.uint16),
        np.empty((height + FEW, 4), np.int64),
        np.empty((few, trees), np.int64),
    )


def height(packed: NDArray[np.void], roots: Ints, base: int = 0) -> int:
    """How many tests are on the longest way down; ``base`` is the number of the first of these nodes.

    >>> from thalweg.index.trees_jit import PACKED
    >>> packed = np.array([(2.5, 0, 1), (1.5, 0, 3), (np.inf, 0, 2), (np.inf, 0, 3), (np.inf, 0, 4)], dtype=PACKED)
    >>> height(packed, np.array([0]))
    2
    """
    left, nodes, tests = packed["left"].astype(np.int64) - base, roots, 0
    while len(nodes := nodes[left[nodes] != nodes]):
        nodes = np.unique(np.concatenate([left[nodes], left[nodes] + 1]))
        tests += 1
        if tests > len(packed):
            raise ValueError("packed trees must have leaves, got nodes that lead back to themselves")
    return tests
