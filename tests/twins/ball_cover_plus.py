"""The stronger cover of balls once more, slowly: a list of balls, and NumPy over all of them for every record."""

import math

import numpy as np

from thalweg.jit.random import integer, seeded, uniform

K_VOTE, DRAWN, KEEP, EXPLORE, SHARE, SHRINK, EVERY = 5, 4, 0.998, 0.05, 2 / 3, 100.0, 100
VOTE, SIGNS, LAST, RECENT = range(4)


class Ball:
    def __init__(self, centre, radius, y, w, time):
        self.centre, self.radius, self.start, self.mistakes = centre, radius, radius, 0.0
        self.counts, self.total, self.moved, self.used, self.last = {y: w}, w, w, time, y
        self.signs, self.rival = {}, -1

    def count(self, y, w):
        self.counts[y] = self.counts.get(y, 0.0) + w
        self.total += w

    def majority(self):
        return min(self.counts, key=lambda c: (-self.counts[c], c))


class SlowBallCoverPlus:
    """nominal: which features are."""

    def __init__(self, nominal, *, max_balls=1000, scale="online", open_on_mistake=False, recent=False, seed=1):
        self.nominal, self.scale, self.opens, self.seeds = np.array(nominal, bool), scale, open_on_mistake, seeded(seed)
        self.window = max_balls // 2 if recent else 0
        self.max_balls = max_balls - self.window
        d = len(self.nominal)
        self.balls, self.places, self.time, self.pending, self.classes = [], [], 0, False, 0
        self.rows, self.mean, self.squares = 0, np.zeros(d), np.zeros(d)
        self.least, self.greatest = np.full(d, np.inf), np.full(d, -np.inf)
        self.sums, self.weights, self.powers, self.factors = {}, {}, np.zeros(d), np.ones(d)
        self.spread, self.spreads, self.wins, self.losses = 0.0, 0.0, 0.0, 0.0
        self.errors = [0.0] * (4 if recent else 3)
        self.last_rows = []

    # -- where a record lies

    def scaled(self, x):
        x = np.where(self.nominal, x, np.clip(x, -1e150, 1e150))
        with np.errstate(all="ignore"):
            z = x
            if self.scale == "online":
                gap = x - self.mean
                mean = self.mean + gap / (self.rows + 1)
                sd = np.sqrt((self.squares + gap * (x - mean)) / (self.rows + 1))
                z = np.where(sd > 0, np.clip((x - mean) / sd, -10, 10), 0.0)
            elif self.scale == "minmax":
                least, width = np.minimum(self.least, x), np.maximum(self.greatest, x) - np.minimum(self.least, x)
                z = np.where(width > 0, (x - least) / width, 0.0)
        return np.where(self.nominal, x, z)

    def placed(self, x):
        z = self.scaled(x)
        return np.where(self.nominal, z, z * self.factors)

    def observe(self, x, y, w):
        z = np.clip(self.scaled(x), -1e70, 1e70)
        self.sums[y] = self.sums.get(y, np.zeros(len(z))) + w * z
        self.weights[y] = self.weights.get(y, 0.0) + w
        self.powers = self.powers + w * z * z
        if self.scale is not None:
            x = np.clip(x, -1e150, 1e150)
            self.rows += 1
            gap = x - self.mean
            self.mean = self.mean + gap / self.rows
            self.squares = self.squares + gap * (x - self.mean)
            self.least, self.greatest = np.minimum(self.least, x), np.maximum(self.greatest, x)
        n = self.time
        if n & (n - 1) == 0 or n % EVERY == 0:
            self.relevance()

    def relevance(self):
        """The share of a feature's variance that lies between the classes, against that of the others."""
        total, n = sum(self.sums.values()), sum(self.weights.values())
        between = sum(self.sums[c] ** 2 / self.weights[c] for c in self.sums) - total**2 / n
        within = self.powers - total**2 / n
        share = np.clip(between / np.where(within > 0, within, 1), 0, 1) * (within > 1e-12 * self.powers)
        numbers = ~self.nominal
        mean = share[numbers].mean() if numbers.any() else 0.0
        if mean > 0:
            pull = SHARE * self.time / (self.time + SHRINK)
            self.factors = np.where(numbers, np.sqrt(1 + pull * (share / mean - 1)), 1.0)
        else:
            self.factors = np.ones(len(self.nominal))

    def distances(self, z, points):
        total = np.zeros(len(points))
        for f in range(len(z)):
            gap = (points[:, f] != z[f]).astype(float) if self.nominal[f] else z[f] - points[:, f]
            total = total + gap * gap
        return total

    # -- what each of them says

    def look(self, x):
        z, K = self.placed(x), self.classes
        D = self.distances(z, np.array([b.centre for b in self.balls]))
        order = np.argsort(D, kind="stable")[:K_VOTE]
        says = np.zeros((len(self.errors), K))
        for s in order:
            ball = self.balls[s]
            for c, n in ball.counts.items():
                says[VOTE, c] += n / ((D[s] + 1e-9) * (ball.total + 1.0))
        if self.spreads:
            g = np.exp(-np.minimum(D / self.width(), 700.0))
            for s, ball in enumerate(self.balls):
                for c, a in ball.signs.items():
                    says[SIGNS, c] += a * g[s]
        says[LAST, self.balls[order[0]].last] = 1.0
        if self.last_rows:
            D2 = self.distances(z, np.array([row for row, _ in self.last_rows]))
            says[RECENT, self.last_rows[int(np.argmin(D2))][1]] = 1.0
        return z, D, int(order[0]), says

    def width(self):
        return max(self.spread, 1e-12)

    def proba(self, x):
        K = self.classes
        if not self.balls or K == 1:
            return np.full(K, 1 / K)
        _, _, _, says = self.look(x)
        best = int(np.argmin(self.errors))
        q = says[best]
        if best == SIGNS:
            q = np.exp(q - q.max())
        trust = max(0.01, 1 - self.errors[best])
        return trust * q / q.sum() + (1 - trust) / K

    # -- learning

    def learn(self, x, y, w=1.0):
        self.time += 1
        fresh, K = y >= self.classes, self.classes
        if not self.balls:
            z, s = self.placed(x), 0
            self.balls.append(Ball(z, 0.0, y, w, self.time))
            self.pending = True
        else:
            z, D, s, says = self.look(x)
            guesses = says.argmax(axis=1)
            wrong = guesses[int(np.argmin(self.errors))] != y
            keep = KEEP**w
            self.errors = [keep * e + (1 - keep) * (g != y) for e, g in zip(self.errors, guesses, strict=True)]
            self.spreads += 1
            self.spread += ((D / len(D)).sum() - self.spread) / self.spreads
            s = self.learn_at(z, D, s, y, w, fresh, wrong)
            if guesses[SIGNS] != y and K:
                signs = self.balls[s].signs
                signs[y] = signs.get(y, 0.0) + w
                signs[guesses[SIGNS]] = signs.get(guesses[SIGNS], 0.0) - w
            self.balls[s].last = y
        self.classes = max(self.classes, y + 1)
        if self.window:
            self.last_rows.append((z, y))
            if len(self.last_rows) > self.window:  # the newest takes the place of the oldest
                self.last_rows[self.oldest] = self.last_rows.pop()
                self.oldest = (self.oldest + 1) % self.window
            else:
                self.oldest = 0
        self.observe(x, y, w)

    def learn_at(self, z, D, s, y, w, fresh, wrong):
        ball, rho = self.balls[s], math.sqrt(D[s])
        if self.pending:
            if rho > 0:
                ball.radius = ball.start = rho
                self.pending = False
                return self.open(z, rho, y, w, -1)
            ball.count(y, w)
            ball.used = self.time
            return s
        if rho > ball.radius or (fresh and rho > 0):
            return self.open(z, rho, y, w, -1)
        majority = ball.majority()
        if majority == y:
            if ball.rival not in (-1, y):
                self.wins += w
            ball.moved += w
            centre = ball.centre + (z - ball.centre) * (w / ball.moved)
            ball.centre = np.where(self.nominal, ball.centre, centre)
        else:
            if ball.rival == y:
                self.losses += w
            ball.mistakes += w
            ball.radius = ball.start * max(1.0, ball.mistakes) ** -0.25
        ball.count(y, w)
        ball.used = self.time
        if (
            majority != y and wrong and rho > 0 and self.opens
            and (self.wins - self.losses > math.sqrt(self.wins + self.losses) or uniform(self.seeds, 0) < EXPLORE)
        ):  # fmt: skip
            return self.open(z, rho, y, w, majority)
        return s

    def open(self, z, radius, y, w, rival):
        ball = Ball(z, radius, y, w, self.time)
        ball.rival = rival
        if len(self.balls) < self.max_balls:
            self.balls.append(ball)
            return len(self.balls) - 1
        s = min((integer(self.seeds, 0, len(self.balls)) for _ in range(DRAWN)), key=self.worth)
        self.balls[s] = ball
        return s

    def worth(self, s):
        ball = self.balls[s]
        signs = sum(abs(a) for a in ball.signs.values())
        return ((ball.total + 2) / (ball.mistakes + 1) + signs) / (self.time - ball.used + self.max_balls)
