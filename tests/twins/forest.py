"""The forests once more, slowly: members, trees and detectors are objects, written from the rules, row by row.

Only the random numbers come in the order of the fast version: a generator for each member's weights, one for each of
its two trees.
"""

import math
from itertools import combinations

import numpy as np

from twins.adwin import SlowADWIN
from twins.hoeffding import SlowHoeffdingTree, most
from twins.observers import is_missing, total

BITS = 2**64


class Generator:
    """Splitmix64 (Steele, Lea, Flood 2014) in whole numbers of Python."""

    def __init__(self, key):
        self.key = int(key)

    def bits(self):
        """Draw 64 bits."""
        self.key = (self.key + 0x9E3779B97F4A7C15) % BITS
        z = (self.key ^ (self.key >> 30)) * 0xBF58476D1CE4E5B9 % BITS
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % BITS
        return z ^ (z >> 31)

    def uniform(self):
        """Draw from [0, 1)."""
        return (self.bits() >> 11) / 2**53

    def below(self, n):
        """Draw from 0, …, n - 1."""
        return (self.bits() >> 32) * n >> 32

    def choose(self, n, m):
        """Draw m distinct numbers below n in random order (Floyd)."""
        chosen = []
        for top in range(n - m, n):
            pick = self.below(top + 1)
            pick = top if pick in chosen else pick
            at = self.below(len(chosen) + 1)
            if at == len(chosen):
                chosen.append(pick)
            else:
                chosen.append(chosen[at])
                chosen[at] = pick
        return chosen

    def poisson(self, rate):
        """Draw the least k with P(Poisson(rate) ≤ k) > u."""
        u = self.uniform()
        k, p = 0, math.exp(-rate)
        at_most = p
        while u >= at_most:
            k += 1
            p *= rate / k
            at_most += p
        return k


class ErrorRise:
    """ADWIN as a detector of drift: True when it cut and the mean rose."""

    def __init__(self, **options):
        self.window = SlowADWIN(**options)

    @property
    def estimate(self):
        """The mean error."""
        return self.window.estimate

    def update(self, error):
        """Take a 0 or a 1."""
        return self.window.update(error) == "up"


class Levels:
    """Another slow detector, which gives 2 at a drift."""

    def __init__(self, detector):
        self.detector = detector

    @property
    def estimate(self):
        """The mean error."""
        return self.detector.estimate

    def update(self, error):
        """Take a 0 or a 1."""
        return self.detector.update(error) == 2


class MemberTree(SlowHoeffdingTree):
    """A tree that may be confined to a patch of the features, and shares with others what values were met."""

    def __init__(self, forest, generator, patch=None, subspace=None):
        super().__init__(forest.values, **forest.tree, subspace=subspace, choose=generator.choose)
        self.values, self.patch = forest.values, patch

    def _draw(self, leaf):
        if self.patch is None:
            super()._draw(leaf)
            return
        watched = sorted(self.patch)
        self._watch(leaf, {f: self._observer(f) for f in watched})

    def votes(self, x):
        """Give class → vote, not normalised."""
        return self._votes(x)

    def is_right(self, x, y):
        """Does it vote for y? A tree without votes is wrong."""
        votes = self._votes(x)
        return most(votes) == y and votes.get(y, 0.0) > 0.0


class Member:
    """A tree, its record and its detectors; perhaps a tree in the background."""

    def __init__(self, dice, fore, back):
        self.dice = dice
        self.generator, self.spare = fore, back
        """The generator of the tree, and that of the background tree; they change places as the trees do."""
        self.tree = self.background = None
        self.drift = self.warning = None
        self.seen = self.right = 0.0
        self.born = self.background_born = 0
        self.warnings = 0
        self.replaced = []
        self.alpha = 1.0


