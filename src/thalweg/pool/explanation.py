"""Why a record got its label: its way down each tree that has a say, and what each test on the way changed."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.notebook import card
from thalweg.core.schema import Schema
from thalweg.pool.pool import Pool
from thalweg.pool.view_jit import sum_up, trace

if TYPE_CHECKING:
    from thalweg.show.tree_picture import View

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rule:
    """What one tree said, and why."""

    member: int
    """Which member of a forest. Of a single tree 0; alternate subtrees that vote with it follow."""
    tests: tuple[str, ...]
    """What the record met on its way to the leaf."""
    answer: dict[Hashable, float]
    """The leaf's probability of each class."""
    weight: float
    """The tree's share of the vote."""

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
    """The rule that fired in each tree."""

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.proba.get(self.label, 0.0):.1%}"]
        parts = {"without looking": self.base, **self.contributions, "models in the leaves": self.leaf}
        lines += [f"  {part.get(self.label, 0.0):+7.1%}  {name}" for name, part in parts.items()]
        return "\n".join([*lines, f"  {self.rules[0]}"] if len(self.rules) == 1 else lines)

    def _repr_html_(self) -> str:
        parts = {"without looking": self.base, **self.contributions, "models in the leaves": self.leaf}
        rows = [((name, f"{part.get(self.label, 0.0):+.1%}"), False) for name, part in parts.items()]
        rows += [(("rule", str(rule)), False) for rule in (self.rules if len(self.rules) == 1 else ())]
        return card(f"{self.label}: {self.proba.get(self.label, 0.0):.1%}", ["because of", "adds"], rows)


class Way(NamedTuple):
    """A record's way down one tree."""

    path: list[int]
    """The nodes, from the root to the leaf."""
    tests: list[tuple[int, str]]
    """The feature that each test looks at, and what the record met."""
    shares: list[Floats]
    """Class shares of each node."""
    answer: Floats
    """The leaf's."""
    weight: float
    """Of its vote."""


def tests_on(view: "View", path: Sequence[int]) -> list[tuple[int, str]]:
    """Give the feature and the words of each test on a path, from a node to one below it."""
    found = []
    for i, child in pairwise(path):
        f = int(view.nodes[i]["feature"])
        found.append((f if f >= 0 else -2 - f, view.test(i, child - int(view.nodes[i]["left"]))))
    return found


def counts_of(view: "View") -> dict[int, Floats]:
    """Class weights of each node: of a leaf its own, of an inner node the sum of its leaves'."""
    order, counts = sum_up(view.nodes, view.tally, view.root)
    return dict(zip(order.tolist(), counts, strict=True))


def spread(counts: Floats, sides: Sequence[int]) -> Floats:
    """Class weights as shares of the classes known, which may be more or fewer than there is room for."""
    total = counts.sum()
    return np.array([counts[c] / total if total > 0.0 and c < len(counts) else 0.0 for c in sides])


def way_down(view: "View", pool: Pool, X: Floats, sides: Sequence[int], weight: float) -> Way:
    """Follow row 0 from the root of a tree to its leaf; one that has nothing to say has no weight."""
    votes, counts = np.zeros(pool.tally.shape[1] - 1), counts_of(view)
    path = trace(pool.bundle, view.root, X, 0, votes).tolist()
    shares = [spread(counts[i], sides) for i in path]
    return Way(path, tests_on(view, path), shares, spread(votes, sides), weight if votes.sum() > 0.0 else 0.0)


def explain(schema: Schema, proba: dict[Hashable, float], ways: Sequence[Way]) -> Explanation:
    """Share out what changes on the ways down the trees among the features tested."""
    labels = list(proba)
    n = len(labels)
    base, leaf, added = np.zeros(n), np.zeros(n), np.zeros((schema.n_features, n))
    for way in ways:
        base += way.weight * way.shares[0]
        leaf += way.weight * (way.answer - way.shares[-1])
        for (f, _), (before, after) in zip(way.tests, pairwise(way.shares), strict=True):
            added[f] += way.weight * (after - before)
    whole = sum(way.weight * way.answer.sum() for way in ways)
    if whole == 0.0:  # no tree has anything to say: all classes alike
        base, whole = np.full(n, 1.0 / max(1, n)), 1.0
    order = sorted(range(schema.n_features), key=lambda f: -float(np.abs(added[f]).sum()))
    return Explanation(
        label=max(proba, key=lambda c: proba[c]) if proba else None,
        proba=proba,
        base=_named(labels, base / whole),
        contributions={schema.names[f]: _named(labels, added[f] / whole) for f in order if np.abs(added[f]).any()},
        leaf=_named(labels, leaf / whole),
        rules=tuple(
            Rule(t, tuple(words for _, words in way.tests), _named(labels, way.answer), way.weight / whole)
            for t, way in enumerate(ways)
        ),
    )


def _named(labels: Sequence[Hashable], values: Floats) -> dict[Hashable, float]:
    return dict(zip(labels, values.tolist(), strict=True))
