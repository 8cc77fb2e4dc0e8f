"""The columns that matter most, chosen while the stream goes on."""

from typing import Any, final

import numpy as np
from msgspec import structs

from thalweg.core.classifier import Classifier
from thalweg.core.declared import check
from thalweg.core.fields import free, number, whole
from thalweg.core.inside import Inner, check_inner
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.prepare import select_jit as jit
from thalweg.prepare.columns import Plan, choose
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer
from thalweg.registry.typed import make_learner

INFORMATION = "information"
MARGIN = 1.1
"""A column takes the place of another when it tells so many times as much."""
FIRST = 200
"""Rows after which columns are chosen for the first time."""


def _check_by(name: str, value: Any) -> None:
    if not isinstance(value, str):
        check_inner(name, value)
        if not hasattr(type(value), "feature_importances_"):
            raise TypeError(f"{name} must be a tree or a forest, which knows importances, got {shown(value)}")


@final
class Select(Transformer):
    """Keep the ``k`` columns of numbers that say most about the label, and choose anew as the stream goes on.

    They come out in ``k`` places, ahead of the columns that are no numbers, which stay. What matters is found out every
    ``every`` rows from rows that were learned before: by the mutual information of a column with the label, counted in
    bins of half a standard deviation, or by the importances of a tree or forest that learns beside, once it has split.
    The first choice is made after 200 rows; until then what comes out is missing. A column keeps its place until
    another one matters more by a tenth, and by more than chance; to the learner that looks like a drift of this place.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(1000, 20))
    >>> select = Select(k=2).partial_fit(X, X[:, 7] + X[:, 13] > 0.0)
    >>> sorted(select.selected)
    ['x13', 'x7']
    """

    labelled = True

    k: int = whole(default=10, doc="Columns that are kept.", least=1, most=100_000)
    by: str | Classifier = free(
        default=INFORMATION,
        doc='"information", or a tree or forest, or its name, such as "hoeffding-tree", whose importances count.',
        check=_check_by,
    )
    every: int = whole(default=1_000, doc="Rows between two choices.", least=1, most=1 << 40)
    decay: float = number(
        default=0.5, doc="What is left of older counts at each choice, with information.", above=0, most=1
    )

    __slots__ = ("_beside", "_choice", "_classes", "_told")

    def _prepare(self) -> None:
        self.missing = "made"
        if isinstance(self.by, str) and self.by != INFORMATION:
            _check_by("by", make_learner(self.by))

    @property
    def selected(self) -> list[str]:
        """The names of the columns that are chosen now, by their places."""
        if self._plan is None:
            return []
        names = [self._plan.schema.names[f] for f in self._plan.columns]
        return [names[f] for f in self._choice.chosen.tolist() if f >= 0]

    def _planned(self, schema: Schema) -> Plan:
        columns = choose("Select", self.columns, schema, self.kind)
        others = np.setdiff1d(np.arange(schema.n_features), columns)
        made = [Feature(f"selected[{j}]") for j in range(self.k)] + [schema.features[f] for f in others]
        out = structs.replace(schema, features=tuple(made), shape=None, rank=None)
        return Plan(schema, out, columns, np.zeros(0, dtype=np.int64), others)

    def _sources(self, plan: Plan) -> Ints:
        chosen = self._choice.chosen  # an empty place is 0 in every row: nothing can count there
        return np.concatenate([plan.columns[np.maximum(chosen, 0)], plan.more])

    def _learner(self) -> Classifier | None:
        if isinstance(self.by, str):
            return None if self.by == INFORMATION else make_learner(self.by)
        return self.by.fresh()

    def _start(self, plan: Plan) -> None:
        c, learner = len(plan.columns), self._learner()
        wait = np.array([min(FIRST, self.every), 0], dtype=np.int64)
        self._choice = jit.Choice(np.full(self.k, -1), wait)
        self._told = jit.Told(np.zeros((3, c)), np.zeros((c, jit.BINS, jit.CLASSES)))
        self._beside = None if learner is None else Inner(learner, plan.schema)
        self._classes = 0

    def _extend(self, plan: Plan) -> None:
        more = len(plan.columns) - self._told.stats.shape[1]
        stats, counts = self._told
        self._told = jit.Told(np.pad(stats, ((0, 0), (0, more))), np.pad(counts, ((0, more), (0, 0), (0, 0))))
        if self._beside is not None:
            self._beside.meet(plan.schema)

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        i = 0
        while i < len(X):
            stop = jit.take(*self._choice, plan.columns, plan.more, X, learned, i, out)
            self._learn(plan, X[i:stop], y[i:stop], w[i:stop], learned[i:stop])
            i = stop
            if self._choice.clock[jit.WAIT] == 0:
                jit.choose(self._choice.chosen, *self._scores(plan))
                self._choice.clock[jit.WAIT] = self.every

    def _learn(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools) -> None:
        jit.count(*self._told, plan.columns, X, y, w, learned)
        rows = np.flatnonzero(learned)
        if self._beside is not None and len(rows):
            known = self._classes
            self._classes = max(known, int(y[rows].max()) + 1)
            self._beside.play(X, y, w, ~rows, np.zeros((len(X), self._classes)), known)

    def _scores(self, plan: Plan) -> tuple[Floats, float, float]:
        """Say how much each column matters, by what factor more it must matter to be chosen anew, and by what sum.

        By chance alone, a column of noise has information of (bins - 1) (classes - 1) / 2 n in n rows.
        """
        scores, counts = np.zeros(len(plan.columns)), self._told.counts
        there = counts[:1].sum(axis=(0, 1))
        noise = (jit.BINS - 1) * (np.count_nonzero(there) - 1) / (2.0 * max(1.0, there.sum()))
        jit.information(counts, float(self.decay), scores)
        if self._beside is not None:
            found: Floats = self._beside.learner.feature_importances_  # type: ignore[attr-defined]
            if found.any():
                return np.ascontiguousarray(found[plan.columns]), MARGIN, 0.0
        return scores, MARGIN, max(0.0, float(noise))

    def _tables(self) -> State:
        own = self._choice._asdict() | self._told._asdict() | {"classes": np.array([self._classes])}
        return own if self._beside is None else own | self._beside.tables("beside")

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        c, learner = len(plan.columns), self._learner()
        check((jit.Choice, jit.Told, jit.Known), tables, c=c, k=int(self.k), classes=classes)
        beside = None if learner is None else Inner.adopt(learner, "beside", tables, plan.schema, classes)
        self._beside, self._classes = beside, int(tables["classes"][0])
        self._choice = jit.Choice(tables["chosen"], tables["clock"])
        self._told = jit.Told(tables["stats"], tables["counts"])
