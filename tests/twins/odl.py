"""Online deep learning once more, slowly: NumPy matrices, one row at a time, written from the paper's equations."""

import numpy as np

from twins.adwin import SlowADWIN


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


class SlowDice:
    """The first weights: for each row of a table splitmix64 from the seed and the row's own number."""

    def __init__(self, seed):
        self.base = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])

    def roll(self):
        """Other weights from now on."""
        self.base = (self.base + 0x9E3779B97F4A7C15) % 2**64

    def row(self, key, n, fans):
        limit, weights = np.sqrt(6 / fans), []
        state = mixed((self.base + key * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) % 2**64)
        for _ in range(n):
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            weights.append((2 * (mixed(state) >> 11) / 2**53 - 1) * limit)
        return weights

    def draw(self, kinds, layers, units, classes):
        """W, b, theta and c of a network that has learned nothing."""
        values = [(f, j) for f, k in enumerate(kinds) for j in range(1 if k is None else k)]
        inputs = [self.row(3 * (f * 1024 + j) + 1, units, len(kinds) + units) for f, j in values]
        above = [[self.row(3 * (d * units + i) + 2, units, 2 * units) for i in range(units)] for d in range(layers - 1)]
        theta = [np.zeros((classes, len(values)))]
        theta += [
            [self.row(3 * (c * layers + d), units, units + classes) for c in range(classes)] for d in range(layers)
        ]
        W = [np.array(rows).T for rows in (inputs, *above)]
        return W, [np.zeros(units)] * layers, theta, [np.zeros(classes)] * (layers + 1)


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


class SlowNetwork:
    """Hidden layers h = relu(W h + b), a softmax classifier (theta, c) at each depth, and the weights of the depths.

    Depth 0 is the input; without an input classifier its weight is 0. ``weights``: W, b, theta and c to begin with.
    """

    def __init__(self, weights, *, rate=0.01, beta=0.99, floor=0.2, input_classifier=True, hedge_loss="minmax"):
        self.W, self.b, self.theta, self.c = ([np.array(part) for part in kind] for kind in weights)
        self.L = len(self.W)
        self.rate, self.beta, self.floor, self.hedge_loss = rate, beta, floor, hedge_loss
        self.depths = range(0 if input_classifier else 1, self.L + 1)
        self.alpha = self.even()
        self.recoveries = 0

    def even(self):
        alpha = np.zeros(self.L + 1)
        alpha[list(self.depths)] = 1 / len(self.depths)
        return alpha

    def parameters(self):
        """All tables that gradient descent changes."""
        return [*self.W, *self.b, *(self.theta[d] for d in self.depths), *(self.c[d] for d in self.depths)]

    def forward(self, x):
        """Give h at every depth, and what the classifier at every depth answers."""
        h = [x]
        for W, b in zip(self.W, self.b, strict=True):
            h.append(np.maximum(W @ h[-1] + b, 0.0))
        return h, {d: softmax(self.theta[d] @ h[d] + self.c[d]) for d in self.depths}

    def mix(self, x):
        _, p = self.forward(x)
        return sum(self.alpha[d] * p[d] for d in self.depths)

    def loss(self, x, y):
        """J, what a step goes down: the log losses of all depths, weighted."""
        _, p = self.forward(x)
        return sum(-self.alpha[d] * np.log(p[d][y]) for d in self.depths)

    def gradient(self, x, y):
        """The gradient of J, in the order of ``parameters``."""
        h, p = self.forward(x)
        e = {d: self.alpha[d] * (p[d] - np.eye(len(p[d]))[y]) for d in self.depths}
        dW, db = [None] * self.L, [None] * self.L
        g = np.zeros(len(h[-1]))
        for d in range(self.L, 0, -1):
            g = (g + self.theta[d].T @ e[d]) * (h[d] > 0)
            dW[d - 1], db[d - 1] = np.outer(g, h[d - 1]), g
            g = self.W[d - 1].T @ g
        return [*dW, *db, *(np.outer(e[d], h[d]) for d in self.depths), *(e[d] for d in self.depths)]

    def losses(self, x, y):
        """What the hedge takes, for each depth."""
        _, p = self.forward(x)
        if self.hedge_loss == "zero_one":
            return {d: float(p[d].argmax() != y) for d in self.depths}
        raw = {d: -np.log(max(p[d][y], 1e-12)) for d in self.depths}
        if self.hedge_loss == "clipped":
            return {d: min(v, 1.0) for d, v in raw.items()}
        least, gap = min(raw.values()), max(raw.values()) - min(raw.values())
        return {d: (v - least) / gap if gap >= 1e-12 else 0.0 for d, v in raw.items()}

    def learn(self, x, y, w=1.0, boost=1.0):
        """One step; it is not taken where a parameter would change by more than 10, and the rate is halved."""
        rate = min(w * boost * self.rate * 0.5**self.recoveries, max(0.1, self.rate))
        losses, gradient, (h, _) = self.losses(x, y), self.gradient(x, y), self.forward(x)
        tops = [max(1.0, np.abs(v).max(initial=0.0)) for v in h]
        steps = [tops[d] * max(1.0, np.abs(gradient[self.L + d]).max()) for d in range(self.L)]
        if rate * max(*steps, tops[-1]) > 10.0:
            self.recoveries += 1
        else:
            for table, slope in zip(self.parameters(), gradient, strict=True):
                table -= rate * slope
        alpha = [max(self.alpha[d] * self.beta ** (losses[d] * w), self.floor / self.L) for d in self.depths]
        self.alpha[list(self.depths)] = np.array(alpha) / sum(alpha)


