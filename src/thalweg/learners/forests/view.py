"""A forest for people: its members, and which features matter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.learners.forests import forest_jit as m
from thalweg.pool.explanation import counts_of
from thalweg.show.tree_picture import View

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


class History(NamedTuple):
    """What a forest has been through."""

    rows: int
    """Rows learned so far."""
    warnings: int
    drifts: int
    """Trees that were replaced."""


def look(number: int, view: View, row: Floats) -> Member:
    """Describe a member by its tree and its row of ``members``."""
    seen = row[m.M_SEEN]
    return Member(
        number=number, depth=view.depth, leaves=view.n_leaves,
        accuracy=float(row[m.M_RIGHT] / seen) if seen > 0.0 else float("nan"), age=int(row[m.M_ROWS] - row[m.M_BORN]),
        warnings=int(row[m.M_WARNINGS]), drifts=int(row[m.M_DRIFTS]), background=bool(row[m.M_GROWS] > 0.0),
    )  # fmt: skip


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
