"""Trees that grow on binned numbers: counts of class by bin in each leaf, Gini gain, and a choice of bounds."""

import math
from itertools import pairwise
from statistics import NormalDist
from typing import Literal, final

import numpy as np

from thalweg.core import fields, params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.declared import check, fresh
from thalweg.core.fields import Parametrised
from thalweg.core.protocols import State
from thalweg.jit.compile import plain
from thalweg.learners.trees import binned_jit as jit
from thalweg.pool.importances import decreases

BOUNDS = {"mcdiarmid": jit.MCDIARMID, "gaussian": jit.GAUSSIAN, "lcb": jit.LCB, "hoeffding": jit.HOEFFDING}
LEAVES = {"majority": jit.MAJORITY, "bayes": jit.BAYES, "adaptive": jit.ADAPTIVE}
TAUS = {"mcdiarmid": 0.05, "gaussian": 0.05, "lcb": 0.01, "hoeffding": 0.05}
_FIRST_BYTES = 1 << 18
"""Of the counts of a tree in the beginning: room for so many leaves; then twice as many, and so on."""

Bound = Literal["mcdiarmid", "gaussian", "lcb", "hoeffding"]
Leaf = Literal["majority", "bayes", "adaptive"]


class BinnedTreeParams(Parametrised):
    """How trees on binned numbers grow, and how they answer.

    Every ``grace_period`` of weight a leaf with more than one class looks for the split with the highest Gini gain. n:
    its weight; a, b: best and second best feature (not to split is one, with gain 0); z: the normal quantile of 1 - δ.
    It splits if gain a - gain b > ε.
    """

    bound: Bound | None = fields.choice(
        default=None,
        doc="When a leaf splits. mcdiarmid: ε = √(8 ln(1/δ) / n), or ε < tau < gain a; very careful, a lead of "
        "0.1 needs 2,397 rows. hoeffding: the same with ε = √(ln(1/δ) / (2 n)). gaussian: the same with ε = z"
        " (se a + se b), the standard errors of the gains by the delta method. lcb: as gaussian without ties,"
        " or n ≥ 2 grace_period and gain a - z se a > tau: which of two like features wins does not matter, "
        "only that the split is worth it.",
    )
    delta: float = fields.number(default=0.05, doc="Allowed error of one comparison (δ).", above=0, below=1)
    grace_period: float = fields.number(default=50, doc="Weight a leaf gains between two attempts to split.", above=0)
    tau: float | None = fields.number(
        default=None,
        doc="The gain from which a tie is broken; None: 0.01 for the bound lcb, else 0.05.",
        least=0,
        most=1,
    )
    leaf: Leaf | None = fields.choice(
        default=None,
        doc="How a leaf answers: the majority, naive Bayes on the bins, or (adaptive) the one more often right.",
    )
    max_leaves: int = fields.whole(default=256, doc="The tree stops growing there.", least=1, most=1_000_000)