class SlowForest:
    """What all have: members, classes in the order of their appearance, values of nominal features met so far."""

    subspace = None
    patches = None
    by_accuracy = False

    def __init__(self, values, *, size, seed=1, known=0, **tree):
        self.values, self.tree, self.known, self.rows = list(values), tree, known, 0
        keys = [Generator(k) for k in np.random.SeedSequence(seed).generate_state(3 * size, np.uint64)]
        self.members = [Member(keys[2 * size + t], keys[t], keys[size + t]) for t in range(size)]
        self.happened = []
        """(what, row, member) of warnings and replacements."""
        for t, member in enumerate(self.members):
            member.tree = self.new_tree(member.generator, self.first_patch(t))

    # -- what forests differ in ---------------------------------------------------------------------------------------

    def first_patch(self, t):
        """The features of member t's first tree; None: all."""
        return None if self.patches is None else self.patches[t]

    def new_patch(self, generator):
        """The features of a later tree."""
        return None if self.patches is None else generator.choose(len(self.values), len(self.patches[0]))

    def new_tree(self, generator, patch):
        """Plant a tree."""
        return MemberTree(self, generator, patch, self.subspace)

    def side(self, t, c):
        """What member t calls class c."""
        return c

    def weight_of_vote(self, member):
        """How much the member's vote counts."""
        if self.by_accuracy:
            return member.right / member.seen if member.right > 0.0 else 0.01
        return 1.0

    def teach(self, x, y, w):
        """Let every member learn a row."""
        raise NotImplementedError

    # -- answering and learning ---------------------------------------------------------------------------------------

    def proba(self, x):
        """Give the probability of each class known."""
        sums = [0.0] * self.known
        for t, member in enumerate(self.members):
            votes = member.tree.votes(x)
            n = total(votes)
            if n > 0.0:
                for c in range(self.known):
                    sums[c] += self.weight_of_vote(member) * votes.get(self.side(t, c), 0.0) / n
        whole = sum(sums)
        return [s / whole for s in sums] if whole > 0.0 else [1.0 / self.known] * self.known

    def learn(self, x, y, w=1.0):
        """Learn a row with label code y and weight w."""
        if w == 0.0:
            return
        self.rows += 1
        self.known = max(self.known, y + 1)
        for f, cardinality in enumerate(self.values):
            if cardinality is not None and not is_missing(x[f]):
                self.values[f] = max(cardinality, int(x[f]) + 1)
        for member in self.members:
            member.tree.known = self.n_sides()
        self.teach(x, y, w)

    def n_sides(self):
        """Classes that a tree may meet."""
        return self.known

    def judge(self, t, member, x, y, w):
        """Test a member before it learns; the record is kept."""
        right = member.tree.is_right(x, self.side(t, y))
        member.seen += w
        member.right += w if right else 0.0
        return right

    def renew(self, t, member):
        """Plant a new tree in the member's place."""
        member.tree = self.new_tree(member.generator, self.new_patch(member.generator))
        member.tree.known = self.n_sides()
        member.born = self.rows
        self.replaced(t, member)

    def replaced(self, t, member):
        """Start the record anew."""
        member.seen = member.right = 0.0
        member.replaced.append(self.rows)


# -- bagging ----------------------------------------------------------------------------------------------------------


class SlowOnlineBagging(SlowForest):
    """Oza, Russell 2001; with a detector (a function that makes one) the worst member is replaced at a drift."""

    def __init__(self, values, *, size=10, rate=1.0, detector=None, **rest):
        super().__init__(values, size=size, **rest)
        self.rate, self.detector = rate, detector
        for member in self.members:
            member.drift = detector() if detector else None

    def draw(self, member, right):
        """Draw the weight of a row."""
        return member.dice.poisson(self.rate)

    def teach(self, x, y, w):
        """Learn, then test, then feed the detector; after all members, replace the worst if any reported a drift."""
        change = False
        for t, member in enumerate(self.members):
            right = self.judge(t, member, x, y, w)
            k = self.draw(member, right)
            own = self.side(t, y)
            if k > 0:
                member.tree.learn(x, own, k * w)
            if self.detector:
                error = 0.0 if member.tree.is_right(x, own) else 1.0
                change = member.drift.update(error) or change
        if change:
            errors = [member.drift.estimate for member in self.members]
            if max(errors) > 0.0:
                worst = errors.index(max(errors))
                self.happened.append(("worst", self.rows, worst))
                self.members[worst].drift = self.detector()
                self.renew(worst, self.members[worst])


