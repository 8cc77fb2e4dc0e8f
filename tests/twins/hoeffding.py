"""The Hoeffding tree once more, slowly: nodes are objects, written from the rules and not from the compiled version."""

import math
from dataclasses import dataclass, field

from twins.observers import NominalObserver, NumericObserver, impurity, is_missing, naive_bayes, total


def epsilon(bound, span, delta, n):
    """How far a mean of n observations may be from the truth."""
    if bound == "mcdiarmid":
        return math.sqrt(8.0 * math.log(1.0 / delta) / n)
    return math.sqrt(span * span * math.log(1.0 / delta) / (2.0 * n))


def most(votes):
    """Find the class with the most votes, the lowest code among equals (a class that is not in ``votes`` has none)."""
    best = 0
    for c in sorted(votes):
        if votes[c] > votes.get(best, 0.0):
            best = c
    return best


@dataclass
class Leaf:
    """Counts classes and observes attributes."""

    counts: dict[int, float] = field(default_factory=dict)
    weight: float = 0.0
    last: float = 0.0
    """Weight at the last attempt to split."""
    majority_right: float = 0.0
    bayes_right: float = 0.0
    observers: dict[int, NumericObserver | NominalObserver] | None = None
    """By attribute; None before the first row."""


@dataclass
class Split:
    """Sends rows to its branches."""

    feature: int
    test: tuple[str, float]
    branches: list
    counts: dict[int, float]
    """Class weights when it was split."""
    weight: float

    def branch(self, x):
        """Number of the branch that row x takes."""
        v, (kind, t) = x[self.feature], self.test
        if not math.isnan(v):
            if kind == "<=":
                return 0 if v <= t else 1
            if kind == "==":
                return 0 if v == t else 1
            if v < t:
                return int(v)
        weights = [b.weight for b in self.branches]
        return weights.index(max(weights))


