"""Streams that change, for tests of forests."""

import numpy as np

from thalweg import Feature, Schema

MIXED = (None, 3, None, 5, None, 2)
"""Numbers, and how many values the nominal features have."""


def by_appearance(y, w=None):
    """Number the classes in the order in which they appear with weight, as the library does."""
    first = list(dict.fromkeys(y.tolist() if w is None else [*y[w > 0].tolist(), *y.tolist()]))
    return np.array([first.index(c) for c in y.tolist()], dtype=np.int64)


def changing(seed, n, kinds=MIXED, classes=2, every=400, missing=0.0, noise=0.05, late=0):
    """Rows whose class changes its meaning abruptly ``every`` so many rows; class c appears at row c · ``late``."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, len(kinds)))
    for f, k in enumerate(kinds):
        X[:, f] = rng.normal(size=n) if k is None else np.minimum(rng.geometric(0.4, n) - 1, k - 1)
    concept = np.arange(n) // every
    d = len(kinds)
    score = np.zeros(n, dtype=np.int64)
    for step in range(2):  # two features, others in each concept
        f = (concept + step * 2) % d
        v = X[np.arange(n), f]
        nominal = np.array([kinds[i] is not None for i in f])
        score += np.where(nominal, v, v > 0.0).astype(np.int64) * (step + 1)
    y = (score + concept) % classes
    noisy = rng.random(n) < noise
    y[noisy] = rng.integers(0, classes, int(noisy.sum()))
    if late:
        y = np.minimum(y, np.arange(n) // late)
    X[rng.random(X.shape) < missing] = np.nan
    return X, by_appearance(y)


def schema_of(kinds, *, open=False, classes=None):
    """Which features are numbers (None) and which are nominal."""
    features = (Feature(f"f{i}", values=None if k is None else tuple(range(k)), open=open) for i, k in enumerate(kinds))
    return Schema(tuple(features), classes=classes)
