"""A Bayesian network from records: each feature depends on the class and on one other feature (TAN)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Feature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST = 50_000_000  # numbers in all tables


class Network(NamedTuple):
    """The tables of bayes_net_jit, in its order."""

    prior: Floats
    order: Ints
    parents: Ints
    sizes: Ints
    starts: Ints
    sums: Floats
    firsts: Ints
    low: Floats
    high: Floats


def learned(X: Floats, classes: Ints, n_classes: int, features: tuple[Feature, ...], bins: int) -> Network:
    """Learn the network: categories, the tree of features, tables smoothed by ½."""
    columns = [_categories(X[:, f], feature, bins) for f, feature in enumerate(features)]
    codes = [column[0] for column in columns]
    sizes = np.array([len(column[1]) for column in columns])
    parents, order = _tree(codes, sizes, classes, n_classes)
    tables = []
    for f, size in enumerate(sizes.tolist()):
        parent = int(parents[f])
        cases = n_classes if parent < 0 else n_classes * int(sizes[parent])
        if cases * size > _MOST:
            raise ValueError(
                f"stream must have nominal features of fewer values, got {size:,} for {features[f].name!r}"
            )
        case = classes if parent < 0 else classes * sizes[parent] + codes[parent]
        tables.append(_running(np.bincount(case * size + codes[f], minlength=cases * size).reshape(cases, size)))
    prior = _running(np.bincount(classes, minlength=n_classes).reshape(1, -1))
    ends = np.cumsum([len(table) for table in tables])
    return Network(
        prior,
        order,
        parents,
        sizes,
        ends - [len(table) for table in tables],
        np.concatenate(tables),
        np.cumsum(sizes) - sizes,
        np.concatenate([column[1] for column in columns]),
        np.concatenate([column[2] for column in columns]),
    )


def _running(counts: Ints) -> Floats:
    """Turn counts, a row for each case, into running sums of shares."""
    shares = counts + 0.5
    return np.asarray(np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1).ravel())


def _categories(x: Floats, feature: Feature, bins: int) -> tuple[Ints, Floats, Floats]:
    """Give the category of each value, and from where to where each category reaches; a missing value is one, too."""
    missing = np.isnan(x)
    if feature.values is not None:
        low = high = np.arange(float(max(1, len(feature.values))))
        codes = np.where(missing, 0.0, x).astype(np.int64)
    elif missing.all():
        low = high = np.empty(0)
        codes = np.zeros(len(x), dtype=np.int64)
    else:  # equally many values in each bin, as far as equal values allow
        edges = np.unique(np.quantile(x[~missing], np.linspace(0.0, 1.0, bins + 1), method="nearest"))
        low, high = (edges[:-1], edges[1:]) if len(edges) > 1 else (edges, edges)
        codes = np.clip(np.searchsorted(edges, np.where(missing, edges[0], x), side="right") - 1, 0, len(low) - 1)
    if missing.any():
        codes = np.where(missing, len(low), codes)
        low, high = np.append(low, np.nan), np.append(high, np.nan)
    return codes, low, high


def _tree(codes: list[Ints], sizes: Ints, classes: Ints, n_classes: int) -> tuple[Ints, Ints]:
    """Join the features to the tree of the largest mutual information given the class, from the first feature on.

    Friedman, Geiger, Goldszmidt: Bayesian network classifiers. Machine Learning 29, 1997. The tree grows by Prim's way.
    """
    d = len(codes)
    parents, order = np.full(d, -1), [0]
    best, by = np.full(d, -1.0), np.zeros(d, dtype=np.int64)
    while len(order) < d:
        i = order[-1]
        for j in range(d):
            if j not in order and (shared := _information(codes[i], codes[j], sizes[i], sizes[j], classes)) > best[j]:
                best[j], by[j] = shared, i
        best[order] = -np.inf
        j = int(np.argmax(best))
        parents[j] = by[j]
        order.append(j)
    return parents, np.array(order)


def _information(a: Ints, b: Ints, size_a: int, size_b: int, classes: Ints) -> float:
    """I(A; B | C) in nats, from counts; only what occurs is counted, so that rare values cost no room."""
    with_a, with_b = classes * size_a + a, classes * size_b + b
    both = with_a * size_b + b
    return _plogp(both) - _plogp(with_a) - _plogp(with_b) + _plogp(classes)


def _plogp(values: Ints) -> float:
    """Σ p log p over the values."""
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float((shares * np.log(shares)).sum())