class SlowHoeffdingTree:
    """Parameters as ``HoeffdingTree``; ``values[f]`` is None for a number, else how many values f has beforehand.

    choose(d, m) draws m of d attributes for a leaf, where ``subspace`` is m.
    """

    def __init__(self, values, *, grace_period=200, delta=1e-7, tau=0.05, criterion="gain", leaf="adaptive",
                 bound="hoeffding", min_branch_share=0.01, null_merit="moa", n_split_points=10, binary_splits=False,
                 bayes_from=0.0, prune=True, drop_poor=False, leaf_range=True, smoothing=0.0, subspace=None,
                 choose=None, known=0):  # fmt: skip
        self.values = list(values)
        self.grace_period, self.delta, self.tau = grace_period, delta, tau
        self.criterion, self.leaf, self.bound = criterion, leaf, bound
        self.min_branch_share, self.null_merit, self.n_split_points = min_branch_share, null_merit, n_split_points
        self.binary_splits, self.bayes_from, self.prune = binary_splits, bayes_from, prune
        self.drop_poor = drop_poor and leaf == "majority"
        self.leaf_range, self.smoothing = leaf_range, smoothing
        self.subspace, self.choose = subspace, choose
        self.known = known
        self.root = Leaf()
        self.rows = 0
        self.splits = []
        """(row, feature, test) of each split in the order in which they happened."""

    # -- answering ----------------------------------------------------------------------------------------------------

    def proba(self, x):
        """Give the probability of each known class."""
        votes = self._votes(x)
        n = total(votes)
        if n == 0.0:
            return [1.0 / self.known] * self.known
        return [votes.get(c, 0.0) / n for c in range(self.known)]

    def _votes(self, x):
        node, parent = self.root, None
        while isinstance(node, Split):
            node, parent = node.branches[node.branch(x)], node
        asks = node.bayes_right >= node.majority_right if self.leaf == "adaptive" else node.weight >= self.bayes_from
        if self.leaf != "majority" and asks and node.observers is not None:
            votes = self._bayes(node, x)
            if votes is not None:
                return votes
        return parent.counts if parent is not None and node.weight == 0.0 else node.counts

    def _bayes(self, leaf, x):
        logs = dict.fromkeys(leaf.counts, 0.0)
        for f, observer in leaf.observers.items():
            if observer.empty or is_missing(x[f]):
                continue
            more = () if self.values[f] is None else (self.values[f],)
            for c in logs:
                logs[c] += observer.log_likelihood(x[f], c, *more)
        return naive_bayes(leaf.counts, logs)

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, x, y, w=1.0):
        """Learn a row with label code y and weight w."""
        if not self._meet(x, y, w):
            return
        node, place = self.root, None
        while isinstance(node, Split):
            node.weight += w
            place = node.branches, node.branch(x)
            node = node.branches[place[1]]
        split = self._teach(node, x, y, w)
        if split is not None:
            if place is None:
                self.root = split
            else:
                place[0][place[1]] = split

    def _meet(self, x, y, w):
        """Count a row, and make room for what it brings; say whether it is learned."""
        self.rows += 1
        if w == 0.0:
            return False
        self.known = max(self.known, y + 1)
        for f, cardinality in enumerate(self.values):
            if cardinality is not None and not is_missing(x[f]):
                self.values[f] = max(cardinality, int(x[f]) + 1)
        return True

    def _teach(self, leaf, x, y, w):
        """Let a leaf learn a row; give the split that it becomes, if any."""
        if leaf.observers is None:
            self._draw(leaf)
        if self.leaf == "adaptive":
            self._judge(leaf, x, y, w)
        leaf.counts[y] = leaf.counts.get(y, 0.0) + w
        leaf.weight += w
        for f, observer in leaf.observers.items():
            if not is_missing(x[f]):
                observer.observe(x[f], y, w)
        if leaf.weight - leaf.last < self.grace_period:
            return None
        split = self._attempt(leaf)
        leaf.last = leaf.weight
        return split

    def _judge(self, leaf, x, y, w):
        majority = most(leaf.counts)
        votes = self._bayes(leaf, x)
        if majority == y:
            leaf.majority_right += w
        if (majority if votes is None else most(votes)) == y:
            leaf.bayes_right += w

    def _draw(self, leaf):
        d = len(self.values)
        some = self.subspace is not None and self.subspace < d
        watched = self.choose(d, self.subspace) if some else range(d)
        self._watch(leaf, {f: self._observer(f) for f in watched})

    def _watch(self, leaf, observers):
        """Numbers come before nominal attributes, in whatever is done to one after another."""
        leaf.observers = dict(sorted(observers.items(), key=lambda item: self.values[item[0]] is not None))

    def _observer(self, f):
        return NumericObserver(self.smoothing) if self.values[f] is None else NominalObserver()

    def _attempt(self, leaf):
        present = sum(n > 0.0 for n in leaf.counts.values())
        if present < 2:
            return None
        whole = impurity(self.criterion, leaf.counts)
        candidates = []
        if self.prune:
            null = 1.0 - whole if self.criterion == "gini" else 0.0 if self.null_merit == "zero" else -math.inf
            candidates.append((null, None, None))
        for f, observer in leaf.observers.items():
            m, test = self._best(f, observer, whole)
            if m > -math.inf:
                candidates.append((m, f, test))
        if all(f is None for _, f, _ in candidates):
            if self.subspace is not None and self.subspace < len(self.values):
                self._draw(leaf)
            return None
        candidates.sort(key=lambda candidate: candidate[0])  # stable: the null candidate is lowest among equals
        best, f, test = candidates[-1]
        span = 1.0 if self.criterion == "gini" else math.log2(max(2, present if self.leaf_range else self.known))
        e = epsilon(self.bound, span, self.delta, leaf.weight)
        sure = len(candidates) == 1 or best - candidates[-2][0] > e or e < self.tau
        if sure and f is not None:
            self.splits.append((self.rows, f, test))
            branches = [self._child(counts) for counts in leaf.observers[f].branches(test)]
            return Split(f, test, branches, leaf.counts, leaf.weight)
        if self.drop_poor:
            for m, poor, _ in candidates:
                if poor is not None and m < best - e:
                    del leaf.observers[poor]
        return None

    def _best(self, f, observer, whole):
        if observer.empty:
            return -math.inf, None
        if self.values[f] is None:
            return observer.best(self.criterion, whole, self.min_branch_share, self.n_split_points)
        return observer.best(self.criterion, whole, self.min_branch_share, self.values[f], not self.binary_splits)

    @staticmethod
    def _child(counts):
        weight = total(counts)
        return Leaf(counts=dict(counts), weight=weight, last=weight)

    def join(self, value):
        """Add an attribute: leaves that watch all of them watch it too."""
        self.values.append(value)
        for leaf in self.leaves():
            if leaf.observers is not None and (self.subspace is None or len(leaf.observers) < self.subspace):
                self._watch(leaf, leaf.observers | {len(self.values) - 1: self._observer(len(self.values) - 1)})

    # -- looking ------------------------------------------------------------------------------------------------------

    def leaves(self):
        """All leaves, from left to right."""
        return _leaves(self.root)

    def structure(self):
        """The tree as nested tuples: (feature, test, branches), or None for a leaf."""
        return _structure(self.root)


def _leaves(node):
    return [node] if isinstance(node, Leaf) else [leaf for b in node.branches for leaf in _leaves(b)]


def _structure(node):
    if isinstance(node, Leaf):
        return None
    return node.feature, node.test, tuple(_structure(b) for b in node.branches)
