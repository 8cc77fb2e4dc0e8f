"""Page-Hinkley once more, slowly: the list of values since the last drift, and the sums written out."""

import math


class SlowPageHinkley:
    """Every m is kept; the lowest (highest) is searched among them."""

    def __init__(self, min_values=30, slack=0.005, threshold=50.0, fading=0.9999, direction="up"):
        self.min_values, self.slack, self.threshold, self.fading = min_values, slack, threshold, fading
        self.both = direction == "both"
        self.drifted = False
        self._restart()

    def _restart(self):
        self.values, self.rises, self.falls = [], [0.0], [0.0]

    @property
    def estimate(self):
        return math.fsum(self.values) / len(self.values) if self.values else 0.0

    def update(self, x):
        if self.drifted:
            self._restart()
        self.values.append(x)
        off = x - sum(self.values) / len(self.values)
        self.rises.append(self.fading * self.rises[-1] + off - self.slack)
        self.falls.append(self.fading * self.falls[-1] + off + self.slack)
        rise = self.rises[-1] - min(self.rises[1:])
        fall = max(self.falls[1:]) - self.falls[-1]
        enough = len(self.values) >= self.min_values
        self.drifted = enough and (rise > self.threshold or (self.both and fall > self.threshold))
        return 2 * self.drifted
