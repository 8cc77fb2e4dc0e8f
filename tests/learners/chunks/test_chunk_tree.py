"""The tree of a chunk against its plain twin, test by test and vote by vote."""

import numpy as np
import pytest

from thalweg.learners.chunks.chunk_tree import grow_tree, sklearn_tree
from thalweg.pool.pool_jit import LEAF
from twins.chunk_tree import shape, twin_tree, votes


def shape_of(tree, i=0):
    feature, threshold, left = (tree.nodes[i][name].item() for name in ("feature", "threshold", "left"))
    if feature == LEAF:
        return ()
    k = 2 if feature >= 0 else int(-threshold)
    test = (feature, threshold) if feature >= 0 else (-2 - feature, None)
    return (*test, int(tree.missing[i]) - left, *(shape_of(tree, left + b) for b in range(k)))


def rows(seed, n=160, classes=3, missing=0.0):
    """Numbers, coarse numbers with many ties, two nominal features, and a constant."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=n), rng.integers(0, 6, n), rng.integers(0, 4, n), rng.integers(0, 2, n), np.ones(n)]
    score = X[:, 0] + (X[:, 2] == 1) * 1.5 - (X[:, 1] > 3) + rng.normal(0, 0.4, n)
    y = np.digitize(score, np.linspace(-1.5, 1.5, classes + 1)[1:-1]).astype(np.int64)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y, np.array([0, 0, 4, 2, 0])


@pytest.mark.parametrize("confidence", [None, 0.25, 0.01])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(6))
def test_equals_its_twin(seed, missing, confidence):
    X, y, values = rows(seed, missing=missing, classes=2 + seed % 3)
    w = None if seed % 2 else np.random.default_rng(seed).choice([0.5, 1.0, 2.0], len(y))
    given = {"w": w, "min_leaf": (2.0, 1.0, 7.0)[seed % 3], "confidence": confidence}
    tree, twin = grow_tree(X, y, values, **given), twin_tree(X, y, values, **given)
    assert shape_of(tree) == shape(twin)
    new = rows(seed + 50, missing=0.2)[0]
    new[::7, 2] = 9.0  # a value never seen
    rules = tree.rules(values > 0, tree.votes.shape[1])
    held = rules.holds(new)
    assert (held.sum(axis=1) == 1).all()
    assert np.array_equal(rules.payload[held.argmax(axis=1)], [votes(twin, x) for x in new])


def test_extreme_numbers():
    x = np.array([-1.7e308, -1.7e308, 1.7e308, 1.7e308, 5e-324, 5e-324, 0.0, 0.0] * 5)
    y = np.array([0, 0, 1, 1, 2, 2, 3, 3] * 5)
    given = {"min_leaf": 2.0, "confidence": None}
    tree = grow_tree(x[:, None], y, np.zeros(1, dtype=np.int64), **given)
    assert len(tree.votes) == 4
    assert shape_of(tree) == shape(twin_tree(x[:, None], y, [0], **given))
    assert np.isfinite(tree.nodes["threshold"]).all()


def test_pruning_finds_what_is_noise():
    rng = np.random.default_rng(0)
    X = np.c_[rng.random(2_000), rng.integers(0, 8, (2_000, 4))]
    y = np.where(rng.random(2_000) < 0.7, (X[:, 0] > 0.6).astype(np.int64), rng.integers(0, 2, 2_000))
    grown, pruned = (grow_tree(X, y, np.array([0, 8, 8, 8, 8]), confidence=c) for c in (None, 0.05))
    assert len(pruned.votes) < 0.5 * len(grown.votes)
    assert pruned.nodes[0]["feature"] == 0
    assert abs(pruned.nodes[0]["threshold"] - 0.6) < 0.01


def test_one_class_and_one_row_are_leaves():
    for n in (1, 2, 30):
        tree = grow_tree(np.arange(float(n))[:, None], np.ones(n, dtype=np.int64), np.zeros(1, dtype=np.int64))
        assert tree.votes.tolist() == [[0.0, 1.0]]
        assert tree.support.tolist() == [n]


def test_squared_error_is_of_the_votes():
    X, y, values = rows(3, missing=0.1)
    tree, twin = grow_tree(X, y, values), twin_tree(X, y, values)
    new, truth, _ = rows(4, missing=0.1)
    new[::9, 2] = 8.0
    w = np.linspace(0.5, 2.0, len(new))
    miss = np.array([1.0 - votes(twin, x)[c] for x, c in zip(new, truth, strict=True)])
    assert tree.squared_error(new, truth, w) == pytest.approx(float((w * miss**2).sum() / w.sum()))


def test_scikit_learns_tree_votes_as_it_does():
    tree_module = pytest.importorskip("sklearn.tree")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3)).astype(np.float32).astype(np.float64)
    y = 2 * (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64)  # class 1 is not there
    ours = sklearn_tree(X, y, w=np.ones(400), classes=4, min_leaf=5)
    theirs = tree_module.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5, random_state=0).fit(X, y)
    rules = ours.rules(np.zeros(3, dtype=bool), 4)
    assert np.array_equal(rules.payload[rules.holds(X).argmax(axis=1)][:, [0, 2]], theirs.predict_proba(X))
    assert not ours.votes[:, [1, 3]].any()
