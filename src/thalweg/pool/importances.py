"""Which features matter to trees: the part that each has in what the splits gain."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.in_use import InUse, looks
from thalweg.core.schema import Schema
from thalweg.pool.view_jit import gain_splits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class WithImportances(ABC):
    """What a tree or a forest has beside the verbs of a classifier: it says which features matter to it."""

    __slots__ = ()
    _schema: Schema | None
    _use: InUse

    @abstractmethod
    def _gains(self) -> Floats:
        """Say what all splits on each feature gain; refuse it before the first row."""

    @property
    @looks
    def feature_importances_(self) -> Floats:
        """The part of each feature, in the order of the columns, in what all splits gain.

        They sum to 1; all are 0 before the first split.

        Examples
        --------
        >>> from thalweg import SEA, HoeffdingTree
        >>> chunk = SEA(seed=1, noise=0.0).read(20_000)
        >>> int(HoeffdingTree().partial_fit(chunk.X, chunk.y).feature_importances_.argmin())
        2
        """
        gains = self._gains()
        whole = gains.sum()
        return gains / whole if whole > 0.0 else gains

    @looks
    def importances(self, X: Any = None, y: Any = None, *, repeats: int = 3, seed: int = 1) -> dict[str, float]:
        """How much each feature matters, greatest first.

        Without rows: its part in the decrease of Gini impurity by all splits, for a row that a tree has learned; each
        tree of a forest counts by what it gains. With a window, rows X with labels y: how much accuracy is lost when
        the feature's values are shuffled among the rows.

        Parameters
        ----------
        X, y : array-like
            Rows and their labels.
        repeats : int
            How often each feature is shuffled.
        seed : int
            Of the shuffles.

        Examples
        --------
        >>> from thalweg import SEA, OnlineBagging
        >>> chunk = SEA(seed=1, noise=0.0).read(20_000)
        >>> found = OnlineBagging(size=3).partial_fit(chunk.X, chunk.y).importances()
        >>> list(found)[-1], round(sum(found.values()), 6)
        ('x2', 1.0)
        """
        shares = self.feature_importances_
        assert self._schema is not None
        if X is None and y is None:
            return ranked(self._schema.names, shares)
        params.whole("repeats", repeats, least=1)
        params.whole("seed", seed, least=0)
        return permuted(self, X, y, repeats, seed)


def split_gains(nodes: NDArray[np.void], tally: Floats, roots: Ints, features: int) -> Floats:
    """Give by how much the splits of trees on each feature make a row purer."""
    gains = np.zeros(features)
    gain_splits(nodes, tally, roots, gains)
    return gains


def decreases(counts: Floats, inner: Ints, parents: Ints, tests: Ints, features: int) -> Floats:
    """Add up the decrease of Gini impurity by the splits on each feature, for a row of the tree.

    counts: class weights of each node, the root first. inner: nodes that split, on the features ``tests``. parents: the
    parent of each node but the root.

    >>> counts = np.array([[4.0, 4.0], [4.0, 0.0], [0.0, 4.0]])
    >>> decreases(counts, np.array([0]), np.array([0, 0]), np.array([1]), 3).tolist()
    [0.0, 0.5, 0.0]
    """
    weights = counts.sum(axis=1)
    safe = np.where(weights > 0.0, weights, 1.0)
    mixed = weights - np.einsum("ic,ic->i", counts, counts) / safe
    after = np.bincount(parents, weights=mixed[1:], minlength=len(counts))
    gained = np.bincount(tests, weights=mixed[inner] - after[inner], minlength=features)
    return np.asarray(gained / safe[0], dtype=np.float64)


def permuted(learner: Any, X: Any, y: Any, repeats: int, seed: int) -> dict[str, float]:
    """Loss of accuracy on a window when one feature's values are shuffled among its rows; the mean of some shuffles."""
    rows, schema = door.rows(X, learner.schema, missing=True, learning=False)
    names = schema.names
    base = learner.score(rows, y)
    draw = np.random.default_rng(seed)
    lost = np.zeros(len(names))
    for f in range(len(names)):
        other = rows.copy()
        for _ in range(repeats):
            other[:, f] = draw.permutation(rows[:, f])
            lost[f] += (base - learner.score(other, y)) / repeats
    return ranked(names, lost)


def ranked(names: Sequence[str], values: Floats) -> dict[str, float]:
    """Give values by name, the greatest first."""
    return {names[f]: float(values[f]) for f in np.argsort(-values, kind="stable")}
