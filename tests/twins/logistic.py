"""Logistic regression with normalised adaptive steps, written plainly: dicts, one value after another."""

import math


class Twin:
    """Weights by (class, column), where a column is a feature, or a feature and a value."""

    def __init__(self, nominal: set[int], rate: float = 0.5, keep: float = 0.9999) -> None:
        self.nominal, self.rate, self.keep = nominal, rate, keep
        self.v: dict = {}
        self.squares: dict = {}
        self.scale: dict = {}
        self.rows = self.norm = 0.0
        self.classes = 0

    def columns(self, row) -> dict:
        """Give the columns of a row that are known and not 0."""
        found = {}
        for f, value in enumerate(row):
            if value != value:
                continue
            if f in self.nominal:
                found[f, int(value)] = 1.0
            elif value != 0.0:
                found[f] = value
        return found

    def predict(self, row) -> list[float]:
        x = self.columns(row)
        sums = []
        for c in range(self.classes):
            total = self.v.get((c, "shift"), 0.0)
            for i, value in x.items():
                if self.scale.get(i, 0.0) > 0.0:
                    total += self.v.get((c, i), 0.0) * min(max(value / self.scale[i], -1e3), 1e3)
            sums.append(total)
        top = max(sums, default=0.0)
        powers = [math.exp(s - top) for s in sums]
        return [p / sum(powers) for p in powers]

    def learn(self, row, y: int, w: float = 1.0) -> None:
        x = self.columns(row)
        for i, value in x.items():
            self.scale[i] = max(self.scale.get(i, 0.0), abs(value))
        z = {i: value / self.scale[i] for i, value in x.items()} | {"shift": 1.0}
        self.classes = max(self.classes, y + 1)
        self.rows = self.keep * self.rows + 1.0
        self.norm = self.keep * self.norm + sum(value**2 for value in z.values())
        step = self.rate * math.sqrt(self.rows / self.norm)
        p = self.predict(row)
        for c in range(self.classes):
            error = w * (p[c] - (c == y))
            for i, value in z.items():
                g = error * value
                self.squares[c, i] = self.keep * self.squares.get((c, i), 0.0) + g * g
                self.v[c, i] = self.v.get((c, i), 0.0) - step * g / (1.0 + math.sqrt(self.squares[c, i]))
