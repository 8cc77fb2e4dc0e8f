"""Transformers in plain Python, a record (a list of numbers, None or NaN where missing) at a time."""

import math
import re
from collections import Counter
from datetime import datetime, timedelta

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
    def __init__(self, columns, key, lags, means, differences=False):
        self.columns, self.key, self.lags, self.means, self.seen = columns, key, lags, means, []
        self.differences = differences

    def transform(self, x):
        past = [row for row in self.seen if row[self.key] == x[self.key]]
        z = []
        for f, v in enumerate(x):
            z.append(v)
            if f in self.columns:
                made = [past[-n][f] if n <= len(past) else math.nan for n in self.lags]
                for n in self.means:
                    there = [row[f] for row in past[-n:] if not lacks(row[f])]
                    made.append(sum(there) / len(there) if there else math.nan)
                z += [v - old for old in made] if self.differences else made
        return z

    def learn(self, x, y, w):
        if not lacks(x[self.key]):
            self.seen.append(x)


class RobustScaler:
    """Keeps all values; quartiles are those of the rows at which the sketch works them out."""

    def __init__(self, columns):
        self.columns = columns
        self.seen = {f: [] for f in columns}
        self.quartiles = dict.fromkeys(columns, (0.0, 0.0, 0.0))
        self.due = dict.fromkeys(columns, 0)

    def transform(self, x):
        z = list(x)
        for f in self.columns:
            if not lacks(x[f]):
                low, middle, high = self.quartiles[f]
                z[f] = (x[f] - middle) / (high - low) if high > low else (x[f] - middle if self.seen[f] else 0.0)
        return z

    def learn(self, x, y, w):
        for f in self.columns:
            if lacks(x[f]):
                continue
            self.seen[f].append(near(x[f]))
            n = len(self.seen[f])
            if n >= self.due[f]:
                ordered = sorted(self.seen[f])
                self.quartiles[f] = tuple(ordered[math.ceil(q * n) - 1] for q in (0.25, 0.5, 0.75))
                self.due[f] = n + 1 + n // 32


class RareGroups:
    def __init__(self, columns, least, share):
        self.columns, self.least, self.share, self.seen = columns, least, share, []

    def transform(self, x):
        z = list(x)
        for f in self.columns:
            if lacks(x[f]):
                continue
            total = sum(w for row, w in self.seen if not lacks(row[f]))
            had = sum(w for row, w in self.seen if row[f] == x[f])
            z[f] = x[f] + 1.0 if had and had >= self.least and had >= self.share * total else 0.0
        return z

    def learn(self, x, y, w):
        self.seen.append((x, w))


class DateParts:
    """By the calendar of Python's own library."""

    def __init__(self, columns, parts):
        self.columns, self.parts, self.seen = columns, parts, {f: [] for f in columns}

    def part(self, f, t, part):
        if lacks(t):
            return math.nan
        if part in ("since_last", "since_first"):
            past = self.seen[f]
            return t - past[-1 if part == "since_last" else 0] if past else math.nan
        day = datetime(1970, 1, 1) + timedelta(seconds=t)
        return {
            "hour": day.hour, "weekday": day.weekday(), "day": day.day, "day_of_year": day.timetuple().tm_yday,
            "month": day.month,
        }[part]  # fmt: skip

    def transform(self, x):
        z = []
        for f, v in enumerate(x):
            z += [self.part(f, v, part) for part in self.parts] if f in self.columns else [v]
        return z

    def learn(self, x, y, w):
        for f in self.columns:
            if not lacks(x[f]):
                self.seen[f].append(x[f])


def fnv(data, basis=0xCBF29CE484222325):
    """Hash bytes (FNV-1a), and mix the bits (splitmix64)."""
    h = basis
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ h >> shift) * factor % 2**64
    return h ^ h >> 31


def hashed_text(text, words, characters, width):
    """Count the n-grams of a text in each of the columns."""
    out = [0.0] * width
    said = re.sub(r"\W+", " ", (text or "").lower()).split()
    for i in range(len(said)):
        for n in range(1, words + 1):
            if i + n <= len(said):
                out[fnv(" ".join(said[i : i + n]).encode()) % width] += 1.0
    for word in said if characters else ():
        padded = f" {word} "
        for i in range(max(1, len(padded) - characters + 1)):
            out[fnv(padded[i : i + characters].encode(), 2**64 - 1 - 0xCBF29CE484222325) % width] += 1.0
    return out


def information(values, labels):
    """Give the mutual information of two lists of equal length, in nats."""
    n = len(values)
    both, one, other = Counter(zip(values, labels, strict=True)), Counter(values), Counter(labels)
    return sum(c / n * math.log(c * n / (one[v] * other[y])) for (v, y), c in both.items())


def moments(events):
    """Give the row of each moment, whether it is learned, and each event seen from the moments."""
    rows, learned, now = [], [], []
    for i, e in enumerate(events):
        if e >= 0 or i == 0 or events[i - 1] != ~e:
            rows.append(max(e, ~e))
            learned.append(False)
        learned[-1] |= e < 0
        now.append(len(rows) - 1 if e >= 0 else ~(len(rows) - 1))
    return rows, learned, now


def follow(twin, X, y, w):
    """Transform each record by what was known before it, then learn it."""
    rows = []
    for x, label, weight in zip(X.tolist(), y, w, strict=True):
        rows.append(twin.transform(x))
        if weight > 0:
            twin.learn(x, label, weight)
    return rows


__all__ = [
    "DateParts", "Imputer", "Lags", "MinMaxScaler", "OneHot", "RareGroups", "RobustScaler", "StandardScaler",
    "TargetEncoder", "fnv", "follow", "hashed_text", "information", "moments",
]  # fmt: skip
