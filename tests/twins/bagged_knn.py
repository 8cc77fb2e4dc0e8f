"""Bagged neighbours in one window, plainly: rows in a list, each with the members that have it."""

import numpy as np

from thalweg import ADWIN
from thalweg.jit.random import poisson, seeded


class PlainBag:
    """All ties vote, the window scales, every neighbour counts once."""

    def __init__(self, size: int, k: int, window: int, rate: float, delta: float, seed: int) -> None:
        self.size, self.k, self.window, self.rate, self.delta = size, k, window, rate, delta
        self.dice = seeded(seed, size)
        self.rows: list[tuple[np.ndarray, int, set[int]]] = []
        self.detectors = [ADWIN(delta=delta) for _ in range(size)]
        self.learned, self.replaced = 0, []
        self.classes = 0

    def answers(self, x: np.ndarray) -> np.ndarray:
        """What each member says: members × classes."""
        found = np.full((self.size, self.classes), 1.0 / max(self.classes, 1))
        if not self.rows:
            return found
        Z = np.array([row for row, _, _ in self.rows])
        width = Z.max(axis=0) - Z.min(axis=0)
        by = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
        far = np.zeros(len(Z))
        for f in range(len(x)):
            far += ((Z[:, f] - x[f]) * by[f]) ** 2
        for i in range(self.size):
            mine = [j for j, (_, _, members) in enumerate(self.rows) if i in members]
            if mine:
                limit = np.sort(far[mine])[: self.k][-1]
                votes = np.bincount([self.rows[j][1] for j in mine if far[j] <= limit], minlength=self.classes)
                found[i] = votes / votes.sum()
        return found

    def learn(self, x: np.ndarray, y: int) -> None:
        self.learned += 1
        answers = self.answers(x)
        said = answers.argmax(axis=1) if self.classes else np.zeros(self.size)
        draw = getattr(poisson, "py_func", poisson)
        with np.errstate(over="ignore"):
            members = {i for i in range(self.size) if draw(self.dice, i, self.rate) > 0}
        self.rows = [*self.rows, (x, y, members)][-self.window :]
        self.classes = max(self.classes, y + 1)
        drifts = [d.update(float(s != y)) for d, s in zip(self.detectors, said, strict=True)]
        if any(drifts):
            worst = int(np.argmax([d.estimate for d in self.detectors]))
            self.detectors[worst] = ADWIN(delta=self.delta)
            self.replaced.append((self.learned, worst))
            for _, _, having in self.rows:
                having.discard(worst)
