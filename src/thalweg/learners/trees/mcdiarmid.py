"""A decision tree on binned numbers: McDiarmid's bound, or a more practical one, says when a leaf splits."""

from typing import Annotated, Any, Literal, NamedTuple, final

import numpy as np

from thalweg.core import fields
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, fresh, table
from thalweg.core.in_use import looks
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.trees.binned import BinnedTreeParams, BinnedTrees
from thalweg.pool.explanation import Explanation, Way, explain, spread
from thalweg.pool.importances import WithImportances
from thalweg.show.tree_picture import compared

PRESETS: dict[str, dict[str, Any]] = {
    "default": {"bound": "lcb", "leaf": "adaptive"},
    "paper": {"bound": "mcdiarmid", "leaf": "majority"},
}


class Waiting(NamedTuple):
    """Rows that wait until the bins are fixed."""

    rows: Annotated[Floats, table("n", "d", missing=True)]
    """NaN: it was missing, or had not joined yet."""
    codes: Annotated[Ints, table("n", least=0, most="classes - 1")]
    weights: Annotated[Floats, table("n", least=5e-324)]
    """All above 0."""


@final
class McDiarmidTree(BinnedTreeParams, WithImportances, Classifier):
    """Leaves count classes by bin; one splits on the feature with the highest Gini gain once that is surely worth it.

    n: the weight of a leaf; a, b: its best and second best feature (not to split is one, with gain 0); z: the normal
    quantile of 1 - δ. A leaf splits if gain a - gain b > ε, which depends on ``bound``.

    Features that join wait for a window of rows of their own. A feature with one value in its window is not used.
    Nominal values are numbers in the order in which they came. Missing values are refused.

    References
    ----------
    L. Rutkowski, L. Pietruczuk, P. Duda, M. Jaworski, "Decision trees for mining data streams based on the McDiarmid's
    bound", IEEE Transactions on Knowledge and Data Engineering 25, 2013, with the bound as corrected by B. Krawczyk,
    "Tensor decision trees for continual learning from drifting data streams", Machine Learning 2021.

    Examples
    --------
    >>> from thalweg import SEA
    >>> chunk = SEA(seed=1).read(10_000)
    >>> tree = McDiarmidTree()
    >>> proba = tree.test_then_train(chunk.X, chunk.y)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.85), tree.n_leaves > 3
    (True, True)
    >>> tree.importances()["x2"] < 0.05  # the third feature of SEA says nothing
    True
    """

    bounded = True

    preset: Literal["default", "paper"] = fields.choice(
        default="default",
        doc="What None among bound and leaf is: lcb and adaptive, or by paper mcdiarmid and majority.",
    )
    max_depth: int = fields.whole(default=20, doc="The tree stops growing there.", least=0, most=1_000_000)
    bins: int = fields.whole(
        default=32, doc="Bins of each feature, between quantiles of the first rows.", least=2, most=4096
    )
    window: int = fields.whole(
        default=100,
        doc="Rows that wait until the bins are fixed; meanwhile the answer is the most frequent class.",
        least=1,
        most=1_000_000,
    )

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def n_leaves(self) -> int:
        """How many leaves the tree has."""
        return int(self._trees.n_leaves[0]) if self._started else 1

    @property
    def depth(self) -> int:
        """How many splits lie above the deepest leaf."""
        return int(self._trees.depth[0]) if self._started else 0

    def _gains(self) -> Floats:
        if not self._started or self._schema is None:
            raise ValueError("the tree has not seen a row yet: nothing to look at")
        return self._trees.decreases(0, self._schema.n_features)

    def path(self, x: Any) -> list[tuple[str, float, bool]]:
        """Give the splits that a record passes: name of the feature, threshold, and whether it is above.

        Examples
        --------
        >>> X = np.arange(400.0).reshape(-1, 1)
        >>> McDiarmidTree().partial_fit(X[::-1] % 7, X[::-1, 0] % 7 > 3).path([5.0])
        [('x0', 3.0, True)]
        """
        X, schema = self._one_row(x, learning=False)
        steps = self._trees.path(0, X[0]) if self._started else []
        return [(schema.names[f], threshold, right) for f, threshold, right in steps]

    @looks
    def explain_one(self, x: Any) -> Explanation:
        """Say why: the tests on the record's way, and what each feature added to the probability of each class.

        Examples
        --------
        >>> X = np.arange(400.0).reshape(-1, 1)
        >>> tree = McDiarmidTree().partial_fit(X[::-1] % 7, X[::-1, 0] % 7 > 3)
        >>> print(tree.explain_one([5.0]).rules[0])
        x0 > 3: True (100%)
        """
        if not self._started or self._schema is None:
            raise ValueError("the tree has not seen a row yet: nothing to look at")
        X, proba = self._one_row(x, learning=False)[0], self.predict_proba_one(x)
        path, weights = self._trees.nodes_to(0, X[0]), self._trees.class_weights(0)
        names, sides = self._schema.names, range(len(proba))
        tests = [(f, compared(names[f], right, threshold)) for f, threshold, right in self._trees.path(0, X[0])]
        shares = [spread(weights[i], sides) for i in path]
        return explain(self._schema, proba, [Way(path, tests, shares, np.array([*proba.values()]), 1.0)])

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._trees, self._waiting = BinnedTrees(**self._chosen()), _nobody(schema.n_features)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        while len(events):
            part = self._until_full(events)
            self._trees.play(X, y, w, part, out, known)
            learned = ~part[part < 0]
            if len(learned):
                known = max(known, int(y[learned].max()) + 1)
                self._wait(X[learned], y[learned], w[learned])
            events = events[len(part) :]

    def _extend(self, schema: Schema) -> None:
        """Features that joined are missing in the rows that wait."""
        rows, d = self._waiting["rows"], schema.n_features
        self._waiting["rows"] = np.pad(rows, ((0, 0), (0, d - rows.shape[1])), constant_values=np.nan)

    def _tables(self) -> State:
        return {**self._trees.tables(), **self._waiting}

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        trees = BinnedTrees(**self._chosen())
        trees.adopt(tables, classes)
        check(Waiting, tables, d=schema.n_features, classes=classes, most={"n": self.window - 1})
        if trees.n_features[0] > schema.n_features:
            raise ValueError("its tree has more features than the schema")
        self._trees, self._waiting = trees, {name: tables[name] for name in Waiting._fields}

    # -- rows that wait -----------------------------------------------------------------------------------------------

    def _chosen(self) -> dict[str, Any]:
        """How the tree grows: the parameters, or where they are None what the preset says."""
        names = ("bound", "delta", "grace_period", "tau", "leaf", "max_leaves", "max_depth", "bins")
        preset = PRESETS[self.preset]
        return {name: preset.get(name) if getattr(self, name) is None else getattr(self, name) for name in names}

    def _until_full(self, events: Ints) -> Ints:
        """Give the events up to the one that fills the window, if features wait for their bins; else all."""
        if self._trees.n_features[0] == self._waiting["rows"].shape[1]:
            return events
        learning = np.flatnonzero(events < 0)
        lacking = self.window - len(self._waiting["rows"])
        return events[: learning[lacking - 1] + 1] if len(learning) >= lacking else events

    def _wait(self, X: Floats, y: Ints, w: Floats) -> None:
        """Keep rows for features that have no bins yet; when the window is full, fix them."""
        had = self._trees.n_features[0]
        if had == self._waiting["rows"].shape[1]:
            return
        found = {"rows": X, "codes": y, "weights": w}
        self._waiting = {name: np.concatenate([self._waiting[name], found[name]]) for name in Waiting._fields}
        rows = self._waiting["rows"]
        if len(rows) < self.window:
            return
        there = ~np.isnan(rows[:, had:])
        ready = had + int(np.cumprod(2 * there.sum(axis=0) >= len(rows)).sum())  # features that joined late wait on
        codes, weights = self._waiting["codes"], self._waiting["weights"]
        self._waiting = _nobody(rows.shape[1])
        if had:
            self._trees.add_features(0, rows[:, had:ready])
        else:
            self._trees.begin(0, rows[:, :ready])
            self._trees.learn(0, rows, codes, weights)


def _nobody(features: int) -> State:
    return fresh(Waiting, n=0, d=features)