class SlowLeveragingBagging(SlowOnlineBagging):
    """Bifet, Holmes, Pfahringer 2010, with their other ways to draw weights and their output codes."""

    def __init__(self, values, *, sampling="poisson", codes=False, rate=6.0, **rest):
        self.sampling, self.codes = sampling, codes
        super().__init__(values, rate=rate, **rest)

    def draw(self, member, right):
        """Draw the weight of a row."""
        if self.sampling == "poisson":
            return member.dice.poisson(self.rate)
        if self.sampling == "half":
            return 1 if member.dice.uniform() < 0.5 else 0
        if self.sampling == "one_more":
            return 1 + member.dice.poisson(1.0)
        if self.sampling == "any":
            return 1 if member.dice.poisson(1.0) > 0 else 0
        e = member.drift.estimate
        odds = 1.0 if e >= 1.0 else e / (1.0 - e)
        if not right or odds >= 1.0:
            return 1
        return 1 if member.dice.uniform() < odds else 0

    def side(self, t, c):
        """With codes: 0 or 1. Of classes 2j and 2j + 1 one is on each side, which one a coin decides."""
        if not self.codes:
            return c
        coin = Generator((t << 32) | (c // 2)).bits() >> 63
        return coin if c % 2 == 0 else 1 - coin

    def n_sides(self):
        """Classes that a tree may meet."""
        return 2 if self.codes else self.known


# -- boosting ---------------------------------------------------------------------------------------------------------


def onto_simplex(v):
    """Give the nearest point with cells ≥ 0 that sum to 1 (by sorting)."""
    above, shift = 0.0, 0.0
    for k, u in enumerate(sorted(v, reverse=True), start=1):
        above += u
        if u - (above - 1.0) / k > 0.0:
            shift = (above - 1.0) / k
    return [max(0.0, u - shift) for u in v]


class SlowSmoothBoost(SlowForest):
    """Chen, Lin, Lu 2012: algorithm 1, and the two ways to learn the weights of the votes."""

    def __init__(self, values, *, size=10, gamma=0.1, weights="plain", **rest):
        super().__init__(values, size=size, **rest)
        self.gamma, self.weights, self.theta = gamma, weights, gamma / (2.0 + gamma)
        self.experts = [1.0 / size] * size
        for member in self.members:
            member.alpha = 1.0 / size

    def weight_of_vote(self, member):
        """How much the member's vote counts."""
        return member.alpha

    def teach(self, x, y, w):
        """Let each member learn what those before it miss."""
        z, weight, hits, prefix_hits, together = 0.0, 1.0, [], [], {}
        for t, member in enumerate(self.members):
            hit = 1.0 if self.judge(t, member, x, y, w) else -1.0
            hits.append(hit)
            votes = member.tree.votes(x)
            n = total(votes)
            for c, v in votes.items():
                together[c] = together.get(c, 0.0) + (v / n if n > 0.0 else 0.0)
            prefix_hits.append(most(together) == y and together.get(y, 0.0) > 0.0)
            z += hit - self.theta
            member.tree.learn(x, y, weight * w)
            weight = 1.0 if z <= 0.0 else math.exp(z * (0.5 * math.log1p(-self.gamma)))
        if self.weights == "ocp":
            self._climb(hits)
        elif self.weights == "exp":
            self._punish(prefix_hits)

    def _climb(self, hits):
        """A step along the gradient of the margin where it falls short, and back onto the simplex."""
        alphas, n = [member.alpha for member in self.members], len(self.members)
        if sum(a * h for a, h in zip(alphas, hits, strict=True)) < self.theta:
            step = 1.0 / math.sqrt(self.rows * n)
            for member, a in zip(
                self.members, onto_simplex([a + step * h for a, h in zip(alphas, hits, strict=True)]), strict=True
            ):
                member.alpha = a

    def _punish(self, prefix_hits):
        """Exponential weights over the first member, the first two, …; each of these is the mean of its members."""
        n = len(self.members)
        rate = math.sqrt(8.0 * math.log(max(2, n)) / self.rows)
        lighter = [e if hit else e * math.exp(-rate) for e, hit in zip(self.experts, prefix_hits, strict=True)]
        self.experts = [max(e / sum(lighter), 1e-12) for e in lighter]
        for t, member in enumerate(self.members):
            member.alpha = sum(self.experts[s] / (s + 1) for s in range(t, n))


# -- forests with background trees ------------------------------------------------------------------------------------


class SlowAdaptiveRandomForest(SlowForest):
    """Gomes and others 2017. ``drift``, ``warning``: functions that make a detector, or None."""

    def __init__(self, values, *, size=100, rate=6.0, m=None, drift=None, warning=None, weighted_vote=True,
                 detect_before=False, background_sampled=False, **rest):  # fmt: skip
        self.subspace = m
        super().__init__(values, size=size, **rest)
        self.rate, self.drift, self.warning = rate, drift, warning
        self.by_accuracy, self.detect_before = weighted_vote, detect_before
        self.background_sampled = background_sampled
        for member in self.members:
            member.drift = drift() if drift else None
            member.warning = warning() if warning else None

    def draw(self, member):
        """Draw the weight of a row."""
        return member.dice.poisson(self.rate)

    def teach(self, x, y, w):
        """Every member by itself."""
        for t, member in enumerate(self.members):
            error = 0.0 if self.judge(t, member, x, y, w) else 1.0
            k = self.draw(member)
            if k == 0:
                continue
            member.tree.learn(x, y, k * w)
            if member.background is not None:
                member.background.known = self.known
                member.background.learn(x, y, k * w if self.background_sampled else w)
            if not self.detect_before:
                error = 0.0 if member.tree.is_right(x, y) else 1.0
            if self.warning and self.drift and member.warning.update(error):
                self._warned(t, member)
            if self.drift and member.drift.update(error):
                self._drifted(t, member)

    def _warned(self, t, member):
        self.happened.append(("warning", self.rows, t))
        member.warnings += 1
        member.background = self.new_tree(member.spare, self.new_patch(member.spare))
        member.background_born = self.rows
        member.warning = self.warning()

    def _drifted(self, t, member):
        member.drift = self.drift()
        if member.background is None:
            self.happened.append(("alone", self.rows, t))
            self.renew(t, member)
            return
        self.happened.append(("swap", self.rows, t))
        member.tree, member.background = member.background, None
        member.generator, member.spare = member.spare, member.generator
        member.born = member.background_born
        member.warning = self.warning()
        self.replaced(t, member)


class SlowRandomPatches(SlowAdaptiveRandomForest):
    """Gomes, Read, Bifet 2019. ``k``: features of each tree."""

    def __init__(self, values, *, size=100, k=None, method="patches", seed=1, **rest):
        d = len(values)
        self.method = method
        if method != "resampling" and k < d:
            self.patches = self._deal(d, k, size, seed)
        super().__init__(values, size=size, seed=seed, background_sampled=True, **rest)

    @staticmethod
    def _deal(d, k, size, seed):
        """Few features: every subset, as often as needed, dealt out without replacement; many: any subsets."""
        draw = np.random.default_rng([seed, d])
        if d > 20:
            return [draw.choice(d, k, replace=False).tolist() for _ in range(size)]
        subsets = list(combinations(range(d), k))
        pack = subsets
        while len(pack) < size:
            pack = pack + subsets
        return [pack[i] for i in draw.permutation(len(pack))[:size]]

    def draw(self, member):
        """Draw the weight of a row."""
        return 1 if self.method == "subspaces" else super().draw(member)
