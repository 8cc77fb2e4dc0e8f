"""A tree on binned numbers once more, slowly: nodes are objects, counts are dicts, written from the rules."""

import math
from statistics import NormalDist


def cut_points(values, bins):
    """Up to bins - 1 values that cut a sample into bins of like weight; of few different values each gets a bin."""
    ordered = sorted(v for v in values if not math.isnan(v))
    distinct = sorted(set(ordered))
    if len(distinct) > bins:
        distinct = sorted({ordered[i * (len(ordered) - 1) // bins] for i in range(1, bins)} | {ordered[-1]})
    return distinct[:-1]


def add(values):
    """Sum in order; Python's own sum rounds otherwise."""
    total = 0.0
    for v in values:
        total += v
    return total


def gini(counts):
    """1 - Σ p²."""
    n = sum(counts.values())
    return 1.0 - sum((c / n) ** 2 for c in counts.values()) if n > 0 else 0.0


def gain_as_written(left, right):
    """Gini gain in the words of the paper: impurity before, less the mean impurity of the two sides."""
    whole = {k: left.get(k, 0.0) + right.get(k, 0.0) for k in left.keys() | right.keys()}
    n, nl, nr = (sum(counts.values()) for counts in (whole, left, right))
    return gini(whole) - nl / n * gini(left) - nr / n * gini(right) if nl and nr else 0.0


def gain_of(left, total):
    """Write the same in the order of the compiled version, so that no split hangs on the last bit."""
    nl = nr = sl = sr = n = squares = 0.0
    for k in sorted(total):
        a = left.get(k, 0.0)
        c = total[k] - a
        nl, nr, sl, sr = nl + a, nr + c, sl + a * a, sr + c * c
        n, squares = n + total[k], squares + total[k] * total[k]
    return (sl / nl + sr / nr) / n - squares / (n * n) if nl > 0.0 and nr > 0.0 else 0.0


def error_of(left, total):
    """Standard error of the gain by the delta method: g_qk = 2 p_qk / p_q - Σ_k p_qk² / p_q² - 2 p_k."""
    n = add(total[k] for k in sorted(total))
    sides = [[left.get(k, 0.0) / n for k in sorted(total)], [(total[k] - left.get(k, 0.0)) / n for k in sorted(total)]]
    shares = [total[k] / n for k in sorted(total)]
    mean = square = 0.0
    squares = [add(p * p for p in side) for side in sides]
    wholes = [add(side) for side in sides]
    for k, p in enumerate(shares):
        g, h = (2.0 * sides[q][k] / wholes[q] - squares[q] / (wholes[q] * wholes[q]) - 2.0 * p for q in (0, 1))
        mean += sides[0][k] * g + sides[1][k] * h
        square += sides[0][k] * g * g + sides[1][k] * h * h
    return math.sqrt(max(0.0, square - mean * mean) / n)


def enough(bound, gain, error, second, second_error, n, *, delta, grace_period, tau):
    """Does the best split pass the bound?"""
    z = max(0.0, NormalDist().inv_cdf(1.0 - delta))
    if gain <= 1e-9:
        return False
    if bound == "mcdiarmid":
        epsilon = math.sqrt(8.0 * math.log(1.0 / delta) / n)
    elif bound == "hoeffding":
        epsilon = math.sqrt(math.log(1.0 / delta) / (2.0 * n))
    else:
        epsilon = z * (error + second_error)
    if gain - second > epsilon:
        return True
    if bound == "lcb":
        return n >= 2.0 * grace_period and gain - z * error > tau
    return epsilon < tau < gain


class Leaf:
    """Counts classes by feature and bin; once it is split it has a feature, a threshold and two children."""

    def __init__(self, depth, classes):
        self.depth, self.weight, self.tried, self.right = depth, 0.0, 0.0, {"majority": 0.0, "bayes": 0.0}
        self.classes, self.seen = classes, {}
        """Class weights with what was inherited, and without."""
        self.all, self.own, self.totals = {}, {}, {}
        """By feature, bin and class, with what was inherited and without; by feature and class, with."""
        self.feature = None


class SlowBinnedTree:
    def __init__(self, bound="lcb", delta=0.05, grace_period=50, tau=None, leaf="adaptive", max_leaves=256,
                 max_depth=20, bins=32):  # fmt: skip
        self.bound, self.delta, self.grace_period, self.leaf = bound, delta, grace_period, leaf
        self.tau = tau if tau is not None else 0.01 if bound == "lcb" else 0.05
        self.max_leaves, self.max_depth, self.bins = max_leaves, max_depth, bins
        self.cuts, self.root, self.leaves, self.gains = [], Leaf(0, {}), 1, {}

    def begin(self, sample):
        """Begin anew, with cut points from the rows of a sample."""
        self.cuts, self.root, self.leaves, self.gains = [], Leaf(0, {}), 1, {}
        self.add_features(sample)

    def add_features(self, sample):
        self.cuts += [cut_points(column, self.bins) for column in zip(*sample, strict=True)]

    # -- what it says -------------------------------------------------------------------------------------------------

    def find(self, x):
        node = self.root
        while node.feature is not None:
            node = node.children[0 if x[node.feature] <= node.threshold else 1]
        return node

    def bins_of(self, x):
        """Give each used feature's bin: how many cuts lie below the value."""
        pairs = zip(x, self.cuts, strict=False)
        return {f: sum(c < v for c in cuts) for f, (v, cuts) in enumerate(pairs) if cuts and not math.isnan(v)}

    def bayes(self, leaf, x):
        """Give n_k Π (n_bk + 1) / (n_k + bins) of each class in the leaf, up to a factor."""
        p = dict(leaf.classes)
        for f, b in self.bins_of(x).items():
            for k in p:
                n = leaf.all.get((f, b, k), 0.0)
                p[k] = p[k] * ((n + 1.0) / (leaf.totals.get((f, k), 0.0) + (len(self.cuts[f]) + 1.0)))
            most = max(p.values(), default=0.0)
            while 0.0 < most < 1e-100:
                most /= 1e-100
                p = {k: v / 1e-100 for k, v in p.items()}
        return p

    def proba(self, x, known):
        leaf = self.find(x)
        by_bayes = self.leaf == "bayes" or (self.leaf == "adaptive" and leaf.right["bayes"] >= leaf.right["majority"])
        votes, added = (self.bayes(leaf, x), 0.0) if by_bayes else (leaf.classes, 1.0)
        n = add(votes[k] for k in sorted(votes)) + added * known
        return [(votes.get(k, 0.0) + added) / n if n > 0.0 else 1.0 / known for k in range(known)]

    def path(self, x):
        node, steps = self.root, []
        while node.feature is not None:
            right = not x[node.feature] <= node.threshold
            steps.append((node.feature, node.threshold, right))
            node = node.children[right]
        return steps

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, x, y, w=1.0):
        leaf = self.find(x)
        leaf.right["majority"] += w * (most(leaf.classes) == y)
        leaf.right["bayes"] += w * (most(self.bayes(leaf, x)) == y)
        leaf.weight += w
        for counts in (leaf.classes, leaf.seen):
            counts[y] = counts.get(y, 0.0) + w
        for f, b in self.bins_of(x).items():
            for counts in (leaf.all, leaf.own):
                counts[f, b, y] = counts.get((f, b, y), 0.0) + w
            leaf.totals[f, y] = leaf.totals.get((f, y), 0.0) + w
        if leaf.weight - leaf.tried >= self.grace_period and leaf.depth < self.max_depth:
            leaf.tried = leaf.weight
            if len(leaf.seen) > 1 and self.leaves < self.max_leaves:
                self.attempt(leaf)

    def attempt(self, leaf):
        """Split a leaf if its best split passes the bound. Splits rest on the leaf's own rows."""
        found = []
        for f, cuts in enumerate(self.cuts):
            by_bin = [{k: leaf.own.get((f, b, k), 0.0) for k in leaf.seen} for b in range(len(cuts) + 1)]
            total = summed(by_bin)
            best, best_left, best_cut = 0.0, None, 0
            for cut in range(len(cuts)):
                left = summed(by_bin[: cut + 1])
                gain = gain_of(left, total)
                if gain > best:
                    best, best_left, best_cut = gain, left, cut
            if best_left is not None:
                found.append((best, error_of(best_left, total), add(total[k] for k in sorted(total)), f, best_cut))
        found.sort(key=lambda entry: (-entry[0], entry[3]))
        if not found:
            return
        gain, error, n, f, cut = found[0]
        second, second_error = found[1][:2] if len(found) > 1 else (0.0, 0.0)
        rules = {"delta": self.delta, "grace_period": self.grace_period, "tau": self.tau}
        if enough(self.bound, gain, error, second, second_error, n, **rules):
            self.gains[f] = self.gains.get(f, 0.0) + gain
            self.split(leaf, f, cut)

    def split(self, leaf, f, cut):
        heir = self.leaf != "majority"
        sides = [dict.fromkeys(leaf.classes, 0.0), dict.fromkeys(leaf.classes, 0.0)]
        for b in range(len(self.cuts[f]) + 1):
            for k in leaf.classes:
                sides[b > cut][k] += (leaf.all if heir else leaf.own).get((f, b, k), 0.0)
        nl, nr = (add(side[k] for k in sorted(side)) for side in sides)
        share = {}
        for k in leaf.classes:
            n = sides[0][k] + sides[1][k]
            share[k] = sides[0][k] / n if n > 0.0 else nl / (nl + nr)
        children = []
        for right in (False, True):
            part = {k: 1.0 - s if right else s for k, s in share.items()}
            child = Leaf(leaf.depth + 1, {k: v * part[k] for k, v in leaf.classes.items()})
            if heir:
                for (g, b, k), v in leaf.all.items():
                    child.all[g, b, k] = v * (float((b > cut) == right) if g == f else part[k])
                child.totals = {(g, k): v * part[k] for (g, k), v in leaf.totals.items()}
            children.append(child)
        leaf.feature, leaf.threshold, leaf.children = f, self.cuts[f][cut], children
        self.leaves += 1


def summed(dicts):
    """Add up dicts with the same keys, in order."""
    total = dict.fromkeys(dicts[0], 0.0)
    for counts in dicts:
        for k in total:
            total[k] += counts[k]
    return total


def most(votes):
    """Give the class with the most votes, the lowest code among equals; 0 where there are none."""
    best = 0
    for k in sorted(votes):
        if votes[k] > votes.get(best, 0.0):
            best = k
    return best
