"""Streams on which trees grow, and a look inside a compiled tree."""

import numpy as np

from thalweg import Feature, HoeffdingTree, Schema
from thalweg.pool import pool_jit as p
from thalweg.pool.leaf_jit import S_NUMBERS


def numeric_stream(seed, n, d=5, classes=2, noise=0.1):
    """Rows of ``d`` numbers whose class is found by a few nested thresholds, with some labels at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.1, 10, d) + rng.normal(size=d)
    middle = np.median(X, axis=0)
    bits = (X > middle).astype(np.int64)
    y = (bits[:, 0] * 2 + bits[:, 1] * bits[:, 0] + (1 - bits[:, 0]) * bits[:, 2 % d]) % classes
    if classes > 2:
        y = (bits[:, 0] * 4 + bits[:, 1] * 2 + bits[:, 2 % d]) % classes
    noisy = rng.random(n) < noise
    y[noisy] = rng.integers(0, classes, noisy.sum())
    return X, by_appearance(y)


def mixed_stream(seed, n, cardinalities=(None, 3, None, 5, 2), classes=3, noise=0.1, missing=0.0):
    """Numbers (None) and codes of nominal values; the class depends on both; some cells are NaN."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, len(cardinalities)))
    parts = np.zeros(n, dtype=np.int64)
    for f, k in enumerate(cardinalities):
        if k is None:
            X[:, f] = rng.normal(size=n)
            parts += X[:, f] > 0.3 * f
        else:
            X[:, f] = np.minimum(rng.geometric(0.5, n) - 1, k - 1)
            parts += X[:, f].astype(np.int64)
    y = parts % classes
    noisy = rng.random(n) < noise
    y[noisy] = rng.integers(0, classes, noisy.sum())
    X[rng.random(X.shape) < missing] = np.nan
    return X, by_appearance(y)


def tree_stream(seed, n, d=10, depth=6, classes=2, noise=0.05):
    """Uniform rows whose class a random tree of this depth decides: a concept that wants a big tree."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    feature, share = rng.integers(0, d, 2**depth), rng.uniform(0.3, 0.7, 2**depth)
    answer = rng.integers(0, classes, 2**depth)
    low, high = np.zeros((n, d)), np.ones((n, d))
    rows, node = np.arange(n), np.ones(n, dtype=np.int64)
    for _ in range(depth):
        f = feature[node]
        t = low[rows, f] + (high[rows, f] - low[rows, f]) * share[node]
        right = X[rows, f] > t
        low[rows[right], f[right]] = t[right]
        high[rows[~right], f[~right]] = t[~right]
        node = 2 * node + right
    y = answer[node - 2**depth]
    noisy = rng.random(n) < noise
    y[noisy] = rng.integers(0, classes, noisy.sum())
    return X, by_appearance(y)


def declared(cardinalities, *, open=False, **parameters):
    """A tree that knows which features are nominal (their number of values) and which are numbers (None)."""
    features = tuple(
        Feature(f"f{i}", values=None if k is None else tuple(range(k)), open=open) for i, k in enumerate(cardinalities)
    )
    return HoeffdingTree(**parameters).declare(Schema(features))


def by_appearance(y, w=None):
    """Number the classes in the order in which they appear with weight, as the library does."""
    first = list(dict.fromkeys(y.tolist() if w is None else [*y[w > 0].tolist(), *y.tolist()]))
    return np.array([first.index(c) for c in y.tolist()], dtype=np.int64)


def structure(pool, i=0):
    """The tree below node i as nested tuples: (feature, test, branches), or None for a leaf."""
    node = pool.nodes[i]
    code, t, first = int(node["feature"]), float(node["threshold"]), int(node["left"])
    if code == p.LEAF:
        return None
    if code >= 0:
        f, test, k = code, ("<=", t), 2
    elif t >= 0:
        f, test, k = -2 - code, ("==", int(t)), 2
    else:
        f, test, k = -2 - code, ("values", int(-t)), int(-t)
    return f, test, tuple(structure(pool, first + b) for b in range(k))


def nodes_below(pool, i=0):
    """All nodes below and with node i."""
    found = [i]
    if pool.nodes[i]["feature"] != p.LEAF:
        first = int(pool.nodes[i]["left"])
        for child in range(first, first + int(p.arity(pool.nodes, i))):
            found += nodes_below(pool, child)
    return found


def leaves(pool, root=0):
    """The leaves of a tree."""
    return [i for i in nodes_below(pool, root) if pool.nodes[i]["feature"] == p.LEAF]


def follow(tree, twin, X, y, w=None):
    """Give every row to both, the test before the training; check every answer, every split and when it happened."""
    splits, before = [], len(twin.splits)
    used = int(tree._pool.head[p.H_NODES]) if tree._started else 1
    for r in range(len(X)):
        x = X[r].tolist()
        weight = 1.0 if w is None else float(w[r])
        if tree._started:
            got = tree.predict_proba(X[r : r + 1])[0]
            np.testing.assert_allclose(got, twin.proba(x), rtol=1e-9, err_msg=f"row {r}")
        if weight > 0.0:
            tree.partial_fit(X[r : r + 1], y[r : r + 1], sample_weight=[weight])
        twin.learn(x, int(y[r]), weight)
        if tree._started and tree._pool.head[p.H_NODES] != used:
            used = int(tree._pool.head[p.H_NODES])
            splits.append(twin.rows)
        assert len(splits) == len(twin.splits) - before, (
            f"row {r}: twin {twin.splits[-1:]}, compiled {structure(tree._pool)}"
        )
    assert splits == [row for row, *_ in twin.splits[before:]]
    assert structure(tree._pool) == twin.structure()
    check_leaves(tree._pool, twin)
    return len(splits)


def check_leaves(pool, twin):
    """Weights, the weight at the last attempt and the two scores of every leaf, bit for bit."""
    for i, leaf in zip(leaves(pool), twin.leaves(), strict=True):
        counts = [leaf.counts.get(c, 0.0) for c in range(pool.tally.shape[1] - 1)]
        assert pool.tally[i].tolist() == [leaf.weight, *counts]
        slot = int(pool.nodes[i]["left"])
        if slot >= 0:
            assert pool.stats[slot, :S_NUMBERS].tolist() == [leaf.last, leaf.majority_right, leaf.bayes_right]
