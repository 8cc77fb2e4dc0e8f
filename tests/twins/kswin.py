"""KSWIN once more, slowly: a list for the window, SciPy for the test."""

import numpy as np
from scipy.stats import ks_2samp

BITS = 2**64


def splitmix(key):
    """Draw 64-bit numbers without end (Steele, Lea, Flood 2014), in whole numbers of Python."""
    while True:
        key = (key + 0x9E3779B97F4A7C15) % BITS
        z = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9 % BITS
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % BITS
        yield z ^ (z >> 31)


class SlowKSWIN:
    """The older values are drawn as the compiled version draws them: the top of a deck that is mixed again."""

    def __init__(self, delta=0.005, window=100, recent=30, direction="up", seed=1):
        self.delta, self.window, self.recent, self.both = delta, window, recent, direction == "both"
        self.values, self.p_value = [], 1.0
        self.deck = list(range(window - recent))
        self.draws = splitmix(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))

    @property
    def estimate(self):
        return float(np.mean(self.values[-self.recent :])) if self.values else 0.0

    def _drawn(self):
        for j in range(self.recent):
            at = j + ((next(self.draws) >> 32) * (len(self.deck) - j) >> 32)
            self.deck[j], self.deck[at] = self.deck[at], self.deck[j]
        return [self.values[k] for k in self.deck[: self.recent]]

    def update(self, x):
        self.values = [*self.values, x][-self.window :]
        if len(self.values) < self.window:
            return 0
        new, old = self.values[-self.recent :], self._drawn()
        self.p_value = float(ks_2samp(new, old, method="asymp").pvalue)
        if self.p_value > self.delta:
            return 0
        self.values = new
        return 2 if self.both or np.mean(new) > np.mean(old) else 0
