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


def height(packed: NDArray[np.void], base: int = 0) -> int:
    """How many tests are on the longest way down; ``base`` is the number of the first of these nodes.

    A node is done with once all that lead to it are: so each is looked at once, and what leads back to itself never is.

    >>> from thalweg.index.trees_jit import PACKED
    >>> packed = np.array([(2.5, 0, 1), (1.5, 0, 3), (np.inf, 0, 2), (np.inf, 0, 3), (np.inf, 0, 4)], dtype=PACKED)
    >>> height(packed)
    2
    """
    left = packed["left"].astype(np.int64) - base
    inner = left != np.arange(len(left))
    parents = np.bincount(np.concatenate([left[inner], left[inner] + 1]), minlength=len(left))
    nodes, done, levels = np.flatnonzero(parents == 0), 0, 0
    while len(nodes):
        done, levels = done + len(nodes), levels + 1
        nodes = nodes[inner[nodes]]
        below = np.concatenate([left[nodes], left[nodes] + 1])
        np.subtract.at(parents, below, 1)
        nodes = np.unique(below[parents[below] == 0])
    if done < len(left):
        raise ValueError("packed trees must have leaves, got nodes that lead back to themselves")
    return max(0, levels - 1)


def refuse_tangled(packed: NDArray[np.void], roots: Ints) -> None:
    """Refuse packed trees, each from its root to the next one's, if nodes lead to other trees, or on from leaves.

    >>> from thalweg.index.trees_jit import PACKED
    >>> refuse_tangled(np.array([(2.5, 0, 1), (np.inf, 0, 1), (np.inf, 0, 2)], dtype=PACKED), np.array([0, 2]))
    Traceback (most recent call last):
    ValueError: its trees point outside themselves
    """
    left, ends = packed["left"].astype(np.int64), np.append(roots[1:], len(packed))
    sizes = ends - roots
    if len(packed) and (not len(roots) or roots[0] != 0 or (sizes < 1).any()):
        raise ValueError("its trees do not follow each other")
    inner = left != np.arange(len(left))
    leaves = packed[~inner]
    if ((left < np.repeat(roots, sizes)) | (left + inner >= np.repeat(ends, sizes))).any():
        raise ValueError("its trees point outside themselves")
    if (leaves["threshold"] != np.inf).any() or leaves["feature"].any():
        raise ValueError("its trees go on from leaves")
