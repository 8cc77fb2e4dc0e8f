"""A tree from one chunk of labelled rows: the library's own after C4.5, or scikit-learn's."""

import warnings
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.core.protocols import State
from thalweg.index.rules import Floats, Ints, Rules, boxes_of_tree
from thalweg.learners.chunks import chunk_tree_jit as jit
from thalweg.pool.pool_jit import LEAF, NODE

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


class Trees(NamedTuple):
    """The tables of trees, one after another; nodes and leaves are numbered from 0 in each."""

    nodes: Annotated[
        NDArray[np.void],
        table("nodes", dtype=NODE, cells={
            "threshold": span(), "feature": span("-1 - d", "d - 1"), "left": span(0, "nodes - 1"),
        }),
    ]  # fmt: skip
    """nodes: a test and its first branch, or a leaf and its number."""
    missing: Annotated[Ints, table("nodes", least=-1, most="nodes - 1")]
    """nodes: the branch for missing values."""
    votes: Annotated[Floats, table("leaves", "K", least=0)]
    """leaves × classes: shares of the classes in each leaf."""
    support: Annotated[Floats, table("leaves", least=0)]
    """leaves: the weight of the rows that each was learned from."""
    sizes: Annotated[Ints, table("trees", 2, cells={0: span(1, "nodes"), 1: span(1, "leaves")})]
    """trees × 2: nodes and leaves of each."""


def cut_trees(tables: State, nominal: NDArray[np.bool_]) -> list[ChunkTree]:
    """Give the trees that tables, as they are declared, hold; refuse what are no trees."""
    sizes = tables["sizes"]
    ends = np.cumsum(sizes, axis=0)
    if ends[-1:].tolist() != [[len(tables["nodes"]), len(tables["votes"])]][: len(ends)]:
        raise ValueError("its table 'sizes' does not fit its trees")
    trees = []
    for (a, b), (c, d) in zip((ends - sizes).tolist(), ends.tolist(), strict=True):
        parts = tables["nodes"][a:c], tables["missing"][a:c], tables["votes"][b:d], tables["support"][b:d]
        tree = ChunkTree(*(part.copy() for part in parts))
        if not _is_tree(tree, nominal):
            raise ValueError("its trees point outside themselves")
        trees.append(tree)
    return trees


def _is_tree(tree: ChunkTree, nominal: NDArray[np.bool_]) -> bool:
    """Is each node but the first a branch of one node before it, each leaf there once, each test of a known feature?"""
    feature, left = tree.nodes["feature"].astype(np.int64), tree.nodes["left"].astype(np.int64)
    threshold, n = tree.nodes["threshold"], len(feature)
    inner, text = feature != LEAF, feature < LEAF
    which = np.where(text, -2 - feature, feature)
    branches = np.where(text, np.clip(-threshold, 0, n), 2.0)
    whole = branches == np.floor(branches)
    first, count = left[inner], branches[inner].astype(np.int64)
    if not whole[inner].all() or count.sum() != n - 1 or (count < 1).any():
        return False
    below = np.repeat(first - np.cumsum(count) + count, count) + np.arange(n - 1)
    return bool(
        np.array_equal(np.sort(below), np.arange(1, n))
        and (first > np.flatnonzero(inner)).all()
        and np.array_equal(np.sort(left[~inner]), np.arange(len(tree.votes)))
        and (nominal[which[inner]] >= text[inner]).all()
        and ((tree.missing[inner] >= first) & (tree.missing[inner] < first + count)).all()
        and (tree.votes.sum(axis=1) > 0.0).all()
    )