class SlowInputs:
    """Columns for records: numbers standardised by what came before, nominal values as 1 in their column."""

    def __init__(self, kinds, *, scale=True):
        self.kinds, self.scale = kinds, scale  # None: a number; else how many values
        self.values = [[] for _ in kinds]

    def row(self, x):
        columns = []
        for kind, seen, v in zip(self.kinds, self.values, x, strict=True):
            if kind is not None:
                columns += [float(v == code and code in seen) for code in range(kind)]
            elif np.isnan(v) or (self.scale and len(seen) < 2):
                columns.append(0.0)
            elif self.scale:
                columns.append(float(np.clip((v - np.mean(seen)) / max(np.std(seen), 1e-8), -10, 10)))
            else:
                columns.append(v)
        return np.array(columns)

    def learn(self, x):
        for seen, v in zip(self.values, x, strict=True):
            if not np.isnan(v):
                seen.append(v)


class SlowOnlineDeepLearning:
    """The learner: inputs, network, ADWIN. kinds: for each feature None, or its number of values."""

    def __init__(self, kinds, *, layers, units, scale=True, delta=0.002, on_drift="hedge", seed=1, **options):
        self.inputs, self.options = SlowInputs(kinds, scale=scale), options
        self.kinds, self.layers, self.units, self.dice = kinds, layers, units, SlowDice(seed)
        self.adwin, self.delta, self.on_drift = SlowADWIN(delta=delta), delta, on_drift
        self.net, self.classes, self.rows, self.steps, self.drifts, self.since = None, 0, 0, 0, 0, 500

    def new_network(self):
        return SlowNetwork(self.dice.draw(self.kinds, self.layers, self.units, self.classes), **self.options)

    def proba(self, x):
        if self.classes < 2:
            return np.ones(self.classes)
        return self.net.mix(self.inputs.row(x))

    def learn(self, x, y, w=1.0):
        wrong = y >= self.classes or self.proba(x).argmax() != y
        if y >= self.classes:
            self.admit(y + 1)
        if self.classes > 1:
            boost = 10 ** (1 - self.since / 500)
            self.net.learn(self.inputs.row(x), y, w, boost)
            self.steps += 1
            self.since = min(self.since + 1, 500)
        self.inputs.learn(x)
        if self.rows > 0 and self.adwin.update(float(wrong)) == "up":
            self.drifts += 1
            self.respond()
        self.rows += 1

    def admit(self, known):
        more, self.classes = known - self.classes, known
        if self.steps == 0:
            self.net = self.new_network() if known > 1 else None
            return
        for d in range(self.net.L + 1):
            theta, c = self.net.theta[d], self.net.c[d]
            self.net.theta[d] = np.vstack([theta, np.zeros((more, theta.shape[1]))])
            self.net.c[d] = np.append(c, [c.mean() - np.log(10)] * more)

    def respond(self):
        if self.on_drift == "hedge":
            self.net.alpha, self.since = self.net.even(), 0
        if self.on_drift == "reset":
            recoveries = self.net.recoveries
            self.dice.roll()
            self.net = self.new_network()
            self.net.recoveries, self.steps = recoveries, 0
            self.adwin = SlowADWIN(delta=self.delta)
