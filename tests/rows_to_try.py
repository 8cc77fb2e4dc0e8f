"""Rows on which learners and their slow twins are compared, and what the comparisons share."""

import os
from pathlib import Path

import numpy as np
import pytest

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


def real_rows(name):
    """Rows and labels of a real stream, in one random order where they come sorted; skips where it is not there."""
    folder = Path(os.environ.get("THALWEG_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    path = folder / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"no {path.name} in THALWEG_DATA")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path)
    y = np.unique(table.column("class").to_numpy(zero_copy_only=False), return_inverse=True)[1]
    names = [c for c in table.column_names if c not in ("class", "batch", "concentration")]
    X = np.column_stack([table.column(c).to_numpy().astype(float) for c in names])
    if name in ("spambase", "magic"):
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    return X, y
