"""A tree from one chunk of labelled rows: the library's own after C4.5, or scikit-learn's."""

import warnings
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.index.rules import Floats, Ints, Rules, boxes_of_tree
from thalweg.learners.chunks import chunk_tree_jit as jit
from thalweg.pool.pool_jit import LEAF

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTree:
    """A tree that learns no more; its tables are described in chunk_tree_jit.py and trees_jit.py.

    >>> import numpy as np
    >>> tree = grow_tree(np.array([[1.0], [2.0], [3.0], [4.0]] * 5), np.array([0, 0, 1, 1] * 5), np.zeros(1, np.int64))
    >>> len(tree.votes), tree.nodes[0]["threshold"].item()
    (2, 2.5)
    """

    nodes: NDArray[np.void]
    missing: Ints
    votes: Floats
    """What each leaf votes: shares of the classes."""
    support: Floats
    """The weight of the rows that each leaf was learned from."""

    def rules(self, nominal: NDArray[np.bool_], classes: int) -> Rules:
        """Give the leaves as boxes. nominal: which features are; classes: how many votes a rule has."""
        values = nominal.astype(np.int64)
        for f, t in zip(self.nodes["feature"].tolist(), self.nodes["threshold"].tolist(), strict=True):
            if f < LEAF:
                values[-2 - f] = max(values[-2 - f], int(-t))
        votes = np.zeros((len(self.votes), classes))
        votes[:, : self.votes.shape[1]] = self.votes
        return boxes_of_tree(self.nodes, self.missing, values, votes, self.support)

    def hard(self) -> "ChunkTree":
        """The same tree, each leaf of which votes for its heaviest class alone (the first among equals)."""
        votes = np.zeros_like(self.votes)
        votes[np.arange(len(votes)), self.votes.argmax(axis=1)] = 1.0
        return replace(self, votes=votes)

    def squared_error(self, X: Floats, y: Ints, w: Floats) -> float:
        """The weighted mean of the square of what it lacks of certainty in the true class."""
        return float(jit.squared_errors(self.nodes, self.missing, self.votes, X, y, w) / w.sum())


def grow_tree(
    X: Floats, y: Ints, values: Ints, *, w: Floats | None = None, classes: int | None = None, min_leaf: float = 2.0,
    confidence: float | None = 0.25,
) -> ChunkTree:  # fmt: skip
    """Grow and prune a tree after C4.5.

    Of the tests with at least average gain the one with the highest gain ratio is taken: x ≤ t, or a branch for each
    value of a nominal feature. At least two branches must hold ``min_leaf`` weight. Rows whose value is missing follow
    the heaviest branch (C4.5 divides them). confidence: of pessimistic pruning, lower prunes more; None: no pruning.
    values: 0 for a numeric feature, else how many values it has. Subtrees are replaced by leaves, never raised.

    Reference: J. R. Quinlan, "C4.5: Programs for Machine Learning", 1993; "Improved use of continuous attributes in
    C4.5", JAIR 4, 1996.

    >>> import numpy as np
    >>> X = np.random.default_rng(1).random((500, 2))
    >>> tree = grow_tree(X, (X[:, 0] > 0.3).astype(np.int64), np.zeros(2, dtype=np.int64))
    >>> len(tree.votes)
    2
    """
    w = np.ones(len(X)) if w is None else w
    classes = int(y.max(initial=0)) + 1 if classes is None else classes
    order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T.astype(np.int64))
    links, cuts, counts = jit.grow(X, y, w, order, values, classes, float(min_leaf))
    if confidence is not None:
        jit.prune(links, counts, float(confidence), max(0.0, NormalDist().inv_cdf(1.0 - confidence)))
    return ChunkTree(*jit.finish(links, cuts, counts))


def sklearn_tree(X: Floats, y: Ints, *, w: Floats, classes: int, min_leaf: float = 2.0) -> ChunkTree:
    """Let scikit-learn grow a tree by entropy. It tests the codes of nominal values as numbers, and does not prune."""
    from sklearn.tree import DecisionTreeClassifier

    from thalweg.index.sources import rules_of

    model: Any = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=max(1, round(min_leaf)), random_state=0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # many classes among few rows are no mistake here
        model.fit(np.clip(X, -_LARGEST, _LARGEST).astype(np.float32), y, sample_weight=w)
    [rules] = rules_of(model)
    assert rules.nodes is not None
    assert rules.missing is not None
    assert rules.leaf_rule is not None
    leaves = np.maximum(rules.leaf_rule, 0)
    votes = np.zeros((len(leaves), classes))
    votes[:, np.asarray(model.classes_, dtype=np.int64)] = rules.payload[leaves]
    return ChunkTree(rules.nodes, rules.missing, votes, rules.support[leaves])


def refuse_unsound(tree: ChunkTree, nominal: NDArray[np.bool_]) -> None:
    """Refuse a tree whose nodes point outside it."""
    feature, left = tree.nodes["feature"].astype(np.int64), tree.nodes["left"].astype(np.int64)
    n, here = len(feature), np.arange(len(feature))
    leaf, text = feature == LEAF, feature < LEAF
    which = np.where(text, -2 - feature, feature)
    branches = np.where(text & (tree.nodes["threshold"] < 0.0), -tree.nodes["threshold"], 2.0)
    inner = ~leaf
    sound = (
        np.array_equal(np.sort(left[leaf]), np.arange(len(tree.votes)))
        and bool((which[inner] < len(nominal)).all())
        and bool((nominal[which[inner]] >= text[inner]).all())
        and bool((left[inner] > here[inner]).all())
        and bool((left[inner] + branches[inner] <= n).all())
        and bool(((tree.missing >= left) & (tree.missing < left + branches))[inner].all())
        and bool(np.isfinite(tree.votes).all() and (tree.votes >= 0.0).all() and (tree.votes.sum(axis=1) > 0.0).all())
    )
    if not sound:
        raise ValueError("its trees point outside themselves")
