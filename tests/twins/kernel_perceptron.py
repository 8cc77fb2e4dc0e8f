"""A perceptron with a Gaussian once more, slowly: a list of rows, and NumPy over all of them for every record."""

import numpy as np

from thalweg.jit.random import integer, seeded
from twins.ball_cover import SlowBallCover


class SlowKernelPerceptron:
    """nominal: which features are."""

    def __init__(self, nominal, *, max_rows=1000, discard="oldest", width=None, scale="online", seed=1):
        self.measures, self.max_rows, self.discard = SlowBallCover(nominal, scale=scale), max_rows, discard
        self.width, self.seeds = width, seeded(seed)
        self.rows, self.classes, self.next, self.spread, self.spreads = [], 0, 0, 0.0, 0

    def look(self, x):
        z, says = self.measures.placed(x), np.zeros(max(1, self.classes))
        D = self.measures.keys(z, np.array([row for row, _, _, _ in self.rows])) if self.rows else np.zeros(0)
        near = np.exp(-np.minimum(D / max(self.width or self.spread, 1e-12), 700.0))  # never nothing at all
        for g, (_, right, wrong, w) in zip(near, self.rows, strict=True):
            says[right] += w * g
            says[wrong] -= w * g
        return z, D, says

    def proba(self, x):
        says = self.look(x)[2]
        p = np.exp(says - says.max())
        return p / p.sum()

    def learn(self, x, y, w=1.0):
        z, D, says = self.look(x)
        if len(D):
            self.spreads += 1
            self.spread += (D.mean() - self.spread) / self.spreads
        said = int(says.argmax())
        if said != y:
            row = (z, y, said, w)
            if len(self.rows) < self.max_rows:
                self.rows.append(row)
            elif self.discard == "random":
                self.rows[integer(self.seeds, 0, self.max_rows)] = row
            else:
                self.rows[self.next] = row
                self.next = (self.next + 1) % self.max_rows
        self.classes = max(self.classes, y + 1)
        self.measures.observe(x)
