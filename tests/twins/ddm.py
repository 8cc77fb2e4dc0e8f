"""DDM once more, slowly: the list of values since the last drift, and the formulas of the paper on it."""

import math


class SlowDDM:
    """All (p, s) pairs are kept; the lowest is searched among them each time."""

    def __init__(self, min_values=30, warning_level=2.0, drift_level=3.0):
        self.min_values, self.warning_level, self.drift_level = min_values, warning_level, drift_level
        self.values, self.pairs, self.drifted = [], [], False

    @property
    def estimate(self):
        return math.fsum(self.values) / len(self.values) if self.values else 0.0

    def update(self, x):
        if self.drifted:
            self.values, self.pairs, self.drifted = [], [], False
        self.values.append(x)
        n = len(self.values)
        p = sum(self.values) / n
        s = math.sqrt(p * (1 - p) / n)
        if n >= self.min_values - 1:
            self.pairs.append((p, s))
        if n < self.min_values:
            return 0
        lowest = min(a + b for a, b in self.pairs)
        p_min, s_min = [pair for pair in self.pairs if sum(pair) == lowest][-1]
        if p + s > p_min + self.drift_level * s_min:
            self.drifted = True
            return 2
        return 1 if p + s > p_min + self.warning_level * s_min else 0
