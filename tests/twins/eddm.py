"""EDDM once more, slowly: the list of distances between errors, and the formulas of the paper on it."""

import math


class SlowEDDM:
    """Mean and deviation of all distances are computed anew at each error."""

    def __init__(self, min_errors=30, min_values=30, warning_level=0.95, drift_level=0.9):
        self.min_errors, self.min_values = min_errors, min_values
        self.alpha, self.beta = warning_level, drift_level
        self.level = 0
        self.tied = False
        """Did the last digits decide the level?"""
        self._restart()

    def _restart(self):
        self.n, self.places, self.spans = 0, [], []

    @property
    def estimate(self):
        return len(self.places) / self.n if self.n else 0.0

    def update(self, x):
        if self.level == 2:
            self._restart()
            self.level = 0
        self.n += 1
        if not x:
            return self.level
        self.places.append(self.n)
        distances = [b - a for a, b in zip([0, *self.places], self.places, strict=False)]
        mean = sum(distances) / len(distances)
        deviation = math.sqrt(sum((d - mean) ** 2 for d in distances) / len(distances))
        span = mean + 2 * deviation
        record = max(self.spans, default=0.0)
        if self.n >= self.min_values:
            self.spans.append(span)
        self.level = 0
        if self.spans and span <= record and len(self.places) > self.min_errors:
            self.tied |= min(abs(span / record - level) for level in (self.alpha, self.beta)) < 1e-12
            if span / record < self.beta:
                self.level = 2
            elif span / record < self.alpha:
                self.level = 1
        return self.level
