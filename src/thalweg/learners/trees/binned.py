"""Trees that grow on binned numbers: counts of class by bin in each leaf, Gini gain, and a choice of bounds."""

import math
from itertools import pairwise
from statistics import NormalDist
from typing import Any, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.learners.trees import binned_jit as o

BOUNDS = {"mcdiarmid": o.MCDIARMID, "gaussian": o.GAUSSIAN, "lcb": o.LCB, "hoeffding": o.HOEFFDING}
LEAVES = {"majority": o.MAJORITY, "bayes": o.BAYES, "adaptive": o.ADAPTIVE}
TAUS = {"mcdiarmid": 0.05, "gaussian": 0.05, "lcb": 0.01, "hoeffding": 0.05}
_TABLES = {
    "thresholds": (np.float64, 2), "links": (np.int64, 3), "leaves": (np.float64, 3), "classes": (np.float64, 4),
    "counts": (np.float64, 6), "totals": (np.float64, 4), "cuts": (np.float64, 3), "n_cuts": (np.int64, 2),
    "gains": (np.float64, 2), "sizes": (np.int64, 2),
}  # fmt: skip
_FIRST_BYTES = 1 << 18
"""Of the counts of a tree in the beginning: room for so many leaves; then twice as many, and so on."""


def check(*, bound: Any, delta: Any, grace_period: Any, tau: Any, leaf: Any, max_leaves: Any, max_depth: Any,
          bins: Any) -> None:  # fmt: skip
    """Refuse what no tree can grow by, with one sentence."""
    params.choice("bound", bound, tuple(BOUNDS))
    params.number("delta", delta, above=0, below=1)
    params.number("grace_period", grace_period, above=0)
    if tau is not None:
        params.number("tau", tau, least=0, most=1)
    params.choice("leaf", leaf, tuple(LEAVES))
    params.whole("max_leaves", max_leaves, least=1, most=1_000_000)
    params.whole("max_depth", max_depth, least=0, most=1_000_000)
    params.whole("bins", bins, least=2, most=4096)


