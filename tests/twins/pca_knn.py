"""Principal components and the neighbours behind them once more, slowly, as the papers write them."""

import numpy as np

from twins.knn import SlowWindowKNN


class PlainPCA:
    """CCIPCA, a row at a time; a value that is missing is the mean."""

    def __init__(self, d, p, *, amnesia=0.0, centre=True):
        self.v, self.mean, self.n, self.amnesia, self.centre = np.zeros((p, d)), np.zeros(d), 0, amnesia, centre

    def project(self, x):
        lengths = np.linalg.norm(self.v, axis=1)
        u = np.where(np.isnan(x), self.mean, x) - self.mean
        return np.array([(u @ a) / b if b > 0 else 0.0 for a, b in zip(self.v, lengths, strict=True)])

    def learn(self, x):
        self.n += 1
        n, v = self.n, self.v
        x = np.where(np.isnan(x), self.mean, x)
        if self.centre:
            self.mean = self.mean + (x - self.mean) / n
        u = x - self.mean
        fade = max(0.0, min(self.amnesia, n - 2))
        for i in range(min(len(v), n)):
            norm = np.linalg.norm(v[i])
            if i + 1 == n or norm == 0.0:
                v[i] = u
                if np.linalg.norm(u) > 0.0:
                    break
                continue
            v[i] = (n - 1 - fade) / n * v[i] + (1 + fade) / n * (u @ v[i]) / norm * u
            unit = v[i] / np.linalg.norm(v[i])
            u = u - (u @ unit) * unit


class PlainPCAKNN:
    """A window of rows as they came, and of their projections: after every so many rows all of these are made anew."""

    def __init__(self, d, p, *, reproject_every=None, amnesia=0.0, centre=True, **neighbours):
        self.components = PlainPCA(d, p, amnesia=amnesia, centre=centre)
        self.neighbours = SlowWindowKNN([None] * p, **neighbours)
        self.every, self.raw = reproject_every, []

    def proba(self, x):
        return self.neighbours.proba(self.components.project(x))

    def learn(self, x, y, w=1.0):
        self.neighbours.learn(self.components.project(x), y, w)
        self.components.learn(x)
        self.raw = [*self.raw, x][-self.neighbours.window :]
        if self.every is not None and self.components.n % self.every == 0:
            self.neighbours.rows = [self.components.project(x) for x in self.raw]
