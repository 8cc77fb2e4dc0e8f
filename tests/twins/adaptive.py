"""The Hoeffding adaptive tree once more, slowly: each split has an ADWIN and may have an alternate subtree."""

import math

from twins.adwin import SlowADWIN
from twins.hoeffding import Leaf, SlowHoeffdingTree, Split, most
from twins.observers import total


class SlowHoeffdingAdaptiveTree(SlowHoeffdingTree):
    """Parameters as ``HoeffdingAdaptiveTree``; poisson() draws from Poisson(1)."""

    def __init__(self, values, *, drift="adwin(delta=0.002)", switch_delta=0.05, min_rows=300, bootstrap=True,
                 blend=True, poisson=None, levels=16, **options):  # fmt: skip
        super().__init__(values, **options)
        self.drift_delta = float(drift.removeprefix("adwin(delta=").removesuffix(")"))
        self.switch_delta, self.min_rows = switch_delta, min_rows
        self.poisson = poisson if bootstrap else lambda: 1
        self.blend, self.levels = blend, levels
        self.turns = [0, 0, 0]
        self.root = self._mark(Leaf())

    def _mark(self, leaf):
        leaf.error, leaf.seen = 0.5, 1
        return leaf

    def _adwin(self):
        return SlowADWIN(self.drift_delta, max_rows=self.levels)

    # -- answering ----------------------------------------------------------------------------------------------------

    def _leaf(self, node, x):
        parent = None
        while isinstance(node, Split):
            node, parent = node.branches[node.branch(x)], node
        return node, parent

    def _answer(self, node, parent, x):
        asks = node.bayes_right >= node.majority_right if self.leaf == "adaptive" else node.weight >= self.bayes_from
        if self.leaf != "majority" and asks and node.observers is not None:
            votes = self._bayes(node, x)
            if votes is not None:
                return votes
        return parent.counts if parent is not None and node.weight == 0.0 else node.counts

    def _votes(self, x):
        roots, node = [self.root], self.root
        while isinstance(node, Split):
            if isinstance(node.alternate, Split):
                roots.append(node.alternate)
            node = node.branches[node.branch(x)]
        if not self.blend or len(roots) == 1:
            return self._answer(*self._leaf(self.root, x), x)
        summed = {}
        for root in roots:
            leaf, parent = self._leaf(root, x)
            votes = self._answer(leaf, parent, x)
            for c, v in votes.items():
                if total(votes) > 0.0:
                    summed[c] = summed.get(c, 0.0) + v / total(votes) / max(leaf.error, 0.01) ** 2
        return summed

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, x, y, w=1.0):
        """Learn a row with label code y and weight w."""
        if not self._meet(x, y, w):
            return
        wrong = most(self._answer(*self._leaf(self.root, x), x)) != y
        place = self.__dict__, "root"
        while isinstance(node := place[0][place[1]], Split):
            node.weight += w
            if node.adwin.update(float(wrong)) == "up":
                self.turns[2] += node.alternate is not None
                node.alternate, node.wanted = None, True
            elif node.wanted:
                node.alternate, node.wanted = self._mark(Leaf()), False
                node.alternate.adwin = self._adwin()
                self.turns[0] += 1
                self._follow((node.__dict__, "alternate"), True, x, y, w)
            elif node.alternate is not None:
                verdict = self._compare(node)
                if verdict > 0:
                    self.turns[1] += 1
                    place[0][place[1]] = node.alternate
                    self._follow(place, False, x, y, w)
                    return
                if verdict < 0:
                    self.turns[2] += 1
                    node.alternate = None
                else:
                    self._follow((node.__dict__, "alternate"), True, x, y, w)
            place = node.branches, node.branch(x)
        self._grow(place, x, y, w, wrong)

    def _compare(self, node):
        mine, other = node.adwin, node.alternate.adwin
        if min(mine.n, other.n) <= self.min_rows:
            return 0
        e, gap = mine.estimate, mine.estimate - other.estimate
        bound = math.sqrt(2 * e * (1 - e) * math.log(2 / self.switch_delta) * (1 / mine.n + 1 / other.n))
        return (gap > bound) - (-gap > bound)

    def _follow(self, place, alone, x, y, w):
        wrong = most(self._answer(*self._leaf(place[0][place[1]], x), x)) != y
        if alone and isinstance(place[0][place[1]], Leaf):
            place[0][place[1]].adwin.update(float(wrong))
        while isinstance(node := place[0][place[1]], Split):
            node.weight += w
            node.adwin.update(float(wrong))
            place = node.branches, node.branch(x)
        self._grow(place, x, y, w, wrong)

    def _grow(self, place, x, y, w, wrong):
        leaf = place[0][place[1]]
        leaf.seen += 1
        leaf.error += (wrong - leaf.error) / min(leaf.seen, self.min_rows)
        w *= max(1, self.poisson())
        split = self._teach(leaf, x, y, w)
        if split is not None:
            split.adwin, split.alternate, split.wanted = self._adwin(), None, False
            for child in split.branches:
                self._mark(child)
            place[0][place[1]] = split
