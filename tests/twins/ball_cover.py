"""A cover of balls once more, slowly: a list of balls, and NumPy over all of them for every record."""

import math

import numpy as np

from thalweg.jit.random import integer, seeded, uniform

PATIENCE = 64
LEAST_TRUST = 0.01
BUFFER = 100


class Ball:
    def __init__(self, number, centre, radius, weight, time):
        self.id, self.centre, self.radius, self.start = number, centre, radius, radius
        self.counts, self.total, self.mistakes, self.moved, self.used = {}, 0.0, 0.0, weight, time

    def count(self, y, w):
        self.counts[y] = self.counts.get(y, 0.0) + w
        self.total += w

    def majority(self):
        return min(self.counts, key=lambda c: (-self.counts[c], c))


class SlowBallCover:
    """nominal: which features are. ``log`` keeps what the regret inequality needs of BASE."""

    def __init__(
        self, nominal, *, variant="auto-adj", max_balls=None, discard="rate", metric="euclidean", scale="online",
        start="samples", dimension=2, diameter=None, covering=1.0, seed=1,
    ):  # fmt: skip
        self.nominal, self.variant, self.max_balls, self.discard = np.array(nominal, bool), variant, max_balls, discard
        self.metric, self.scale, self.start, self.d, self.seeds = metric, scale, start, dimension, seeded(seed)
        self.R, self.covering = diameter, covering
        self.balls, self.ids, self.time, self.pending, self.classes = [], 0, 0, False, 0
        self.t, self.dhat, self.phase, self.outside = 0, 1, 1, 0
        d = len(self.nominal)
        self.rows, self.mean, self.squares = 0, np.zeros(d), np.zeros(d)
        self.least, self.greatest = np.full(d, np.inf), np.full(d, -np.inf)
        self.centre, self.scatter, self.whitened = np.zeros(d), np.eye(d), 0
        self.waiting, self.log = [], []

    # -- where a record lies

    def scaled(self, x):
        x = np.where(self.nominal, x, np.clip(x, -1e150, 1e150))
        if self.metric == "hamming" or self.scale is None:
            return x
        with np.errstate(all="ignore"):
            if self.scale == "online":  # as if the row had been counted
                gap = x - self.mean
                mean = self.mean + gap / (self.rows + 1)
                sd = np.sqrt((self.squares + gap * (x - mean)) / (self.rows + 1))
                z = np.where(sd > 0, np.clip((x - mean) / sd, -10, 10), 0.0)
            else:
                least, width = np.minimum(self.least, x), np.maximum(self.greatest, x) - np.minimum(self.least, x)
                z = np.where(width > 0, (x - least) / width, 0.0)
        return np.where(self.nominal, x, z)

    def placed(self, x):
        z = self.scaled(x)
        if self.metric in ("cosine", "angular"):
            length = math.sqrt(in_order(z * z))
            return z / length if length > 0 else z
        if self.metric == "mahalanobis":
            n = self.whitened + 1
            return np.linalg.solve(np.linalg.cholesky(self.scatter / n), z - self.centre)
        return z

    def observe(self, x):
        z = self.scaled(x)
        gap = z - self.centre  # for Mahalanobis
        self.whitened += 1
        self.scatter = self.scatter + np.outer(gap, gap) * (1 - 1 / self.whitened)
        self.centre = self.centre + gap / self.whitened
        x = np.clip(x, -1e150, 1e150)
        self.rows += 1
        gap = x - self.mean
        self.mean = self.mean + gap / self.rows
        self.squares = self.squares + gap * (x - self.mean)
        self.least, self.greatest = np.minimum(self.least, x), np.maximum(self.greatest, x)

    def keys(self, z, centres):
        total = np.zeros(len(centres))
        for f in range(len(z)):  # in this order, so that equal is equal
            if self.nominal[f] or self.metric == "hamming":
                gap = (centres[:, f] != z[f]).astype(float)
            else:
                gap = np.abs(z[f] - centres[:, f])
            if self.metric == "chebyshev":
                total = np.maximum(total, gap)
            else:
                total = total + (gap if self.metric in ("manhattan", "hamming") else gap * gap)
        return total

    def distance(self, key):
        if self.metric in ("euclidean", "mahalanobis"):
            return math.sqrt(key)
        if self.metric == "cosine":
            return key / 2
        return 2 * math.asin(min(1.0, math.sqrt(key) / 2)) if self.metric == "angular" else float(key)

    def nearest(self, z):
        if callable(self.metric):
            keys = np.array([self.metric(z, b.centre) for b in self.balls])
        else:
            keys = self.keys(z, np.array([b.centre for b in self.balls]))
        s = min(np.flatnonzero(keys == keys.min()), key=lambda i: self.balls[i].id)
        return self.balls[s], float(keys[s]) if callable(self.metric) else self.distance(keys[s])

    # -- predicting

    def proba(self, x):
        K = self.classes
        if not self.balls or K == 1:
            return np.full(K, 1 / K)
        ball, rho = self.nearest(self.placed(x))
        if self.variant == "base":
            p = soft(ball.counts.get(1, 0.0), ball.total)
            return np.array([1 - p, p])
        trust, e = 1.0, self.radius(ball)
        if not self.pending and rho > e:
            trust = max(LEAST_TRUST, math.exp(-0.5 * ((rho - e) / e) ** 2))
        share = trust / (ball.total + K)
        return np.array([(1 - trust) / K + share + share * ball.counts.get(c, 0.0) for c in range(K)])

    def radius(self, ball):
        return ball.radius if self.variant.startswith("auto") else self.now()

    # -- learning

    def learn(self, x, y, w=1.0):
        fresh = y >= self.classes
        self.classes = max(self.classes, y + 1)
        z = self.placed(x)
        self.time += 1
        if self.variant.startswith("auto"):
            self.learn_auto(z, y, w, fresh)
        elif self.R is None:
            self.wait(z, y, w)
        else:
            self.learn_base(z, y, w)
        self.observe(x)

    def open(self, z, radius, y, w):
        ball = Ball(self.ids, z.copy(), radius, w, self.time)
        self.ids += 1
        ball.count(y, w)
        if self.max_balls is not None and len(self.balls) == self.max_balls:
            self.balls[self.discarded()] = ball
        else:
            self.balls.append(ball)

    def learn_auto(self, z, y, w, fresh):
        if not self.balls:
            self.open(z, 0.0, y, w)
            self.pending = True
            return
        ball, rho = self.nearest(z)
        if self.pending:
            if rho > 0 and (self.start == "samples" or y not in ball.counts):
                ball.radius = ball.start = rho
                self.pending = False
                self.open(z, rho, y, w)
            else:
                ball.count(y, w)
                ball.used = self.time
            return
        if rho > ball.radius or (fresh and rho > 0 and self.start == "samples"):
            self.open(z, rho, y, w)
            return
        if ball.majority() != y:
            ball.mistakes += w
            ball.radius = ball.start * max(1.0, ball.mistakes) ** (-1 / (2 + self.d))
        elif self.variant.endswith("adj"):
            self.move(ball, z, w)
        ball.count(y, w)
        ball.used = self.time

    def move(self, ball, z, w):
        ball.moved += w
        centre = ball.centre + (z - ball.centre) * (w / ball.moved)
        if self.metric in ("cosine", "angular"):
            length = math.sqrt(in_order(centre * centre))
            centre = centre / length if length > 0 else centre
        ball.centre = np.where(self.nominal, ball.centre, centre)

    def now(self):
        return self.R * max(1, self.t) ** (-1 / (2 + self.dhat)) if self.R else 0.0

    def wait(self, z, y, w):
        """Until the diameter is known everything is in one ball."""
        if not self.balls:
            self.open(z, 0.0, y, w)
            self.pending = True
        else:
            self.balls[0].count(y, w)
        self.waiting.append((z, y, w))
        if len(self.waiting) == BUFFER:
            self.pending = False
            first = self.balls[0].centre
            self.R = 2 * max(self.distance(self.keys(z, first[None])[0]) for z, _, _ in self.waiting) or 1.0
            self.balls, self.ids, self.time = [], 0, self.time - BUFFER
            for z, y, w in self.waiting:
                self.time += 1
                self.learn_base(z, y, w)
            self.waiting = []

    def learn_base(self, z, y, w):
        self.t += 1
        if not self.balls:
            self.open(z, 0.0, y, w)
            self.log.append(("first", 0.0))
            return
        ball, rho = self.nearest(z)
        if rho > self.R:
            self.outside += 1
            self.R = 2 * rho
        e = self.now()
        if rho <= e:
            self.log.append(("inside", e))
            if ball.majority() != y:
                ball.mistakes += w
            elif self.variant == "base-adj":
                self.move(ball, z, w)
            ball.count(y, w)
            ball.used = self.time
            return
        most = self.covering * 4**self.dhat * self.t ** (self.dhat / (2 + self.dhat))
        if len(self.balls) + 1 > most:
            needed = math.log((len(self.balls) + 1) / self.covering) / math.log(4 * self.R / e)
            self.dhat = max(self.dhat + 1, math.ceil(needed))
            self.log += [("closed", b.total) for b in self.balls]
            self.phase, self.t, self.balls = self.phase + 1, 1, []
        self.log.append(("opens", 0.0))
        self.open(z, 0.0, y, w)

    # -- a bounded number

    def weights(self):
        if self.discard == "count":
            return np.array([b.mistakes + 1 for b in self.balls])
        return np.array([(b.mistakes + 1) / (b.total + 2) for b in self.balls])

    def discarded(self):
        n = len(self.balls)
        if self.discard == "oldest":
            return min(range(n), key=lambda i: self.balls[i].id)
        if self.discard == "least-recent":
            return min(range(n), key=lambda i: (self.balls[i].used, self.balls[i].id))
        if self.discard == "uniform":
            return integer(self.seeds, 0, n)
        if self.discard == "rate":  # a ball by chance, kept or not by its weight; else by adding up
            for _ in range(PATIENCE):
                i = integer(self.seeds, 0, n)
                if uniform(self.seeds, 0) * (self.balls[i].total + 2) < self.balls[i].mistakes + 1:
                    return i
        at = uniform(self.seeds, 0) * in_order(self.weights())
        total = 0.0
        for i, weight in enumerate(self.weights()):
            total += weight
            if at < total:
                return i
        return n - 1


def soft(ones, n):
    """The probability of 1 from counts: Laplace, then a soft threshold (Feder, Merhav, Gutman 1992)."""
    share, g = (ones + 1) / (n + 2), 1 / (2 * math.sqrt(n + 2))
    if share <= 0.5 - g:
        return 0.0
    return 1.0 if share >= 0.5 + g else 0.5 + (share - 0.5) / (2 * g)


def in_order(values):
    total = 0.0
    for v in values:
        total += float(v)
    return total
