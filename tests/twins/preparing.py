"""Transformers in plain Python, a record (a list of numbers, None or NaN where missing) at a time."""

import math

FAR = 1e75


def lacks(v):
    return v is None or math.isnan(v)


def near(v):
    return max(-FAR, min(FAR, v))


class StandardScaler:
    """Keeps all values; mean and deviation are computed anew for each record."""

    def __init__(self, columns, centre=True, decay=1.0):
        self.columns, self.centre, self.decay = columns, centre, decay
        self.seen = {f: [] for f in columns}

    def transform(self, x):
        z = list(x)
        for f in self.columns:
            if lacks(x[f]):
                continue
            values = self.seen[f]
            weights = [w * self.decay ** (len(values) - 1 - i) for i, (_, w) in enumerate(values)]
            total = sum(weights)
            mean = sum(w * v for w, (v, _) in zip(weights, values, strict=True)) / total if total else 0.0
            squares = sum(w * (v - mean) ** 2 for w, (v, _) in zip(weights, values, strict=True))
            spread = math.sqrt(squares / total) if total and len({v for v, _ in values}) > 1 else 0.0
            if spread:
                z[f] = (x[f] - mean * self.centre) / spread
            elif self.centre:
                z[f] = 0.0
        return z

    def learn(self, x, y, w):
        for f in self.columns:
            if not lacks(x[f]):
                self.seen[f].append((near(x[f]), w))


class MinMaxScaler:
    def __init__(self, columns, clip=False):
        self.columns, self.clip = columns, clip
        self.seen = {f: [] for f in columns}

    def transform(self, x):
        z = list(x)
        for f in self.columns:
            if lacks(x[f]):
                continue
            low, high = min(self.seen[f], default=0.0), max(self.seen[f], default=0.0)
            z[f] = (x[f] - low) / (high - low) if high > low else 0.0
            if self.clip:
                z[f] = max(0.0, min(1.0, z[f]))
        return z

    def learn(self, x, y, w):
        for f in self.columns:
            if not lacks(x[f]):
                self.seen[f].append(x[f])


class Imputer:
    def __init__(self, columns, strategy="mean", indicator=False, nominal=()):
        self.columns, self.strategy, self.indicator, self.nominal = columns, strategy, indicator, nominal
        self.seen = {f: [] for f in columns}

    def fill(self, f):
        values = self.seen[f]
        if not values:
            return 0.0
        if self.strategy == "last":
            return values[-1][0]
        if self.strategy == "mean" and f not in self.nominal:
            return sum(v * w for v, w in values) / sum(w for _, w in values)
        counts, best = {}, None
        for v, w in values:  # of equals the one that was there first
            counts[v] = counts.get(v, 0.0) + w
            if best is None or counts[v] > counts[best]:
                best = v
        return best

    def transform(self, x):
        z = []
        for f, v in enumerate(x):
            chosen = f in self.columns
            z.append(self.fill(f) if chosen and lacks(v) else v)
            if chosen and self.indicator:
                z.append(float(lacks(v)))
        return z

    def learn(self, x, y, w):
        for f in self.columns:
            if not lacks(x[f]):
                self.seen[f].append((x[f], w))


class OneHot:
    def __init__(self, columns, max_values=16):
        self.columns, self.max_values = columns, max_values
        self.known = set()

    def transform(self, x):
        z = []
        for f, v in enumerate(x):
            if f not in self.columns:
                z.append(v)
                continue
            block = [0.0] * (self.max_values + 1)
            if not lacks(v):
                block[int(v) if (f, v) in self.known and v < self.max_values else -1] = 1.0
            z += block
        return z

    def learn(self, x, y, w):
        self.known |= {(f, x[f]) for f in self.columns if not lacks(x[f])}


class TargetEncoder:
    def __init__(self, columns, smoothing=10.0):
        self.columns, self.smoothing, self.seen = columns, smoothing, []

    def transform(self, x):
        z = []
        for f, v in enumerate(x):
            if f not in self.columns:
                z.append(v)
                continue
            total = sum(w for _, _, w in self.seen)
            share = sum(y * w for _, y, w in self.seen) / total if total else 0.0
            mine = [(y, w) for row, y, w in self.seen if row[f] == v]
            weight = sum(w for _, w in mine) + self.smoothing
            z.append((sum(y * w for y, w in mine) + self.smoothing * share) / weight if weight else share)
        return z

    def learn(self, x, y, w):
        self.seen.append((x, y, w))


class Lags:
    def __init__(self, columns, key, lags, means):
        self.columns, self.key, self.lags, self.means, self.seen = columns, key, lags, means, []

    def transform(self, x):
        past = [row for row in self.seen if row[self.key] == x[self.key]]
        z = []
        for f, v in enumerate(x):
            z.append(v)
            if f in self.columns:
                z += [past[-n][f] if n <= len(past) else math.nan for n in self.lags]
                for n in self.means:
                    there = [row[f] for row in past[-n:] if not lacks(row[f])]
                    z.append(sum(there) / len(there) if there else math.nan)
        return z

    def learn(self, x, y, w):
        if not lacks(x[self.key]):
            self.seen.append(x)


def follow(twin, X, y, w):
    """Transform each record by what was known before it, then learn it."""
    rows = []
    for x, label, weight in zip(X.tolist(), y, w, strict=True):
        rows.append(twin.transform(x))
        if weight > 0:
            twin.learn(x, label, weight)
    return rows


__all__ = ["Imputer", "Lags", "MinMaxScaler", "OneHot", "StandardScaler", "TargetEncoder", "follow"]
