"""A learner as a user would write it: no compiled code, and no rule for missing values."""

from typing import final

import numpy as np

from thalweg import Classifier


@final
class Centroids(Classifier):
    """Predict the class whose mean is nearest."""

    __slots__ = ("_sums", "_weights")

    def __init__(self, *, sharpness: float = 1.0) -> None:
        self.sharpness = sharpness

    def _start(self, schema):
        self._sums = np.zeros((0, schema.n_features))
        self._weights = np.zeros(0)

    def _play(self, X, y, w, events, out, known):
        more = len(self._labels) - len(self._weights)
        self._sums = np.pad(self._sums, ((0, more), (0, 0)))
        self._weights = np.pad(self._weights, (0, more))
        for e in events:
            if e < 0:
                self._sums[y[~e]] += w[~e] * X[~e]
                self._weights[y[~e]] += w[~e]
                known = max(known, y[~e] + 1)
            else:
                seen = np.flatnonzero(self._weights[:known])
                means = self._sums[seen] / self._weights[seen, None]
                near = -self.sharpness * ((means - X[e]) ** 2).sum(axis=1)
                share = np.exp(near - near.max(initial=-np.inf))
                out[e, seen] = share / share.sum()

    def _tables(self):
        return {"sums": self._sums, "weights": self._weights}

    def _adopt(self, tables, schema, classes):
        self._sums, self._weights = tables["sums"], tables["weights"]
