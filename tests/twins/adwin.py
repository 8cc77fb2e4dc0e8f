"""ADWIN once more, slowly: lists of buckets, written from the rules and not from the compiled version."""

import math
from dataclasses import dataclass


@dataclass
class Bucket:
    """A run of values: how many, their sum, their sum of squared deviations."""

    size: int
    total: float
    m2: float


class SlowADWIN:
    """Rows of at most ``m`` buckets of 2^row values; row 0 holds the newest values, each row its oldest first."""

    def __init__(self, delta=0.002, clock=32, min_window=10, min_side=5, m=5, max_rows=None):
        self.delta, self.clock, self.min_window, self.min_side, self.m = delta, clock, min_window, min_side, m
        self.max_rows = max_rows
        self.rows = [[]]
        self.n, self.total, self.m2, self.t = 0, 0.0, 0.0, 0

    @property
    def estimate(self):
        return self.total / self.n if self.n else 0.0

    def oldest_first(self):
        return [bucket for row in reversed(self.rows) for bucket in row]

    def update(self, x):
        """Take a value; ("up" | "down" | None): was the window cut, and did the estimate rise?"""
        before = self.estimate
        self._insert(x)
        self.t += 1
        cut = False
        if self.t % self.clock == 0 and self.n > self.min_window:
            while self._has_cut():
                self._drop()
                cut = True
        if not cut:
            return None
        return "up" if self.estimate > before else "down"

    def _insert(self, x):
        self.n += 1
        self.rows[0].append(Bucket(1, x, 0.0))
        if self.n > 1:
            self.m2 += (self.n - 1) * (x - self.total / (self.n - 1)) ** 2 / self.n
        self.total += x
        row = 0
        while len(self.rows[row]) == self.m + 1:
            if row + 1 == self.max_rows:
                self._drop()
                break
            if row + 1 == len(self.rows):
                self.rows.append([])
            a, b = self.rows[row].pop(0), self.rows[row].pop(0)
            s = a.size
            spread = a.m2 + b.m2 + s * s * (a.total / s - b.total / s) ** 2 / (2 * s)
            self.rows[row + 1].append(Bucket(2 * s, a.total + b.total, spread))
            row += 1

    def _has_cut(self):
        n0, u0, n1, u1 = 0, 0.0, self.n, self.total
        dd = math.log(2 * math.log(self.n) / self.delta)
        v = self.m2 / self.n
        for bucket in self.oldest_first()[:-1]:
            n0, u0 = n0 + bucket.size, u0 + bucket.total
            n1, u1 = n1 - bucket.size, u1 - bucket.total
            if min(n0, n1) > self.min_side + 1:
                m = 1 / (n0 - self.min_side + 1) + 1 / (n1 - self.min_side + 1)
                epsilon = math.sqrt(2 * m * v * dd) + 2 / 3 * dd * m
                if abs(u0 / n0 - u1 / n1) > epsilon:
                    return True
        return False

    def _drop(self):
        old = self.rows[-1].pop(0)
        if not self.rows[-1] and len(self.rows) > 1:
            self.rows.pop()
        s = old.size
        self.n -= s
        self.total -= old.total
        if self.n == 0:
            self.m2 = 0.0
        else:
            self.m2 -= old.m2 + s * self.n * (old.total / s - self.total / self.n) ** 2 / (self.n + s)
            self.m2 = max(self.m2, 0.0)
