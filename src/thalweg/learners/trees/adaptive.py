"""A Hoeffding tree that watches its own errors and replaces the branches that have gone out of date."""

from dataclasses import replace
from typing import Literal, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.detectors import adwin_jit
from thalweg.learners.trees.adaptive_jit import A_ERROR, LEAST_ERROR, play
from thalweg.pool.explanation import Way, way_down
from thalweg.pool.pool import Extras, Pool
from thalweg.pool.pool_jit import ALTERNATES
from thalweg.show.tree_picture import Pictured, View

LEVELS = 16
"""Levels of buckets of each ADWIN: its window holds at most some 300,000 rows."""
_OWN = ("drift_delta", "switch_delta", "min_rows", "bootstrap", "blend")


@final
class HoeffdingAdaptiveTree(Pictured):
    """Each inner node watches its errors; where they rise an alternate subtree grows, and takes over once it is better.

    grace_period, delta, tau, criterion, leaf, bound, min_branch_share, null_merit, n_split_points, binary_splits,
    leaf_range, subspace: how leaves split and answer, as in ``HoeffdingTree``.
    drift_delta: δ of the ADWIN that watches the errors at each inner node.
    switch_delta: confidence with which an alternate must be better to take over, or worse to be dropped.
    min_rows: neither happens before both have been judged on more rows than this.
    bootstrap: give each row in its leaf the weight max(1, Poisson(1)), as MOA does.
    blend: alternates that have split vote too, each leaf weighted by 1 / error², as in MOA.
    limit_bytes: the model never takes more; the least promising leaves stop observing, and where there is no room
    for an alternate the subtree starts again at once. None: no limit. seed: for bootstrap and subspace.

    Missing values are skipped by the observers and follow the heavier branch.

    Reference: A. Bifet, R. Gavaldà, "Adaptive learning from evolving data streams", IDA 2009 (HAT-ADWIN). The
    parameters, the bound and the weights are MOA's. Other than there a losing alternate is dropped even if it has
    split, alternates have no alternates of their own, and the error of a leaf is a mean that forgets, not an ADWIN.

    >>> from thalweg import HoeffdingAdaptiveTree, paper_stream
    >>> chunk = paper_stream("SEA_a", seed=1).read(10_000)
    >>> tree = HoeffdingAdaptiveTree()
    >>> proba = tree.test_then_train(chunk.X, chunk.y)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    __slots__ = ()

    _routine = staticmethod(play)
    blend: bool

    def __init__(
        self,
        *,
        grace_period: float = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        drift_delta: float = 0.002,
        switch_delta: float = 0.05,
        min_rows: int = 300,
        bootstrap: bool = True,
        blend: bool = True,
        criterion: Literal["gain", "gini"] = "gain",
        leaf: Literal["majority", "bayes", "adaptive"] = "adaptive",
        bound: Literal["hoeffding", "mcdiarmid"] = "hoeffding",
        min_branch_share: float = 0.01,
        null_merit: Literal["zero", "moa"] = "moa",
        n_split_points: int = 10,
        binary_splits: bool = False,
        leaf_range: bool = True,
        subspace: int | None = None,
        limit_bytes: int | None = 33_554_432,
        seed: int = 1,
    ) -> None:
        params.number("drift_delta", drift_delta, above=0, below=1)
        params.number("switch_delta", switch_delta, above=0, below=1)
        params.whole("min_rows", min_rows, least=1)
        params.flag("bootstrap", bootstrap)
        params.flag("blend", blend)
        super().__init__(
            grace_period=grace_period, delta=delta, tau=tau, drift_delta=drift_delta, switch_delta=switch_delta,
            min_rows=min_rows, bootstrap=bootstrap, blend=blend, criterion=criterion, leaf=leaf, bound=bound,
            min_branch_share=min_branch_share, null_merit=null_merit, n_split_points=n_split_points,
            binary_splits=binary_splits, leaf_range=leaf_range, subspace=subspace, limit_bytes=limit_bytes, seed=seed,
        )  # fmt: skip

    def _extras(self) -> Extras:
        own = tuple(float(getattr(self, name)) for name in _OWN)
        monitor = adwin_jit.new_table(1, levels=LEVELS)[0]
        return Extras(kind=ALTERNATES, marks=2, pair=monitor, turns=3, rules=own)

    def _start(self, schema: Schema) -> None:
        super()._start(schema)
        self._pool.marks[0] = 0.5, 1.0

    def _adopt(self, tables: State, schema: Schema) -> None:
        extras = self._extras()
        pool = Pool.adopt(self._rules(), tables, schema, trees=1, extras=extras)
        finite = np.isfinite(pool.pairs).all() and np.isfinite(pool.marks).all()
        if not (finite and adwin_jit.could_be(pool.pairs, extras.pair) and (pool.marks >= 0.0).all()):
            raise ValueError("its tables 'pairs' and 'marks' are not those of a tree")
        self._pool = pool

    @property
    def alternates(self) -> dict[str, int]:
        """How many alternate subtrees were started, have taken over, were dropped, and are growing now.

        The others went with a subtree that was replaced.

        >>> from thalweg import HoeffdingAdaptiveTree
        >>> HoeffdingAdaptiveTree().alternates
        {'started': 0, 'taken over': 0, 'dropped': 0, 'growing': 0}
        """
        counts = dict.fromkeys(("started", "taken over", "dropped", "growing"), 0)
        if self._started:
            counts |= dict(zip(counts, self._pool.turns.tolist(), strict=False))
            view = self._view()
            counts["growing"] = sum(not view.is_leaf(i) and int(self._pool.links[i]) >= 0 for i, *_ in view.walk())
        return counts

    def _ways(self, view: View, X: Floats, sides: range) -> list[Way]:
        """Also those through alternates that vote: as if each had taken over already."""
        own = way_down(view, self._pool, X, sides, 1.0)
        found = [own]
        for depth, i in enumerate(own.path[:-1] if self.blend else ()):
            other = int(self._pool.links[i])
            if other >= 0 and not view.is_leaf(other):
                rest = way_down(replace(view, root=other), self._pool, X, sides, 1.0)
                found.append(
                    Way(
                        own.path[:depth] + rest.path, own.tests[:depth] + rest.tests, own.shares[:depth] + rest.shares,
                        rest.answer, rest.weight,
                    )
                )  # fmt: skip
        return [way._replace(weight=way.weight * self._trust(way.path[-1])) for way in found]

    def _trust(self, leaf: int) -> float:
        """The weight of a leaf's vote."""
        return float(max(self._pool.marks[leaf, A_ERROR], LEAST_ERROR) ** -2.0)
