"""The nearest neighbours in a window once more, slowly: a list of rows, and NumPy over all of it for every query."""

import numpy as np


class SlowWindowKNN:
    """kinds: for each feature None (a number) or something else (nominal)."""

    def __init__(self, kinds, *, k=5, window=1000, metric="euclidean", ties="all", weights="uniform", scale="window"):
        self.nominal = [kind is not None for kind in kinds]
        self.k, self.window, self.metric, self.ties, self.weights, self.scale = k, window, metric, ties, weights, scale
        self.rows, self.labels, self.voices, self.ever = [], [], [], []
        self.classes = 0

    def learn(self, x, y, w=1.0):
        self.classes = max(self.classes, y + 1)
        if w > 0:
            self.rows, self.labels, self.voices = (
                [*old, new][-self.window :]
                for old, new in ((self.rows, np.array(x)), (self.labels, y), (self.voices, w))
            )
            self.ever.append(np.array(x))

    def column(self, f):
        """How differences are scaled (None: no two values differ); the least and greatest value (None: no values)."""
        values = np.array([row[f] for row in (self.ever if self.scale == "online" else self.rows)])
        values = values[~np.isnan(values)]
        if not len(values):
            return None, None
        span = values.min(), values.max()
        if self.scale is None:
            return 1.0, span
        if span[0] == span[1]:
            return None, span
        return 1.0 / (span[1] - span[0] if self.scale == "window" else deviation(values)), span

    def gaps(self, f, x):
        """How far each row is from x in one feature."""
        z = np.array([row[f] for row in self.rows])
        if self.nominal[f] or self.metric == "hamming":
            return (z != x).astype(float)  # NaN is not even equal to itself
        by, span = self.column(f)
        if by is None:
            unknown = 0.0 if self.scale is None else 1.0
            return np.where(np.isnan(z) | np.isnan(x), unknown, 0.0)
        least, greatest = span
        if np.isnan(x):
            farthest = np.maximum(greatest - z, z - least) * by
            return np.where(np.isnan(z), (greatest - least) * by, farthest)
        return np.where(np.isnan(z), max(greatest - x, x - least) * by, np.abs(x - z) * by)

    def distances(self, x):
        if self.metric == "cosine":
            return self.turns(x)
        total = np.zeros(len(self.rows))
        for f in range(len(x)):  # in this order, so that equal is equal
            gap = self.gaps(f, x[f])
            total = total + (gap * gap if self.metric == "euclidean" else gap)
        return total

    def turns(self, x):
        product, own, other = np.zeros(len(self.rows)), 0.0, np.zeros(len(self.rows))
        for f in range(len(x)):
            z = np.array([row[f] for row in self.rows])
            if self.nominal[f]:
                product, own, other = product + (z == x[f]), own + float(x[f] == x[f]), other + (z == z)
                continue
            by, _ = self.column(f)
            a, b = np.nan_to_num(x[f]) * (by or 0.0), np.nan_to_num(z) * (by or 0.0)
            product, own, other = product + a * b, own + a * a, other + b * b
        length = np.sqrt(own) * np.sqrt(other)
        cosine = np.divide(product, length, out=np.zeros(len(product)), where=length > 0)
        return np.where(length > 0, np.maximum(0.0, 1 - cosine), 1.0)

    def nearest(self, x):
        """The rows that vote, by position in the window, and their distances."""
        far = self.distances(x)
        order = np.argsort(far, kind="stable")  # the oldest first among equals
        chosen = order[: self.k]
        if self.ties == "all" and len(order):
            chosen = order[far[order] <= far[chosen[-1]]]
        return chosen, np.sqrt(far[chosen]) if self.metric == "euclidean" else far[chosen]

    def proba(self, x):
        votes = np.zeros(self.classes)
        chosen, far = self.nearest(x)
        for i, distance in zip(chosen, far, strict=True):
            votes[self.labels[i]] += self.voices[i] / (max(distance, 1e-9) if self.weights == "distance" else 1.0)
        return votes / votes.sum() if votes.sum() > 0 else np.full(self.classes, 1 / self.classes)


def deviation(values):
    """The standard deviation, as one adds up value after value."""
    mean, squares = 0.0, 0.0
    for n, v in enumerate(values, start=1):
        gap = v - mean
        mean += gap / n
        squares += gap * (v - mean)
    return np.sqrt(squares / len(values))