@final
class BinnedTrees(BinnedTreeParams):
    """Tables of some trees, each on features of its own, which other learners are made of.

    A tree begins with a sample, whose quantiles are the cut points of its features; a leaf counts classes by bin. With
    naive Bayes, children inherit the counts of their parent, each class scaled to its weight in the child, for naive
    Bayes only: splits rest on what a leaf has seen itself.

    A missing value (NaN) is not counted and goes right; columns of F beyond the features of a tree are not looked at.
    Room for leaves doubles as they come; trees that all have max_leaves leaves take 8 × trees × max_leaves × features ×
    bins × classes × 2 bytes (with majority leaves half of it), and little more.

    >>> rng = np.random.default_rng(1)
    >>> F = rng.random((2_000, 3))
    >>> y = (F[:, 1] > 0.5).astype(np.int64)
    >>> trees = BinnedTrees()
    >>> trees.begin(0, F[:200])
    >>> trees.learn(0, F, y, np.ones(2_000))
    >>> trees.proba(0, np.array([[0.5, 0.1, 0.5], [0.5, 0.9, 0.5]]), 2).argmax(axis=1).tolist()
    [0, 1]
    >>> [(feature, went_right) for feature, threshold, went_right in trees.path(0, np.array([0.5, 0.9, 0.5]))]
    [(1, True)]
    """

    trees: int = fields.whole(default=1, doc="Number of trees.", least=1, most=1_000_000)
    bound: Bound = fields.again(default="lcb")
    leaf: Leaf = fields.again(default="adaptive")
    max_depth: int = fields.whole(default=20, doc="A tree stops growing there.", least=0, most=1_000_000)
    bins: int = fields.whole(default=32, doc="Largest number of bins of a feature.", least=2, most=4096)

    def _prepare(self) -> None:
        rules = np.zeros(jit.RULES)
        rules[jit.RULE_BOUND], rules[jit.RULE_ANSWER] = BOUNDS[self.bound], LEAVES[self.leaf]
        rules[jit.RULE_LOG_DELTA] = math.log(1.0 / self.delta)
        rules[jit.RULE_Z] = max(0.0, NormalDist().inv_cdf(1.0 - self.delta))
        rules[jit.RULE_GRACE] = self.grace_period
        rules[jit.RULE_TAU] = TAUS[self.bound] if self.tau is None else self.tau
        rules[jit.RULE_MAX_LEAVES], rules[jit.RULE_MAX_DEPTH] = self.max_leaves, self.max_depth
        self._rules = rules
        self._use(self._blank(features=0, leaves=1, classes=2))
        self._now.sizes[:, jit.TREE_LEAVES] = 1
        self._now.links[:, 0, jit.NODE_FEATURE] = jit.LEAF

    def _use(self, tables: jit.Tables) -> None:
        """Be these tables from now on."""
        self._now, self._plain = tables, plain(tables)

    # -- growing and asking trees -------------------------------------------------------------------------------------

    def begin(self, tree: int, sample: Floats) -> None:
        """Begin a tree anew, on as many features as the sample has: its quantiles become the cut points.

        A feature with one value in the sample is not used.
        """
        t, sample = self._tree(tree), _sample(sample)
        for table in self._now:
            table[t] = 0
        self._now.sizes[t, jit.TREE_LEAVES], self._now.cuts[t] = 1, np.inf
        self._now.links[t, 0, jit.NODE_FEATURE] = jit.LEAF
        self.add_features(t, sample)

    def add_features(self, tree: int, sample: Floats) -> None:
        """Let features join a tree, with cut points from the sample. Its leaves have counted nothing of them so far."""
        t, sample = self._tree(tree), _sample(sample)
        had = int(self._now.sizes[t, jit.TREE_FEATURES])
        have = had + sample.shape[1]
        if have > self._now.n_cuts.shape[1]:
            one = self._count_bytes(have, 1, self._now.classes.shape[3])
            self._resize(features=have, leaves=max(2, _FIRST_BYTES // one))
        for f in range(had, have):
            cuts = cut_points(sample[:, f - had], self.bins)
            self._now.cuts[t, f, : len(cuts)] = cuts
            self._now.n_cuts[t, f] = len(cuts)
        self._now.sizes[t, jit.TREE_FEATURES] = have

    def play(self, F: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int, tree: int = 0) -> None:
        """Carry out events with a tree, like ``Classifier._play``: e ≥ 0 predicts row e into out[e], ~e learns it."""
        t, notes, done = self._tree(tree), np.array([known, -1, 0, 0], dtype=np.int64), 0
        if F.shape[1] < self._now.sizes[t, jit.TREE_FEATURES]:
            raise ValueError(
                f"F must have the {self._now.sizes[t, jit.TREE_FEATURES]} features of the tree, got {F.shape[1]}"
            )
        while True:
            K = self._now.classes.shape[3]
            bins, found = np.empty(self._now.n_cuts.shape[1], dtype=np.int64), np.empty(jit.FOUND)
            scratch = jit.Scratch(bins, np.empty(K), np.empty(K), np.empty(K), found)
            done = jit.play(self._plain, self._rules, plain(scratch), notes, t, F, y, w, events, out)
            if done == len(events):
                return
            events = events[done:]
            code = int(y[~events[0]])
            if code >= K:
                self._resize(classes=max(code + 1, K + K // 2))
            else:
                self._resize(leaves=2 * self._now.leaves.shape[1])

    def learn(self, tree: int, F: Floats, y: Ints, w: Floats) -> None:
        """Learn rows in order; those of weight 0 are left out."""
        events = ~np.flatnonzero(w > 0.0)
        self.play(F, y, w, events, np.zeros((0, 0)), 0, tree)

    def proba(self, tree: int, F: Floats, n_classes: int) -> Floats:
        """Give the probability of each of so many classes for each row."""
        out = np.zeros((len(F), n_classes))
        self.play(F, np.zeros(0, dtype=np.int64), np.zeros(0), np.arange(len(F)), out, n_classes, tree)
        return out

    # -- looking at trees ---------------------------------------------------------------------------------------------

    def path(self, tree: int, f: Floats) -> list[tuple[int, float, bool]]:
        """Give the splits that a row of features passes: feature, threshold, and whether it goes right (above it)."""
        t, nodes = self._tree(tree), self.nodes_to(tree, f)
        links, thresholds = self._now.links[t], self._now.thresholds[t]
        return [
            (int(links[i, jit.NODE_FEATURE]), float(thresholds[i]), child > int(links[i, jit.NODE_NEXT]))
            for i, child in pairwise(nodes)
        ]

    def nodes_to(self, tree: int, f: Floats) -> list[int]:
        """Give the nodes on the way of a row of features, from the root to its leaf."""
        t, nodes = self._tree(tree), [0]
        while (feature := int(self._now.links[t, nodes[-1], jit.NODE_FEATURE])) >= 0:
            right = not f[feature] <= self._now.thresholds[t, nodes[-1]]
            nodes.append(int(self._now.links[t, nodes[-1], jit.NODE_NEXT]) + right)
        return nodes

    def class_weights(self, tree: int) -> Floats:
        """Give the class weights of each node: of a leaf its own, inherited ones included, of others their leaves'."""
        t = self._tree(tree)
        weights = np.zeros((2 * self._now.sizes[t, jit.TREE_LEAVES] - 1, self._now.classes.shape[3]))
        for i in reversed(range(len(weights))):  # children come after their parents
            after = int(self._now.links[t, i, jit.NODE_NEXT])
            is_leaf = self._now.links[t, i, jit.NODE_FEATURE] == jit.LEAF
            weights[i] = self._now.classes[t, after, jit.PLANE_ALL] if is_leaf else weights[after] + weights[after + 1]
        return weights

    def decreases(self, tree: int, features: int) -> Floats:
        """Give by how much the splits on each feature make a row purer; some features may have no bins yet."""
        t, counts = self._tree(tree), self.class_weights(tree)
        links = self._now.links[t, : len(counts)]
        inner = np.flatnonzero(links[:, jit.NODE_FEATURE] >= 0)
        parents = np.zeros(len(counts), dtype=np.int64)
        for side in (0, 1):
            parents[links[inner, jit.NODE_NEXT] + side] = inner
        return decreases(counts, inner, parents[1:], links[inner, jit.NODE_FEATURE], features)

    def importances(self, tree: int) -> Floats:
        """Give the sum of the gains of all splits on each feature."""
        t = self._tree(tree)
        return self._now.gains[t, : self._now.sizes[t, jit.TREE_FEATURES]].copy()

    @property
    def n_leaves(self) -> Ints:
        """How many leaves each tree has."""
        return self._now.sizes[:, jit.TREE_LEAVES]

    @property
    def n_features(self) -> Ints:
        """How many features each tree has; constant ones, which it does not use, included."""
        return self._now.sizes[:, jit.TREE_FEATURES]

    @property
    def depth(self) -> Ints:
        """How many splits lie above the deepest leaf of each tree."""
        tables = self._now.links, self.n_leaves
        return np.array([tree[: 2 * n - 1, jit.NODE_DEPTH].max() for tree, n in zip(*tables, strict=True)])

    # -- state --------------------------------------------------------------------------------------------------------

    def tables(self) -> State:
        """Give all tables, not copied."""
        return self._now._asdict()

    def adopt(self, tables: State, classes: int | None = None) -> None:
        """Continue from what ``tables`` of trees with the same parameters gave; what no trees could have is refused.

        classes: how many there are; there may be room for half as many more. None: the tables say it.
        """
        self._refuse_unsound(tables, classes)
        self._use(jit.Tables(**{name: tables[name] for name in jit.Tables._fields}))

    def _refuse_unsound(self, tables: State, classes: int | None) -> None:
        """Refuse tables that are not as declared, cut points that do not ascend, and links that make no tree."""
        leaves = self.max_leaves if tables["n_cuts"].size else 2  # without features no leaf has ever split
        most = {"L": leaves} | ({} if classes is None else {"K": max(2, classes + classes // 2)})
        found = check(jit.Tables, tables, most=most, **self._fixed)
        if found["K"] < 2:
            raise ValueError("its tables have no room for two classes")
        sizes, n_cuts, cuts = tables["sizes"], tables["n_cuts"], tables["cuts"]
        beyond = np.arange(found["S"]) >= sizes[:, jit.TREE_FEATURES, None]
        used = np.arange(cuts.shape[2]) < n_cuts[:, :, None]
        rising = (cuts[:, :, 1:] > cuts[:, :, :-1]) | ~used[:, :, 1:]
        rest = (cuts == np.inf) | used
        if (n_cuts[beyond] > 0).any() or (np.isfinite(cuts) != used).any() or not (rising.all() and rest.all()):
            raise ValueError("its table 'cuts' holds what no trees could")
        for t in range(self.trees):
            if not _is_tree(tables["links"][t], n_cuts[t], int(sizes[t, jit.TREE_LEAVES])):
                raise ValueError("its table 'links' points outside itself")

    # -- sizes --------------------------------------------------------------------------------------------------------

    def _tree(self, tree: int) -> int:
        if not 0 <= tree < self.trees:
            raise ValueError(f"tree must lie in [0, {self.trees}), got {params.shown(tree)}")
        return int(tree)

    @property
    def _fixed(self) -> dict[str, int]:
        """The sizes of the tables that follow from the parameters, by the names of their declaration."""
        planes, width = 1 if self.leaf == "majority" else 2, (1 << (self.bins - 1).bit_length()) - 1
        return {"T": self.trees, "B": self.bins, "P": planes, "W": width}

    def _count_bytes(self, features: int, leaves: int, classes: int) -> int:
        return 8 * self.trees * leaves * features * self.bins * self._fixed["P"] * classes

    def _blank(self, features: int, leaves: int, classes: int) -> jit.Tables:
        tables = jit.Tables(**fresh(jit.Tables, S=features, L=leaves, K=classes, **self._fixed))
        tables.cuts[:] = np.inf
        return tables

    def _resize(self, features: int = 0, leaves: int = 0, classes: int = 0) -> None:
        """Move into tables with room for so many of each, where that is more than before."""
        S, L, K = self._now.n_cuts.shape[1], self._now.leaves.shape[1], self._now.classes.shape[3]
        new = self._blank(max(features, S), max(L, min(leaves, self.max_leaves)), max(classes, K))
        for had, table in zip(self._now, new, strict=True):
            table[tuple(map(slice, had.shape))] = had
        self._use(new)


def cut_points(values: Floats, bins: int) -> Floats:
    """Give up to bins - 1 values of a sample that cut it into bins of like weight, ascending; a row ≤ cut lies below.

    Of few different values each gets a bin; missing ones do not count.

    >>> cut_points(np.array([0.0, 1.0, 0.0, np.nan]), 32).tolist()
    [0.0]
    >>> cut_points(np.arange(100.0), 4).tolist()
    [24.0, 49.0, 74.0]
    """
    ordered = np.sort(values[np.isfinite(values)])
    distinct = np.unique(ordered)
    if len(distinct) > bins:
        distinct = np.unique(np.append(ordered[np.arange(1, bins) * (len(ordered) - 1) // bins], ordered[-1]))
    return distinct[:-1]


def _sample(sample: Floats) -> Floats:
    if not (isinstance(sample, np.ndarray) and sample.dtype == np.float64 and sample.ndim == 2):
        raise ValueError(f"sample must be float64 rows of features, got {params.shown(sample)}")
    return sample


def _is_tree(links: Ints, n_cuts: Ints, leaves: int) -> bool:
    """Do the links of the nodes make one tree with so many leaves?"""
    feature, following, depth = links[: 2 * leaves - 1].T
    inner = np.flatnonzero(feature >= 0)
    leaf = np.flatnonzero(feature < 0)
    left = following[inner]
    return bool(
        len(leaf) == leaves
        and (feature >= jit.LEAF).all()
        and (feature < len(n_cuts)).all()
        and (n_cuts[feature[inner]] > 0).all()
        and np.array_equal(np.sort(left), np.arange(1, 2 * leaves - 1, 2))
        and (left > inner).all()
        and np.array_equal(np.sort(following[leaf]), np.arange(leaves))
        and depth[0] == 0
        and (depth[left] == depth[inner] + 1).all()
        and (depth[left + 1] == depth[inner] + 1).all()
    )
