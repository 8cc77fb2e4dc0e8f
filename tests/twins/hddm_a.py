"""HDDM-A once more, slowly: the list of values since the last drift, and Hoeffding's bounds on it."""

import math
from fractions import Fraction


class SlowHDDMA:
    """The means of all beginnings are kept, exactly for errors; the best place to cut is searched among them."""

    def __init__(self, delta=0.001, warning_delta=0.005, direction="up"):
        self.delta, self.warning_delta, self.direction = delta, warning_delta, direction
        self.drifted = False
        self._restart()

    def _restart(self):
        self.total, self.n = Fraction(0), 0
        self.low = self.high = None

    @property
    def estimate(self):
        return float(self.total / self.n) if self.n else 0.0

    def _epsilon(self, n):
        return math.sqrt(math.log(1 / self.delta) / (2 * n))

    def _differ(self, gap, cut, delta):
        n, n0 = self.n, cut[0]
        return n0 < n and gap >= math.sqrt((1 / n0 - 1 / n) / 2 * math.log(2 / delta))

    def _level(self, gap, cut):
        return 2 if self._differ(gap, cut, self.delta) else int(self._differ(gap, cut, self.warning_delta))

    def update(self, x):
        if self.drifted:
            self._restart()
            self.drifted = False
        self.n += 1
        self.total += Fraction(x)
        mean = float(self.total / self.n)
        epsilon = self._epsilon(self.n)
        if self.low is None or mean + epsilon <= self.low[1] + self._epsilon(self.low[0]):
            self.low = (self.n, mean)
        if self.high is None or mean - epsilon >= self.high[1] - self._epsilon(self.high[0]):
            self.high = (self.n, mean)
        level, fall = self._level(mean - self.low[1], self.low), self._level(self.high[1] - mean, self.high)
        if self.direction == "both":
            level = max(level, fall)
        self.drifted = level == 2
        if self.direction == "forget" and fall == 2 and level < 2:
            self._restart()
        return level
