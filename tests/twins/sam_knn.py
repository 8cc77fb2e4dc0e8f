"""The self-adjusting memories once more, slowly: lists of rows, and every step as the paper tells it."""

import numpy as np

MASK = (1 << 64) - 1


class Draws:
    """Random numbers from one 64-bit state."""

    def __init__(self, state):
        self.state = int(state)

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return (self.bits() >> 11) / 2.0**53

    def integer(self, n):
        return ((self.bits() >> 32) * n) >> 32


class Item:
    """A row of the short-term memory: which memories had it right, and is it wrong in a candidate (by its start)."""

    def __init__(self, x, y, serial):
        self.x, self.y, self.serial = np.array(x, dtype=float), y, serial
        self.right = (False, False, False)


class SlowSamKNN:
    """nominal: for each feature, is it nominal? state: what the draws begin with."""

    def __init__(
        self, nominal, state, *, k=5, window=5000, ltm_share=0.4, min_stm=50, recalculate=False, weights="distance",
        scale=None,
    ):  # fmt: skip
        self.nominal = np.array(nominal, dtype=bool)
        self.draws = Draws(state)
        self.k, self.window, self.min_stm, self.recalculate = k, window, min_stm, recalculate
        self.most_ltm, self.by_distance = int(ltm_share * window + 1e-9), weights == "distance"
        self.stm, self.ltm = [], []
        self.tracked = {}  # candidate -> (serial of its first row, {serial: was the row wrong?})
        self.rests = {}  # (candidate, serial) -> serial of the oldest row that this rests on
        self.scale = scale
        self.ever, self.by = [], np.ones(len(nominal))
        self.serial = self.classes = self.shortened = self.compressed = 0

    # -- neighbours

    def squares(self, x, items):
        total = np.zeros(len(items))
        for f in range(len(x)):
            z = np.array([item.x[f] for item in items], dtype=float)
            gap = (z != x[f]).astype(float) if self.nominal[f] else x[f] - z
            total = total + gap * gap
        return total

    def nearest(self, x, items):
        """The k nearest with their squared distances, the newest (last) first among equals."""
        far = self.squares(x, items)[::-1]
        order = np.argsort(far, kind="stable")[: self.k]
        return [(far[i], len(items) - 1 - int(i)) for i in order]

    def votes(self, x, items):
        votes = np.zeros(self.classes)
        for far, i in self.nearest(x, items):
            votes[items[i].y] += 1.0 / max(np.sqrt(far), 1e-9) if self.by_distance else 1.0
        return votes

    def is_right(self, x, y, items):
        return bool(items) and int(self.votes(x, items).argmax()) == y

    # -- predicting

    @property
    def winner(self):
        right = np.sum([item.right for item in self.stm], axis=0) if self.stm else (0, 0, 0)
        if not self.ltm or (right[0] >= right[1] and right[0] >= right[2]):
            return "short"
        return "long" if right[1] >= right[2] else "both"

    def proba(self, x):
        x = self.scaled(x)
        items = {"short": self.stm, "long": self.ltm, "both": self.ltm + self.stm}[self.winner]
        votes = self.votes(x, items)
        return votes / votes.sum() if votes.sum() > 0 else np.full(self.classes, 1 / self.classes)

    # -- learning

    def learn(self, x, y):
        self.classes = max(self.classes, y + 1)
        new = Item(self.scaled(x), y, self.serial)
        self.serial += 1
        new.right = tuple(self.is_right(new.x, y, items) for items in (self.stm, self.ltm, self.ltm + self.stm))
        self.stm.append(new)
        self.check_size()
        if len(self.stm) > self.k:
            self.clean(self.stm[:-1], new, self.ltm)
        size = self.best_size()
        if size < len(self.stm):
            self.shortened += 1
            dropped, self.stm = self.stm[:-size], self.stm[-size:]
            if len(self.stm) > self.k:
                for i, item in enumerate(self.stm):
                    self.clean(self.stm[:i] + self.stm[i + 1 :], item, dropped)
            self.ltm += dropped
            assert len(self.stm) + len(self.ltm) <= self.window  # the second check of the size never finds anything
        if self.scale == "online":
            self.rescale(x)

    # -- scale

    def scaled(self, x):
        x = np.array(x, dtype=float)
        if self.scale is None:
            return x
        return np.where(self.nominal, x, np.clip(x * self.by, -1e150, 1e150))

    def rescale(self, x):
        """Let each deviation be about 1: what is kept is multiplied where it has become another by a tenth."""
        self.ever.append(np.array(x, dtype=float))
        for f in range(len(x)):
            variance = variance_of([row[f] for row in self.ever])
            now = variance * self.by[f] * self.by[f]
            if self.nominal[f] or not variance > 0.0 or 1 / 1.21 <= now <= 1.21:
                continue
            by = 1.0 / np.sqrt(variance)
            for item in self.stm + self.ltm:
                item.x[f] *= by / self.by[f]
            self.by[f] = by

    def clean(self, others, item, goal):
        """Take from the goal whoever contradicts the item among its nearest, as near as its own kind."""
        own = [far for far, i in self.nearest(item.x, others) if others[i].y == item.y]
        found = [i for far, i in self.nearest(item.x, goal) if goal[i].y != item.y and far <= max(own, default=0.0)]
        for i in sorted(found, reverse=True):
            goal[i] = goal[-1]
            goal.pop()

    def check_size(self):
        if len(self.stm) + len(self.ltm) <= self.window:
            return
        if len(self.ltm) <= self.most_ltm:
            n = self.most_ltm - len(self.ltm) + 1
            self.ltm, self.stm = self.ltm + self.stm[:n], self.stm[n:]
            self.tracked = {}
        self.compress()
        while len(self.stm) + len(self.ltm) > self.window:  # nothing could be put together
            self.ltm[0] = self.ltm[-1]
            self.ltm.pop()

    # -- length of the short-term memory

    def wrong(self, j, i, start):
        """Is row i wrong if only the rows from ``start`` on are known?"""
        item, earlier = self.stm[i], self.stm[start:i]
        self.rests[j, item.serial] = min(earlier[n].serial for _, n in self.nearest(item.x, earlier))
        return not self.is_right(item.x, item.y, earlier)

    def fresh(self, j, start):
        wrong = {self.stm[i].serial: self.wrong(j, i, start) for i in range(start + self.k, len(self.stm))}
        return self.stm[start].serial, wrong

    def exact(self, j, start):
        """Ask those anew that rest on rows that have left; the others would say the same (unless the scale changed)."""
        first, wrong = self.tracked[j]
        for i in range(start + self.k, len(self.stm)):
            serial = self.stm[i].serial
            if self.rests[j, serial] < first:
                wrong[serial] = self.wrong(j, i, start)
        if self.scale is None:
            assert (first, wrong) == self.fresh(j, start)
        return first, wrong

    def best_size(self):
        n = len(self.stm)
        if n < 2 * self.min_stm or n <= self.k:
            self.tracked = {}
            return n
        sizes = [n]
        while sizes[-1] >= 2 * self.min_stm and sizes[-1] // 2 > self.k:
            sizes.append(sizes[-1] // 2)
        self.tracked = {j: t for j, t in self.tracked.items() if j < len(sizes)}
        for j, size in enumerate(sizes):
            start = n - size
            if j not in self.tracked:
                self.tracked[j] = self.fresh(j, start)
                continue
            first, wrong = self.tracked[j]
            assert self.stm[start].serial in (first, first + 1)
            if self.stm[start].serial == first + 1:
                del wrong[first + self.k]
            wrong[self.stm[-1].serial] = self.wrong(j, n - 1, start)
            self.tracked[j] = self.stm[start].serial, wrong
            if self.recalculate:
                self.tracked[j] = self.exact(j, start)
        for j in range(1, len(sizes)):
            if self.error(j) < self.error(0):
                self.tracked[j] = self.exact(j, n - sizes[j])
        best = min(range(len(sizes)), key=lambda j: (self.error(j), j))
        if best:
            self.tracked = {j - best: t for j, t in self.tracked.items() if j >= best}
            self.rests = {(j - best, serial): r for (j, serial), r in self.rests.items() if j >= best}
        return sizes[best]

    def error(self, j):
        """In ten thousandths, rounded."""
        wrong = self.tracked[j][1].values()
        return (20_000 * sum(wrong) + len(wrong)) // (2 * len(wrong))

    # -- compression

    def compress(self):
        self.compressed += 1
        old, self.ltm = self.ltm, []
        for c in sorted({item.y for item in old}):
            rows = np.array([item.x for item in old if item.y == c])
            self.ltm += [Item(centre, c, -1) for centre in self.centres(rows, max(1, len(rows) // 2))]

    def far(self, rows, centre):
        total = np.zeros(len(rows))
        for f in range(rows.shape[1]):
            gap = (rows[:, f] != centre[f]).astype(float) if self.nominal[f] else rows[:, f] - centre[f]
            total = total + gap * gap
        return total

    def centres(self, rows, count):
        """k-means++, then Lloyd; a row changes its centre only for one that is nearer. Centres without rows go."""
        if len(rows) == 1:
            return rows
        centres = [rows[self.draws.integer(len(rows))]]
        least = np.minimum(self.far(rows, centres[0]), 1e300)
        own = np.zeros(len(rows), dtype=int)
        while len(centres) < count:
            sums = [add_up(least[b : b + 64]) for b in range(0, len(rows), 64)]
            total = add_up(sums)
            if not total > 0.0:
                break
            pick, b = self.draws.uniform() * total, 0
            while b < len(sums) - 1 and pick >= sums[b]:
                pick, b = pick - sums[b], b + 1
            i = b * 64
            while i < min(b * 64 + 64, len(rows)) - 1 and pick >= least[i]:
                pick, i = pick - least[i], i + 1
            far = np.minimum(self.far(rows, rows[i]), 1e300)
            own[far < least] = len(centres)
            least = np.minimum(far, least)
            centres.append(rows[i])
        centres = np.array(centres)
        for _ in range(100):
            for c in range(len(centres)):
                if (own == c).any():
                    centres[c] = self.middle(rows[own == c])
            every = np.array([np.minimum(self.far(rows, centre), 1e300) for centre in centres])
            best, mine = every.argmin(axis=0), every[own, np.arange(len(rows))]
            moves = every.min(axis=0) < mine
            if not moves.any():
                break
            own[moves] = best[moves]
        return [centres[c] for c in range(len(centres)) if (own == c).any()]

    def middle(self, rows):
        centre = np.empty(rows.shape[1])
        for f in range(rows.shape[1]):
            if self.nominal[f]:
                values, counts = np.unique(rows[:, f], return_counts=True)
                centre[f] = values[counts.argmax()]
            else:
                centre[f] = add_up(rows[:, f] / len(rows))
        return centre


def add_up(values):
    """Add one after the other, so that the bits are the same."""
    total = 0.0
    for v in values:
        total += v
    return total


def variance_of(values):
    """The variance, as one adds up value after value."""
    mean, squares = 0.0, 0.0
    for n, v in enumerate(values, start=1):
        gap = v - mean
        mean += gap / n
        squares += gap * (v - mean)
    return squares / len(values)
