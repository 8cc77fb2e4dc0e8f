"""Rows on which learners and their slow twins are compared, and what the comparisons share."""

import numpy as np

from thalweg import Feature, Schema


def schema_of(kinds, *, open=False):
    """kinds: None for a number, or how many values a nominal feature has."""
    values = [None if k is None else tuple(range(k)) for k in kinds]
    return Schema(tuple(Feature(f"f{i}", values=v, open=open) for i, v in enumerate(values)))


def in_order(y):
    """Number the classes in the order in which they appear."""
    first = list(dict.fromkeys(y.tolist()))
    return np.array([first.index(c) for c in y])


def ball_rows(seed, n, kinds, *, whole=False, classes=3):
    """Rows whose classes appear one after the other; one feature never changes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(3, 2, n) if k is None else rng.integers(0, k, n) for k in kinds]).astype(float)
    if whole:  # so that many distances are equal
        X = np.round(X)
    X[:, 2] = 7.0
    noise = rng.random(n) < 0.1
    return X, in_order(np.minimum(((X[:, 0] > 3).astype(int) + (X[:, 3] > 3) + noise) % classes, np.arange(n) // 20))


def four_features(seed, n, nominal=False):
    """Rows of four features, the second one nominal on demand."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(3, 2, (n, 4)), 1)
    if nominal:
        X[:, 1] = rng.integers(0, 3, n)
    return X, in_order((X[:, 0] > 3).astype(int) + (X[:, 3] > 4))


def accuracy(learner, X, y):
    """Test-then-train accuracy."""
    guesses = learner.test_then_train(X, y).argmax(axis=1)
    return float((learner.classes_[guesses] == y).mean())


def same(a, b):
    """Demand that two states are equal to the last bit."""
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
