"""Condensed neighbours once more, slowly: a list of rows, and NumPy over all of them for every record."""

import numpy as np

from twins.ball_cover import SlowBallCover


class SlowCondensedKNN:
    """nominal: which features are."""

    def __init__(self, nominal, *, k=1, max_rows=1000, scale="online"):
        self.measures, self.k, self.max_rows = SlowBallCover(nominal, scale=scale), k, max_rows
        self.rows, self.classes = [], 0  # the oldest first

    def votes(self, z):
        p = np.full(self.classes, 1 / self.classes)
        if self.rows:
            D = self.measures.keys(z, np.array([row for row, _, _ in self.rows]))
            for s in np.argsort(D, kind="stable")[: self.k]:
                p[self.rows[s][1]] += self.rows[s][2]
        return p

    def proba(self, x):
        p = self.votes(self.measures.placed(x))
        return p / p.sum()

    def learn(self, x, y, w=1.0):
        z = self.measures.placed(x)
        if not self.rows or y >= self.classes or self.votes(z).argmax() != y:
            self.rows = [*self.rows, (z, y, w)][-self.max_rows :]
        self.classes = max(self.classes, y + 1)
        self.measures.observe(x)
