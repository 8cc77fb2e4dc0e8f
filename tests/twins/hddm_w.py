"""HDDM-W once more, slowly: averages from lists of values and their weights, and McDiarmid's bound on them."""

import math


def average(values, weight):
    """Weigh the newest by λ, the one before by λ (1 - λ), …, the first by what is left; and the squared weights."""
    m = len(values)
    weights = [weight * (1 - weight) ** (m - 1 - k) for k in range(m)]
    weights[0] = (1 - weight) ** (m - 1)
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)), math.fsum(w * w for w in weights)


class SlowHDDMW:
    """The place with the lowest (highest) average is remembered by its number; averages are computed from the lists."""

    def __init__(self, weight=0.05, delta=0.001, warning_delta=0.005, direction="up"):
        self.weight, self.delta, self.warning_delta, self.direction = weight, delta, warning_delta, direction
        self.drifted = False
        self.tied = False
        """Did the last digits decide which place is the lowest? After many equal values they do."""
        self._restart()

    def _restart(self):
        self.values, self.cuts = [], {}

    @property
    def estimate(self):
        return average(self.values, self.weight)[0] if self.values else 0.0

    def _level(self, sign):
        values = [sign * v for v in self.values]
        mean, squares = average(values, self.weight)
        bound = math.sqrt(squares * math.log(1 / self.delta) / 2)
        cut = self.cuts.get(sign)
        self.tied |= cut is not None and abs(mean + bound - cut[1]) < 1e-12
        if cut is None or mean + bound < cut[1]:
            self.cuts[sign] = len(values), mean + bound, mean, squares
            return 0
        place, _, mean0, squares0 = cut
        mean1, squares1 = average(values[place:], self.weight)
        for level, delta in ((2, self.delta), (1, self.warning_delta)):
            if mean1 - mean0 > math.sqrt((squares0 + squares1) * math.log(1 / delta) / 2):
                return level
        return 0

    def update(self, x):
        if self.drifted:
            self._restart()
            self.drifted = False
        self.values.append(x)
        level, fall = self._level(1), self._level(-1)
        if self.direction == "both":
            level = max(level, fall)
        self.drifted = level == 2
        if self.direction == "forget" and fall == 2 and level < 2:
            self._restart()
        return level
