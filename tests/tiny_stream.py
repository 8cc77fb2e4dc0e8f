"""A stream over arrays and a learner that notices every change of order, for the tests of evaluation."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.classifier import Classifier
from thalweg.core.schema import Schema


class TinyStream:
    """Rows of arrays, in order."""

    def __init__(self, X, y, w=None, time=None, label_time=None, *, schema=None, drifts=()):
        self._all = Chunk(X, y, w, time, label_time)
        self.schema = schema or Schema.numeric(X.shape[1])
        self.drifts = drifts
        self.at = 0

    @property
    def rows(self):
        return len(self._all)

    def read(self, n):
        if self.at >= len(self._all):
            return None
        chunk = self._all[self.at : self.at + n]
        self.at += len(chunk)
        return chunk

    def state(self):
        return {"at": np.array([self.at])}

    def restore(self, state):
        self.at = int(state["at"][0])


@final
class Moving(Classifier):
    """Moves the mean of a class towards each row of it; the nearer the mean, the more probable the class."""

    def __init__(self, *, step: float = 0.3) -> None:
        self.step = step

    def _start(self, schema):
        self._means = np.zeros((0, schema.n_features))

    def _play(self, X, y, w, events, out, known):
        if len(self._means) < len(self._labels):
            self._means = np.pad(self._means, ((0, len(self._labels) - len(self._means)), (0, 0)))
        for e in events:
            if e >= 0:
                near = np.exp(-((self._means[:known] - X[e]) ** 2).sum(axis=1))
                out[e, :known] = near / near.sum() if near.sum() > 0 else 1.0 / max(known, 1)
            else:
                self._means[y[~e]] += self.step * w[~e] * (X[~e] - self._means[y[~e]])
                known = max(known, int(y[~e]) + 1)

    def _tables(self):
        return {"means": self._means}

    def _adopt(self, tables, schema, classes):
        self._means = tables["means"]


def rows(n=700, classes=3, seed=0, *, labels=None, weights=False):
    """Make a stream in which classes appear one after another and their centres move."""
    rng = np.random.default_rng(seed)
    open_classes = np.minimum(1 + np.arange(n) * classes // max(n // 2, 1), classes)
    codes = (rng.random(n) * open_classes).astype(np.int64)
    X = rng.normal(size=(n, 2)) + 1.5 * np.stack([np.cos(2.1 * codes), np.sin(2.1 * codes)], axis=1)
    X[n // 2 :] *= -1.0
    y = codes if labels is None else np.array(labels)[codes]
    w = rng.integers(0, 4, n) / 2.0 if weights else None
    return X, y, w
