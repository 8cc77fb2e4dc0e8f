"""A forest for people: its members, which features matter, and why a record got its label."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thalweg.forests import members_jit as m
from thalweg.forests.members_jit import code
from thalweg.trees.picture import View
from thalweg.trees.view_jit import sum_up, trace

if TYPE_CHECKING:
    from thalweg.core.classifier import Classifier

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a forest, as it is now."""

    number: int
    depth: int
    """Tests on the longest path of its tree."""
    leaves: int
    accuracy: float
    """Share of rows that its tree predicted right before learning them; NaN for a new one."""
    age: int
    """Rows since its tree began."""
    warnings: int
    drifts: int
    """Times its tree was replaced."""
    background: bool
    """Is a tree growing in the background?"""


def look(number: int, view: View, row: Floats) -> Member:
    """Describe a member by its tree and its row of ``members``."""
    seen = row[m.SEEN]
    return Member(
        number=number, depth=view.depth, leaves=view.n_leaves,
        accuracy=float(row[m.RIGHT] / seen) if seen > 0.0 else float("nan"), age=int(row[m.ROWS] - row[m.BORN]),
        warnings=int(row[m.WARNINGS]), drifts=int(row[m.DRIFTS]), background=bool(row[m.GROWS] > 0.0),
    )  # fmt: skip


def counts_of(view: View) -> dict[int, Floats]:
    """Class weights of each node: of a leaf its own, of an inner node the sum of its leaves'."""
    order, counts = sum_up(view.nodes, view.tally, view.root)
    return dict(zip(order.tolist(), counts, strict=True))


def importances(views: Sequence[tuple[View, float]]) -> dict[str, float]:
    """Each feature's part in the decrease of Gini impurity by all splits of all trees; trees count by their weights."""
    schema = views[0][0].schema
    gained = np.zeros(schema.n_features)
    for view, weight in views:
        counts = counts_of(view)
        own = np.zeros(schema.n_features)
        for i in counts:
            children = view.children(i)
            if children:
                f = int(view.nodes[i]["feature"])
                own[f if f >= 0 else -2 - f] += _mixed(counts[i]) - sum(_mixed(counts[c]) for c in children)
        if own.sum() > 0.0:  # by what a row of the tree gains: a tree that sees nothing of use counts little
            gained += weight * own / counts[view.root].sum()
    whole = gained.sum()
    return _ranked(schema.names, gained / whole if whole > 0.0 else gained)


def _mixed(counts: Floats) -> float:
    """Weight × Gini impurity."""
    n = float(counts.sum())
    return n - float(counts @ counts) / n if n > 0.0 else 0.0


def permuted(learner: "Classifier", X: Any, y: Any, repeats: int, seed: int) -> dict[str, float]:
    """Loss of accuracy on a window when one feature's values are shuffled among its rows; the mean of some shuffles."""
    from thalweg.core import door

    rows, schema = door.rows(X, learner.schema, missing=True, learning=False)
    names = schema.names
    base = learner.score(rows, y)
    draw = np.random.default_rng(seed)
    lost = np.zeros(len(names))
    for f in range(len(names)):
        other = rows.copy()
        for _ in range(repeats):
            other[:, f] = draw.permutation(rows[:, f])
            lost[f] += (base - learner.score(other, y)) / repeats
    return _ranked(names, lost)


def _ranked(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {names[f]: float(values[f]) for f in np.argsort(-values, kind="stable")}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one member said, and why."""

    member: int
    tests: tuple[str, ...]
    """What the record met on its way to the leaf."""
    answer: dict[Hashable, float]
    """The leaf's probability of each class."""
    weight: float
    """The member's share of the vote."""

    def __str__(self) -> str:
        best = max(self.answer, key=lambda label: self.answer[label])
        return f"{' and '.join(self.tests) or 'always'}: {best} ({self.answer[best]:.0%})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a record got its label.

    ``base`` + the ``contributions`` of all features + ``leaf`` is the probability, for each class.
    """

    label: Hashable
    proba: dict[Hashable, float]
    base: dict[Hashable, float]
    """What the trees would say without looking at the record."""
    contributions: dict[str, dict[Hashable, float]]
    """What the tests of each feature added, the weightiest feature first."""
    leaf: dict[Hashable, float]
    """What the models in the leaves (naive Bayes) added."""
    rules: tuple[Rule, ...]

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.proba.get(self.label, 0.0):.1%}"]
        parts = {"without looking": self.base, **self.contributions, "models in the leaves": self.leaf}
        lines += [f"  {part.get(self.label, 0.0):+7.1%}  {name}" for name, part in parts.items()]
        return "\n".join(lines)


def explain(
    forest: Any, X: Floats, proba: dict[Hashable, float], views: Sequence[tuple[View, Floats, Any]]
) -> Explanation:
    """Follow row 0 of X down each member's tree, and share out what changes on the way among the features tested."""
    labels, schema = list(proba), views[0][0].schema
    n = len(labels)
    base, leaf, added = np.zeros(n), np.zeros(n), np.zeros((schema.n_features, n))
    said: list[tuple[tuple[str, ...], Floats, float]] = []
    for t, (view, row, pool) in enumerate(views):
        votes = np.zeros(pool.tally.shape[1] - 1)
        follow: Any = trace
        path = follow(*pool.arguments, view.root, X, 0, votes).tolist()
        sides = [int(code(t, c)) for c in range(n)] if forest._plan.codes else range(n)

        def spread(counts: Floats, sides: Sequence[int] = sides) -> Floats:
            """Class weights as shares of the classes known, which may be more or fewer than there is room for."""
            total = counts.sum()
            return np.array([counts[c] / total if total > 0.0 and c < len(counts) else 0.0 for c in sides])

        counts = counts_of(view)
        weight = forest._say(row) if votes.sum() > 0.0 else 0.0
        tests = []
        for i, child in pairwise(path):
            f = int(view.nodes[i]["feature"])
            tests.append(view.test(i, child - int(view.nodes[i]["left"])))
            added[f if f >= 0 else -2 - f] += weight * (spread(counts[child]) - spread(counts[i]))
        answer = spread(votes)
        base += weight * spread(counts[view.root])
        leaf += weight * (answer - spread(counts[path[-1]]))
        said.append((tuple(tests), answer, weight))
    whole = sum(weight * answer.sum() for _, answer, weight in said)
    if whole == 0.0:  # no tree has anything to say: all classes alike
        base, whole = np.full(n, 1.0 / max(1, n)), 1.0
    order = sorted(range(schema.n_features), key=lambda f: -float(np.abs(added[f]).sum()))
    return Explanation(
        label=max(proba, key=lambda c: proba[c]) if proba else None,
        proba=proba,
        base=_named(labels, base / whole),
        contributions={schema.names[f]: _named(labels, added[f] / whole) for f in order if np.abs(added[f]).any()},
        leaf=_named(labels, leaf / whole),
        rules=tuple(Rule(t, tests, _named(labels, a), w / whole) for t, (tests, a, w) in enumerate(said)),
    )


def _named(labels: Sequence[Hashable], values: Floats) -> dict[Hashable, float]:
    return dict(zip(labels, values.tolist(), strict=True))
