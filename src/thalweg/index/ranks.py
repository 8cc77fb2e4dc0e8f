"""Packed trees with ranks in the place of thresholds; see ranks_jit.py for the tables."""

import numpy as np
from numpy.typing import NDArray

from thalweg.index.ranks_jit import HIGHEST, RANKED
from thalweg.index.rules import Floats, Ints


def rank_nodes(packed: NDArray[np.void]) -> tuple[NDArray[np.void], Floats, Ints]:
    """Give ``ranked``, ``cuts`` and ``columns``; ``ranked`` is empty where small whole numbers are too small.

    >>> from thalweg.index.trees_jit import PACKED
    >>> packed = np.array([(2.5, 0, 1), (1.5, 0, 3), (np.inf, 0, 2), (np.inf, 0, 3), (np.inf, 0, 4)], dtype=PACKED)
    >>> ranked, cuts, columns = rank_nodes(packed)
    >>> ranked["rank"].tolist(), cuts.tolist(), columns.tolist()
    ([1, 0, 65535, 65535, 65535], [1.5, 2.5], [[0, 0, 2]])
    """
    inner = np.flatnonzero(packed["left"] != np.arange(len(packed)))
    feature, threshold = packed["feature"][inner].astype(np.int64) // 2, packed["threshold"][inner]
    order = np.lexsort((threshold, feature))
    f, t = feature[order], threshold[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (f[1:] != f[:-1]) | (t[1:] != t[:-1])
    cuts = t[new]
    features, begin, many = np.unique(f[new], return_index=True, return_counts=True)
    columns = np.stack([features, begin, many], axis=1).astype(np.int64)
    if many.max(initial=0) >= HIGHEST or 2 * len(features) > HIGHEST:
        return np.zeros(0, dtype=RANKED), cuts, columns
    column = np.searchsorted(features, feature)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    ranked = np.zeros(len(packed), dtype=RANKED)
    ranked["rank"], ranked["left"] = HIGHEST, packed["left"]
    ranked["rank"][inner] = place - begin[column]
    ranked["column"][inner] = 2 * column + packed["feature"][inner] % 2
    return ranked, cuts, columns
