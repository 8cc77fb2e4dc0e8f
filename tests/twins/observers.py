"""What a leaf observes, once more and slowly: dicts and the math module, written from the rules.

Only log2 of a spread, and log2 and Φ of the search for a threshold, are those of ``thalweg.jit.fast``, which are tested
by themselves.
"""

import math
from dataclasses import dataclass, field

from thalweg.jit.fast import fast_below, fast_log2

HUGE = 1e150
STEEP = 8e307
"""What 1 / (2σ²) is not taken to exceed: twice as much must be a number."""
INV_PI = 1.0 / math.pi
SQRT_HALF = math.sqrt(0.5)
HALF_LN_2 = 0.5 * math.log(2.0)
NOTHING = (-math.inf, None)
"""No candidate."""


def is_missing(v):
    """Is the value absent, or so large that its square would overflow?"""
    return math.isnan(v) or abs(v) > HUGE


# -- split criteria ---------------------------------------------------------------------------------------------------


def total(counts):
    """Weight of all classes, added in the order of their codes."""
    return sum((counts[c] for c in sorted(counts)), 0.0)


def x_log2_x(x):
    """X · log2 x."""
    return x * math.log2(x) if x > 0.0 else 0.0


def cost(criterion, counts):
    """Impurity × weight: |D|·H(D), or |D|·(1 - Σ p²)."""
    n = total(counts)
    if criterion == "gain":
        return x_log2_x(n) - sum((x_log2_x(counts[c]) for c in sorted(counts)), 0.0)
    return n - sum((counts[c] * counts[c] for c in sorted(counts)), 0.0) / n if n > 0.0 else 0.0


def impurity(criterion, counts):
    """H(D), or 1 - Σ p²."""
    return cost(criterion, counts) / total(counts)


def merit(criterion, whole, branches, seen, min_share):
    """Gain of a split over an impurity of ``whole``; -∞ unless two branches hold enough of the weight ``seen``."""
    enough = min_share * seen if criterion == "gain" else 0.0
    if sum(total(b) > enough for b in branches) < 2:
        return -math.inf
    mean = sum((cost(criterion, b) for b in branches), 0.0) / seen
    return whole - mean if criterion == "gain" else 1.0 - mean


# -- numeric attributes -----------------------------------------------------------------------------------------------


def exact_below(z):
    """Φ(z)."""
    return 0.5 * math.erfc(-z * SQRT_HALF)


def fast_x_log2_x(x):
    """X · log2 x."""
    return x * fast_log2(x)


def merit_of_two(criterion, whole, left, right, min_share, times_log2=fast_x_log2_x):
    """Gain of a split in two; -∞ unless both branches hold enough weight."""
    a, b = total(left), total(right)
    if min(a, b) <= (min_share * (a + b) if criterion == "gain" else 0.0):
        return -math.inf
    if criterion == "gini":
        return merit(criterion, whole, [left, right], a + b, min_share)
    inside = sum((times_log2(left[c]) + times_log2(right[c]) for c in sorted(left)), 0.0)
    return whole - (times_log2(a) + times_log2(b) - inside) / (a + b)


@dataclass
class Gaussian:
    """Welford's running mean and spread of one class."""

    weight: float = 0.0
    mean: float = 0.0
    m2: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf
    inv: float = math.inf
    """1 / (2σ²) when the last value came; ∞: no variance."""

    def add(self, v, w, blur=0.0):
        """Take a value; the first one is the mean. blur: is added to the spread."""
        first = self.weight == 0.0
        self.weight += w
        off = v - self.mean
        self.mean = v if first else self.mean + w * off / self.weight
        self.m2 += w * off * (v - self.mean)
        self.least = min(self.least, v)
        self.greatest = max(self.greatest, v)
        self.inv = math.inf
        if self.weight <= 1.0:
            if blur > 0.0:
                self.inv = 0.5 / (blur * blur)
        elif self.m2 > 0.0 or blur > 0.0:
            self.inv = 0.5 * (self.weight - 1.0) / (self.m2 + (self.weight - 1.0) * blur * blur)

    def log_density(self, v):
        """Logarithm of the normal density; without variance 1 at the mean and 0 elsewhere."""
        off = v - self.mean
        if self.inv == math.inf:
            return 0.0 if off == 0.0 else -math.inf
        return HALF_LN_2 * fast_log2(self.inv * INV_PI) - off * off * self.inv

    def at_most(self, t, below):
        """Weight that is expected at or below t; below: Φ."""
        if t < self.least:
            return 0.0
        if t >= self.greatest:
            return self.weight
        if self.inv == math.inf:
            return self.weight if t >= self.mean else 0.0
        return self.weight * below((t - self.mean) * math.sqrt(2.0 * min(self.inv, STEEP)))