@final
class BinnedTrees:
    """Tables of some trees, each on features of its own, which other learners are made of.

    A tree begins with a sample, whose quantiles are the cut points of its features; a leaf counts classes by bin. Every
    ``grace_period`` of weight a leaf with more than one class looks for the split with the highest Gini gain. n: its
    weight; a, b: best and second best feature (not to split is one, with gain 0). It splits if gain a - gain b > ε:

    bound: "mcdiarmid": ε = √(8 ln(1/δ) / n); "hoeffding": ε = √(ln(1/δ) / (2 n)); "gaussian": ε = z (se a + se b), with
    z the normal quantile of 1 - δ, and standard errors of the gains by the delta method; with these three also if
    ε < tau < gain a. "lcb": as "gaussian" without ties, or if n ≥ 2 grace_period and gain a - z se a > tau: which of
    two like features wins does not matter, only that the split is worth it. tau: None: 0.01 for "lcb", else 0.05.
    leaf: "majority", "bayes" (naive Bayes on the bins, Laplace) or "adaptive" (which of the two has been right more);
    with the last two, children inherit the counts of their parent, each class scaled to its weight in the child, for
    naive Bayes only: splits rest on what a leaf has seen itself.

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

    __slots__ = (
        "_rules",
        "bins",
        "bound",
        "classes",
        "counts",
        "cuts",
        "delta",
        "gains",
        "grace_period",
        "leaf",
        "leaves",
        "links",
        "max_depth",
        "max_leaves",
        "n_cuts",
        "sizes",
        "tau",
        "thresholds",
        "totals",
        "trees",
    )  # fmt: skip

    thresholds: Floats
    links: Ints
    leaves: Floats
    classes: Floats
    counts: Floats
    totals: Floats
    cuts: Floats
    n_cuts: Ints
    gains: Floats
    sizes: Ints

    def __init__(
        self,
        trees: int = 1,
        bound: str = "lcb",
        delta: float = 0.05,
        grace_period: float = 50,
        tau: float | None = None,
        leaf: str = "adaptive",
        max_leaves: int = 256,
        max_depth: int = 20,
        bins: int = 32,
    ) -> None:
        params.whole("trees", trees, least=1, most=1_000_000)
        check(bound=bound, delta=delta, grace_period=grace_period, tau=tau, leaf=leaf, max_leaves=max_leaves,
              max_depth=max_depth, bins=bins)  # fmt: skip
        self.trees, self.bound, self.delta, self.grace_period = int(trees), bound, delta, grace_period
        self.tau, self.leaf, self.max_leaves, self.max_depth = tau, leaf, int(max_leaves), int(max_depth)
        self.bins = int(bins)
        self._rules = np.zeros(o.RULES)
        self._rules[o.BOUND], self._rules[o.ANSWER] = BOUNDS[bound], LEAVES[leaf]
        self._rules[o.LOG_DELTA], self._rules[o.Z] = math.log(1.0 / delta), max(0.0, NormalDist().inv_cdf(1.0 - delta))
        self._rules[o.GRACE], self._rules[o.TIE] = grace_period, TAUS[bound] if tau is None else tau
        self._rules[o.MAX_LEAVES], self._rules[o.MAX_DEPTH] = max_leaves, max_depth
        for name, table in self._blank(features=0, leaves=1, classes=2).items():
            setattr(self, name, table)
        self.sizes[:, o.N_LEAVES] = 1
        self.links[:, 0, o.FEATURE] = o.LEAF

    # -- growing and asking trees -------------------------------------------------------------------------------------

    def begin(self, tree: int, sample: Floats) -> None:
        """Begin a tree anew, on as many features as the sample has: its quantiles become the cut points.

        A feature with one value in the sample is not used.
        """
        t, sample = self._tree(tree), _sample(sample)
        self.sizes[t] = 1, 0
        self.links[t], self.thresholds[t], self.leaves[t], self.classes[t] = 0, 0.0, 0.0, 0.0
        self.links[t, 0, o.FEATURE] = o.LEAF
        self.counts[t], self.totals[t], self.cuts[t], self.n_cuts[t], self.gains[t] = 0.0, 0.0, np.inf, 0, 0.0
        self.add_features(t, sample)

    def add_features(self, tree: int, sample: Floats) -> None:
        """Let features join a tree, with cut points from the sample. Its leaves have counted nothing of them so far."""
        t, sample = self._tree(tree), _sample(sample)
        had = int(self.sizes[t, o.N_FEATURES])
        have = had + sample.shape[1]
        if have > self.n_cuts.shape[1]:
            one = self._count_bytes(have, 1, self.classes.shape[3])
            self._resize(features=have, leaves=max(2, _FIRST_BYTES // one))
        for f in range(had, have):
            cuts = cut_points(sample[:, f - had], self.bins)
            self.cuts[t, f, : len(cuts)] = cuts
            self.n_cuts[t, f] = len(cuts)
        self.sizes[t, o.N_FEATURES] = have

    def play(self, F: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int, tree: int = 0) -> None:
        """Carry out events with a tree, like ``Classifier._play``: e ≥ 0 predicts row e into out[e], ~e learns it."""
        t, notes, done = self._tree(tree), np.array([known, -1, 0, 0], dtype=np.int64), 0
        if F.shape[1] < self.sizes[t, o.N_FEATURES]:
            raise ValueError(f"F must have the {self.sizes[t, o.N_FEATURES]} features of the tree, got {F.shape[1]}")
        while True:
            K = self.classes.shape[3]
            tables = (
                self.thresholds, self.links, self.leaves, self.classes, self.counts, self.totals, self.cuts,
                self.n_cuts, self.gains, self.sizes,
            )  # fmt: skip
            bins = np.empty(self.n_cuts.shape[1], dtype=np.int64)
            work = (bins, np.empty(K), np.empty(K), np.empty(K), np.empty(o.FOUND), notes)
            done = o.play(tables, self._rules, work, t, F, y, w, events, out)
            if done == len(events):
                return
            events = events[done:]
            code = int(y[~events[0]])
            if code >= K:
                self._resize(classes=max(code + 1, K + K // 2))
            else:
                self._resize(leaves=2 * self.leaves.shape[1])

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
        return [
            (int(self.links[t, i, o.FEATURE]), float(self.thresholds[t, i]), child > int(self.links[t, i, o.NEXT]))
            for i, child in pairwise(nodes)
        ]

    def nodes_to(self, tree: int, f: Floats) -> list[int]:
        """Give the nodes on the way of a row of features, from the root to its leaf."""
        t, nodes = self._tree(tree), [0]
        while (feature := int(self.links[t, nodes[-1], o.FEATURE])) >= 0:
            right = not f[feature] <= self.thresholds[t, nodes[-1]]
            nodes.append(int(self.links[t, nodes[-1], o.NEXT]) + right)
        return nodes

    def class_weights(self, tree: int) -> Floats:
        """Give the class weights of each node: of a leaf its own, inherited ones included, of others their leaves'."""
        t = self._tree(tree)
        weights = np.zeros((2 * self.sizes[t, o.N_LEAVES] - 1, self.classes.shape[3]))
        for i in reversed(range(len(weights))):  # children come after their parents
            after = int(self.links[t, i, o.NEXT])
            is_leaf = self.links[t, i, o.FEATURE] == o.LEAF
            weights[i] = self.classes[t, after, o.ALL] if is_leaf else weights[after] + weights[after + 1]
        return weights

    def importances(self, tree: int) -> Floats:
        """Give the sum of the gains of all splits on each feature."""
        t = self._tree(tree)
        return self.gains[t, : self.sizes[t, o.N_FEATURES]].copy()

    def n_leaves(self, tree: int) -> int:
        """How many leaves a tree has."""
        return int(self.sizes[self._tree(tree), o.N_LEAVES])

    def n_features(self, tree: int) -> int:
        """How many features a tree has; constant ones, which it does not use, included."""
        return int(self.sizes[self._tree(tree), o.N_FEATURES])

    def depth(self, tree: int) -> int:
        """How many splits lie above the deepest leaf of a tree."""
        t = self._tree(tree)
        return int(self.links[t, : 2 * self.sizes[t, o.N_LEAVES] - 1, o.DEPTH].max())

    # -- state --------------------------------------------------------------------------------------------------------

    def tables(self) -> State:
        """Give all tables, not copied."""
        return {name: getattr(self, name) for name in _TABLES}

    def adopt(self, tables: State) -> None:
        """Continue from what ``tables`` of trees with the same parameters gave; what no trees could have is refused."""
        found = {name: tables[name] for name in _TABLES}
        self._refuse_unsound(found)
        for name, table in found.items():
            setattr(self, name, table)

    def _refuse_unsound(self, tables: State) -> None:
        for name, (dtype, ndim) in _TABLES.items():
            table = tables[name]
            if table.dtype != dtype or table.ndim != ndim or not table.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        S, L, K = tables["n_cuts"].shape[1], tables["leaves"].shape[1], tables["classes"].shape[3]
        if not (1 <= L <= self.max_leaves and K >= 2 and tables["counts"].nbytes == self._count_bytes(S, L, K)):
            raise ValueError("its tables do not fit each other")
        for name, like in self._shapes(S, L, K).items():
            if tables[name].shape != like:
                raise ValueError(f"its table {name!r} has another type or shape")
        for name in ("thresholds", "leaves", "classes", "counts", "totals", "gains"):
            bad = (
                ~np.isfinite(tables[name]) if name == "thresholds" else ~((tables[name] >= 0) & (tables[name] < np.inf))
            )
            if bad.any():
                raise ValueError(f"its table {name!r} holds what no trees could")
        sizes, n_cuts = tables["sizes"], tables["n_cuts"]
        beyond = np.arange(S) >= sizes[:, o.N_FEATURES, None]
        if (sizes < (1, 0)).any() or (sizes > (L, S)).any() or (n_cuts < 0).any() or (n_cuts >= self.bins).any():
            raise ValueError("its tables 'sizes' and 'n_cuts' hold what no trees could")
        used = np.arange(tables["cuts"].shape[2]) < n_cuts[:, :, None]
        cuts = tables["cuts"]
        rising = (cuts[:, :, 1:] > cuts[:, :, :-1]) | ~used[:, :, 1:]
        rest = (cuts == np.inf) | used
        if (n_cuts[beyond] > 0).any() or (np.isfinite(cuts) != used).any() or not (rising.all() and rest.all()):
            raise ValueError("its table 'cuts' holds what no trees could")
        for t in range(self.trees):
            if not _is_tree(tables["links"][t], n_cuts[t], int(sizes[t, o.N_LEAVES])):
                raise ValueError("its table 'links' points outside itself")

    # -- sizes --------------------------------------------------------------------------------------------------------

    def _tree(self, tree: int) -> int:
        if not 0 <= tree < self.trees:
            raise ValueError(f"tree must lie in [0, {self.trees}), got {params.shown(tree)}")
        return int(tree)

    def _shapes(self, features: int, leaves: int, classes: int) -> dict[str, tuple[int, ...]]:
        m, nodes, planes = self.trees, 2 * leaves - 1, 1 if self.leaf == "majority" else 2
        width = (1 << (self.bins - 1).bit_length()) - 1
        return {
            "thresholds": (m, nodes), "links": (m, nodes, 3), "leaves": (m, leaves, 4),
            "classes": (m, leaves, 2, classes),
            "counts": (m, leaves, features, self.bins, planes, classes),
            "totals": (m, leaves, features * (planes - 1), classes),
            "cuts": (m, features, width), "n_cuts": (m, features), "gains": (m, features), "sizes": (m, 2),
        }  # fmt: skip

    def _count_bytes(self, features: int, leaves: int, classes: int) -> int:
        return 8 * math.prod(self._shapes(features, leaves, classes)["counts"])

    def _blank(self, features: int, leaves: int, classes: int) -> State:
        shapes = self._shapes(features, leaves, classes)
        tables = {name: np.zeros(shapes[name], dtype=dtype) for name, (dtype, _) in _TABLES.items()}
        tables["cuts"][:] = np.inf
        return tables

    def _resize(self, features: int = 0, leaves: int = 0, classes: int = 0) -> None:
        """Move into tables with room for so many of each, where that is more than before."""
        had = self.tables()
        S, L, K = self.n_cuts.shape[1], self.leaves.shape[1], self.classes.shape[3]
        new = self._blank(max(features, S), max(L, min(leaves, self.max_leaves)), max(classes, K))
        for name, table in had.items():
            new[name][tuple(map(slice, table.shape))] = table
            setattr(self, name, new[name])


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
        and (feature >= o.LEAF).all()
        and (feature < len(n_cuts)).all()
        and (n_cuts[feature[inner]] > 0).all()
        and np.array_equal(np.sort(left), np.arange(1, 2 * leaves - 1, 2))
        and (left > inner).all()
        and np.array_equal(np.sort(following[leaf]), np.arange(leaves))
        and depth[0] == 0
        and (depth[left] == depth[inner] + 1).all()
        and (depth[left + 1] == depth[inner] + 1).all()
    )
