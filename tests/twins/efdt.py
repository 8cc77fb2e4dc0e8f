"""The extremely fast decision tree once more, slowly: a split keeps the observers of the leaf that it was."""

import math

from twins.hoeffding import Leaf, SlowHoeffdingTree, Split, epsilon
from twins.observers import impurity, is_missing


class SlowExtremelyFastDecisionTree(SlowHoeffdingTree):
    """Parameters as ``ExtremelyFastDecisionTree``."""

    def __init__(self, values, *, review_period=200, **options):
        super().__init__(values, **options)
        self.review_period = review_period
        self.turns = [0, 0, 0]

    def learn(self, x, y, w=1.0):
        """Learn a row with label code y and weight w."""
        if not self._meet(x, y, w):
            return
        place = self.__dict__, "root"
        while True:
            node = place[0][place[1]]
            inner = isinstance(node, Split)
            if not inner:
                if node.observers is None:
                    self._draw(node)
                if self.leaf == "adaptive":
                    self._judge(node, x, y, w)
            node.counts[y] = node.counts.get(y, 0.0) + w
            node.weight += w
            for f, observer in node.observers.items():
                if not is_missing(x[f]):
                    observer.observe(x[f], y, w)
            if node.weight - node.last >= (self.review_period if inner else self.grace_period):
                node.last = node.weight
                new = self._consider(node, inner)
                if new is not None:
                    place[0][place[1]] = new
                    return
            if not inner:
                return
            place = node.branches, node.branch(x)

    def _consider(self, node, inner):
        present = sum(n > 0.0 for n in node.counts.values())
        if present < 2:
            return None
        whole = impurity(self.criterion, node.counts)
        null = 1.0 - whole if self.criterion == "gini" else 0.0
        found = {f: self._best(f, observer, whole) for f, observer in node.observers.items()}
        if not inner and all(m == -math.inf for m, _ in found.values()):
            if self.subspace is not None and self.subspace < len(self.values):
                span = (
                    1.0 if self.criterion == "gini" else math.log2(max(2, present if self.leaf_range else self.known))
                )
                e = epsilon(self.bound, span, self.delta, node.weight)
                if whole > (1e-10 if e < self.tau else e):
                    self._draw(node)
            return None
        best = max([null, *(m for m, _ in found.values())])
        span = 1.0 if self.criterion == "gini" else math.log2(max(2, present if self.leaf_range else self.known))
        e = epsilon(self.bound, span, self.delta, node.weight)
        tie = e < self.tau
        if inner:
            gain = best - found.get(node.feature, (-math.inf, None))[0]
            sure = gain > e or (tie and gain > self.tau / 2)
        else:
            gain = best - null
            sure = gain > e or (tie and gain > 1e-10)
        if not sure:
            return None
        if best == null:
            self.turns[2] += 1
            return Leaf(counts=node.counts, weight=node.weight, last=node.weight, observers=node.observers)
        f, test = next((f, test) for f, (m, test) in found.items() if m == best)
        self.turns[1 if inner else 0] += 1
        branches = [self._child(counts) for counts in node.observers[f].branches(test)]
        split = Split(f, test, branches, node.counts, node.weight)
        split.observers, split.last = node.observers, node.weight
        return split
