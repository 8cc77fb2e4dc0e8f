"""After a drift: does what was known before still hold, with images turned or recoloured, or classes renamed?"""

from itertools import permutations
from typing import NamedTuple, final

import numpy as np

from thalweg.core.protocols import State
from thalweg.learners.subspaces.reduction import Reduction
from thalweg.learners.subspaces.subspaces import ClassSubspaces
from thalweg.tensors.forms import Floats, Ints

FIRST_LOOK = 24
"""Tensors that every view is tried with; the best are tried with all."""
FINALISTS = 6


class Match(NamedTuple):
    """How well old knowledge explains new tensors, seen in the best way."""

    accuracy: float
    turn: Ints
    """Where each value of a tensor comes from in the best view."""
    sign: float
    renamed: Ints
    """The new code of each old class."""


@final
class PastModel:
    """The reduction and the subspaces from before a drift, which do not learn."""

    __slots__ = ("reduction", "shape", "spaces")

    def __init__(self, reduction: Reduction, spaces: ClassSubspaces, shape: tuple[int, ...]) -> None:
        self.reduction, self.spaces, self.shape = reduction, spaces, shape

    def match(self, X: Floats, y: Ints) -> Match:
        """Find the view of the tensors, and the names of the classes, in which the old knowledge errs least."""
        views = symmetries(self.shape) if self.reduction.uses_patches else [(np.arange(X.shape[1]), 1.0)]
        if len(views) > FINALISTS:
            part = slice(max(0, len(X) - FIRST_LOOK), len(X))  # the last ones: a gradual drift is furthest there
            scores = [self._match(X[part], y[part], *view).accuracy for view in views]
            views = [views[i] for i in np.argsort(-np.array(scores), kind="stable")[:FINALISTS]]
        return max((self._match(X, y, *view) for view in views), key=lambda match: match.accuracy)

    def tables(self) -> State:
        """Give all tables, not copied."""
        return self.reduction.tables() | self.spaces.tables()

    def adopt(self, tables: State, classes: int) -> None:
        """Continue from what ``tables`` gave, with at most so many classes."""
        self.reduction.adopt(tables)
        self.spaces.adopt(tables, classes)
        if self.spaces.p != self.reduction.p:
            raise ValueError("the tables 'directions' and 'sums' of its past model do not fit each other")

    def widen(self, shape: tuple[int, ...]) -> None:
        """Take vectors with more values, which are not looked at."""
        self.shape = shape
        self.reduction.widen(shape)

    def _match(self, X: Floats, y: Ints, turn: Ints, sign: float) -> Match:
        Z = self.reduction.values(np.ascontiguousarray(sign * X[:, turn]))
        said = self.spaces.residuals(Z).argmin(axis=1)
        same = np.arange(self.spaces.classes)
        as_named = float((said == y).mean())
        table = np.zeros((len(same), len(same)))
        np.add.at(table, (said, y), 1.0)
        left_out = table[said] - np.eye(len(same))[y]  # what the other rows say: a row must not vouch for itself
        as_renamed = float((left_out.argmax(axis=1) == y).mean())
        if as_named >= as_renamed - 0.05:
            return Match(as_named, turn, sign, same)
        return Match(as_renamed, turn, sign, rename(table))


def symmetries(shape: tuple[int, ...]) -> list[tuple[Ints, float]]:
    """Give all ways to turn and mirror an image, to permute three channels, and to invert it.

    A way is where each value comes from, and a sign; images that are not square are only mirrored.

    >>> len(symmetries((8, 8))), len(symmetries((32, 32, 3))), len(symmetries((8, 10)))
    (16, 96, 8)
    """
    height, width = shape[:2]
    places = np.arange(int(np.prod(shape))).reshape(height, width, -1)
    turns = range(4) if height == width else (0, 2)
    orders = list(permutations(range(3))) if places.shape[2] == 3 else [tuple(range(places.shape[2]))]
    ways = []
    for sign in (1.0, -1.0):
        for order in orders:
            for quarter in turns:
                turned = np.rot90(places[:, :, list(order)], quarter)
                ways += [(turned.reshape(-1).copy(), sign), (turned[:, ::-1].reshape(-1).copy(), sign)]
    return ways


def rename(table: Floats) -> Ints:
    """Give each old class (row) a new code (column) of its own, the most frequent pairs first.

    >>> rename(np.array([[0.0, 5.0, 1.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])).tolist()
    [1, 2, 0]
    """
    K = len(table)
    codes, left = np.full(K, -1), table.copy()
    for _ in range(K):
        k, c = np.unravel_index(int(left.argmax()), left.shape)
        if left[k, c] <= 0.0:
            break
        codes[k] = c
        left[k, :], left[:, c] = -1.0, -1.0
    free = [c for c in range(K) if c not in codes]
    codes[codes < 0] = free
    return codes.astype(np.int64)
