"""Leveraging bagging over nearest neighbours behind projections, plainly: one row, one member, one step at a time."""

import numpy as np

from thalweg import ADWIN, GaussianProjection, WindowKNN
from thalweg.jit.random import poisson, seeded


class PlainBagging:
    """Members with a window each, and detectors that replace the worst."""

    def __init__(self, size: int, p: int, rate: float, draws: str, seed: int, delta: float, **knn) -> None:
        self.size, self.p, self.rate, self.draws, self.seed = size, p, rate, draws, seed
        self.delta, self.knn = delta, knn
        self.generation = [0] * size
        self.learned, self.replaced = 0, []
        self.dice = seeded(seed, size)
        self.members = [WindowKNN(**knn) for _ in range(size)]
        self.detectors = [ADWIN(delta=delta) for _ in range(size)]
        self.known: list = []

    def projection(self, i: int) -> GaussianProjection:
        seed = int(np.random.SeedSequence([self.seed, i, self.generation[i]]).generate_state(1)[0])
        return GaussianProjection(p=self.p, seed=seed)

    def answers(self, x: np.ndarray) -> list[dict]:
        found = []
        for i, member in enumerate(self.members):
            proba = member.predict_proba_one(self.projection(i).transform(x[None])[0])
            if not member.n_rows:
                proba = {c: 1.0 / len(self.known) for c in self.known}
            found.append(proba)
        return found

    def predict(self, x: np.ndarray) -> dict:
        found = self.answers(x)
        return {c: float(np.mean([a.get(c, 0.0) for a in found])) for c in self.known}

    def learn(self, x: np.ndarray, y: int) -> None:
        self.learned += 1
        errors = []
        for answer in self.answers(x):
            shares = [answer.get(c, 0.0) for c in self.known]
            errors.append(0.0 if shares and self.known[int(np.argmax(shares))] == y else 1.0)
        if not self.known:
            errors = [0.0] * self.size  # the first class is what everybody says before any is known
        if y not in self.known:
            self.known.append(y)
        draw = getattr(poisson, "py_func", poisson)
        drift = False
        for i, member in enumerate(self.members):
            count = _drawn(draw, self.dice, i, self.rate)
            if count:
                row = self.projection(i).transform(x[None])[0]
                member.learn_one(row, y, float(count) if self.draws == "vote" else 1.0)
            drift = self.detectors[i].update(errors[i]) or drift
        if drift:
            worst = int(np.argmax([d.estimate for d in self.detectors]))
            self.generation[worst] += 1
            self.replaced.append((self.learned, worst))
            self.members[worst] = WindowKNN(**self.knn)
            self.detectors[worst] = ADWIN(delta=self.delta)


def _drawn(draw, dice: np.ndarray, i: int, rate: float) -> int:
    with np.errstate(over="ignore"):
        return int(draw(dice, i, rate))
