"""The strategies once more, slowly: one class, lists for all that is counted."""

import math

import numpy as np

MASK = 2**64 - 1


class Dice:
    """splitmix64 in whole numbers."""

    def __init__(self, seed):
        self.state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return ((z ^ (z >> 31)) >> 11) / 2**53

    def normal(self):
        while True:
            a, b = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            if 0 < a * a + b * b < 1:
                return a * math.sqrt(-2 * math.log(a * a + b * b) / (a * a + b * b))


class SlowStrategy:
    """kind: as in the registry; the other parameters as those of the classes."""

    def __init__(self, kind, *, budget=0.7, window=None, warmup=0, seed=1, **own):
        self.kind, self.budget, self.window, self.warmup, self.own = kind, budget, window, warmup, own
        self.dice = Dice(seed)
        self.rows, self.charged, self.asked = 0, [], 0
        self.theta = own.get("threshold", 0.9) if kind == "fixed" else 1.0

    def ask(self, row):
        rho = self.dice.uniform()
        second = self.dice.uniform() if self.kind == "split" else None
        eta = 1 + self.own.get("spread", 1.0) * self.dice.normal() if self.kind == "vru" else None
        if self.rows < self.warmup:
            self.rows += 1
            return "warmup"
        self.rows += 1
        k = len(self.charged) + 1
        why = self.choose(row, rho, second, eta, k) if self.open(k) else ""
        free = why == "random" and self.kind == "avu" and self.own.get("mode") == "paper"
        self.charged.append(1 if why and not free else 0)
        return why

    def open(self, k):
        if not sum(self.charged) / k < self.budget:
            return False
        if self.window is None or self.budget == 1:
            return True
        recent = 0.0
        for one in self.charged:
            recent = recent * ((self.window - 1) / self.window) + one
        return recent / self.window < self.budget

    def choose(self, row, rho, second, eta, k):
        by_chance = "random" if rho < self.budget else ""
        if self.kind == "random" or (self.kind == "split" and second < self.own.get("share", 0.2)):
            return by_chance
        if len(row) < 2 or sum(row) == 0:
            return "uncertain"
        u = max(row) / sum(row)
        if self.kind == "fixed":
            return "uncertain" if u < self.theta else ""
        if self.kind == "selective":
            b = self.own.get("ease") or self.budget
            return "selective" if rho * (b + abs(u - 1 / len(row))) < b else ""
        theta = self.theta
        if self.kind == "vru":
            theta = theta * eta
            if self.own.get("compat") == "moa" and eta < 0:
                theta = math.inf
        s = self.own.get("step", 0.01)
        if u < theta:
            self.theta *= 1 - s
            return "uncertain"
        self.theta *= 1 + s
        if self.kind == "avu" and self.budget > 0.5 and rho < self.chance(s, k):
            return "random"
        return ""

    def chance(self, s, k):
        mode = self.own.get("mode", "strict")
        if mode == "paper":
            return 2 * (self.budget - 0.5)
        q = math.log(1 + s) / (math.log(1 + s) - math.log(1 - s))
        p = (self.budget - q) / (1 - q)
        if mode == "full":
            p += self.own.get("pull", 0.05) * (self.budget * k - sum(self.charged))
        return p
