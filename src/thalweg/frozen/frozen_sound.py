"""Are tables those of a frozen forest? They may come from a file; the compiled code that reads them looks no more."""

import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.frozen import frozen_jit as jit
from thalweg.frozen import frozen_leaf_jit as leaf_jit
from thalweg.index.rules import Ints


def refuse_unsound(tables: State, empty: State, classes: int, d: int) -> None:
    """Refuse tables that no frozen forest of so many classes and features could have. empty: those without trees."""
    for name, fresh in empty.items():
        table = tables[name]
        if table.dtype != fresh.dtype or table.shape[1:] != fresh.shape[1:] or not table.flags.c_contiguous:
            raise ValueError(f"its table {name!r} has another type or shape")
    packed, leaf, trees, leaves, lists = (tables[n] for n in ("packed", "leaf", "trees", "leaves", "lists"))
    n, t = len(packed), len(trees)
    left, here = packed["left"].astype(np.int64), np.arange(n)
    inner = left != here
    rows = leaves.astype(np.int64)
    sound = (
        len(leaf) == n
        and len(tables["weight"]) == t
        and len(tables["plain"]) == len(leaves)
        and len(tables["sides"]) in (0, t)
        and (left[inner] > here[inner]).all()
        and (left[inner] + 1 < n).all()
        and (packed["feature"] // 2 < max(1, d)).all()
        and (leaf[~inner] < len(leaves)).all()
        and (tables["packed"]["threshold"][~inner] == np.inf).all()
        and ((trees[:, jit.ROOT] >= 0) & (trees[:, jit.ROOT] < n)).all()
        and (np.diff(trees[:, jit.SHARD]) >= 0).all()
        and _leaves_sound(packed, leaf, trees, len(leaves))
        and (t == 0 or trees[0, jit.SHARD] == 0)
        and (rows[:, leaf_jit.CLASSES] != 1).all()
        and (rows[:, leaf_jit.CLASSES] <= max(2, classes)).all()
    )
    if not sound or not _lists_sound(rows, lists.astype(np.int64), len(tables["cells"]), classes, d):
        raise ValueError("its tables point outside themselves")


def _leaves_sound(packed: NDArray[np.void], leaf: NDArray[np.uint32], trees: Ints, leaves: int) -> bool:
    """Do the nodes from one root to the next lead to leaves of this tree only, and not to another tree?"""
    for t in range(len(trees)):
        root, first = int(trees[t, jit.ROOT]), int(trees[t, jit.FIRST])
        end, last = trees[t + 1, [jit.ROOT, jit.FIRST]].tolist() if t + 1 < len(trees) else (len(packed), leaves)
        part, own = packed["left"][root:end].astype(np.int64), leaf[root:end].astype(np.int64)
        ends = part == np.arange(root, end)
        if not root < end or (part >= end).any() or (own[ends] < first).any() or (own[ends] >= last).any():
            return False
    return True


def _lists_sound(rows: Ints, lists: Ints, cells: int, classes: int, d: int) -> bool:
    """Do leaves that answer by naive Bayes only name features, classes and cells that there are?"""
    for k, numbers, nominals, cell, item in rows[rows[:, leaf_jit.CLASSES] > 0].tolist():
        end = item + k + numbers + 2 * nominals
        if end > len(lists) or (lists[item : item + k] >= max(2, classes)).any():
            return False
        named = np.append(lists[item + k : item + k + numbers], lists[item + k + numbers : end : 2])
        room = lists[item + k + numbers + 1 : end : 2]
        if (named >= d).any() or cell + k * (1 + 3 * numbers + int((room + 1).sum())) > cells:
            return False
    return True