@dataclass
class NumericObserver:
    """One Gaussian for each class, all a little wider: a share ``smoothing`` of the range of all values."""

    smoothing: float = 0.0
    classes: dict[int, Gaussian] = field(default_factory=dict)
    least: float = math.inf
    greatest: float = -math.inf

    @property
    def empty(self):
        """Has no value been seen?"""
        return not self.classes

    def observe(self, v, y, w):
        """Take a value of class y."""
        self.least, self.greatest = min(self.least, v), max(self.greatest, v)
        blur = self.smoothing * (self.greatest - self.least)
        self.classes.setdefault(y, Gaussian()).add(v, w, blur)

    def log_likelihood(self, v, c):
        """Ln p(v | c)."""
        return self.classes[c].log_density(v) if c in self.classes else -math.inf

    def divide(self, t, below=exact_below):
        """Class weights at or below t, and above."""
        left = {c: g.at_most(t, below) for c, g in self.classes.items()}
        return [left, {c: max(0.0, g.weight - left[c]) for c, g in self.classes.items()}]

    def best(self, criterion, whole, min_share, points):
        """Find the threshold of greatest merit, the first among equals: (merit, ("<=", threshold))."""
        found = NOTHING
        least = min(g.least for g in self.classes.values())
        greatest = max(g.greatest for g in self.classes.values())
        for k in range(1, points + 1):
            t = least + (greatest - least) * k / (points + 1)
            if least < t < greatest:
                m = merit_of_two(criterion, whole, *self.divide(t, fast_below), min_share)
                if m > found[0]:
                    found = m, ("<=", t)
        return found

    def branches(self, test):
        """Class weights of the branches of a test."""
        return self.divide(test[1])


# -- nominal attributes -----------------------------------------------------------------------------------------------


@dataclass
class NominalObserver:
    """Weight by class and value."""

    table: dict[int, dict[int, float]] = field(default_factory=dict)
    """Class → value → weight."""
    classes: dict[int, float] = field(default_factory=dict)
    seen: float = 0.0

    @property
    def empty(self):
        """Has no value been seen?"""
        return not self.classes

    def observe(self, v, y, w):
        """Take a value of class y."""
        row = self.table.setdefault(y, {})
        row[int(v)] = row.get(int(v), 0.0) + w
        self.classes[y] = self.classes.get(y, 0.0) + w
        self.seen += w

    def log_likelihood(self, v, c, cardinality):
        """Ln of the share of v among the values of class c, one added to each."""
        if c not in self.classes:
            return -math.inf
        return math.log((self.table[c].get(int(v), 0.0) + 1.0) / (self.classes[c] + cardinality))

    def of_value(self, v):
        """Class weights where the value is v."""
        return {c: row.get(v, 0.0) for c, row in self.table.items()}

    def best(self, criterion, whole, min_share, cardinality, multiway):
        """Find the best test: (merit, ("values", cardinality) or ("==", value)); multiway wins where they are equal."""
        found = NOTHING
        tests = [("values", cardinality)] * multiway + [("==", v) for v in range(cardinality)]
        for test in tests:
            branches = self.branches(test)
            seen = self.seen if test[0] == "values" else sum(total(b) for b in branches)
            m = merit(criterion, whole, branches, seen, min_share)
            if m > found[0]:
                found = m, test
        return found

    def branches(self, test):
        """Class weights of the branches of a test."""
        kind, v = test
        if kind == "values":
            return [self.of_value(value) for value in range(v)]
        equal = self.of_value(v)
        return [equal, {c: max(0.0, n - equal[c]) for c, n in self.classes.items()}]


# -- naive Bayes ------------------------------------------------------------------------------------------------------


def naive_bayes(counts, logs):
    """Votes n_c · exp(logs_c - greatest); None when every class that has weight has a zero factor."""
    alive = {c: logs[c] for c in counts if counts[c] > 0.0 and logs[c] > -math.inf}
    if not alive:
        return None
    top = max(alive.values())
    return {c: counts[c] * math.exp(alive[c] - top) if c in alive else 0.0 for c in counts}
