"""A Hoeffding tree that watches its own errors and replaces the branches that have gone out of date."""

import numbers
from dataclasses import replace
from typing import Any, Literal, final

from thalweg.core import params
from thalweg.core.classifier import Floats
from thalweg.core.fields import choice, flag, free, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.detectors import adwin_jit
from thalweg.detectors.adwin import ADWIN
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.trees.adaptive_jit import A_ERROR, LEAST_ERROR, Alternates, play
from thalweg.pool.explanation import Way, way_down
from thalweg.pool.extras import Extras
from thalweg.pool.pool import Pool
from thalweg.pool.pool_jit import ALTERNATES
from thalweg.pool.rules import GrowingAlone
from thalweg.pool.tree import Splitting, Tree
from thalweg.show.tree_picture import Pictured, View

LEVELS = 16
"""Levels of buckets of each ADWIN: its window holds at most some 300,000 rows."""


def _adwin(argument: str, value: Any) -> ADWIN:
    """Make the ADWIN that a name or a detector says; a number is its δ."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        params.number(argument, value, above=0, below=1)
        return ADWIN(delta=float(value))
    made = make_detector(argument, value)
    if not isinstance(made, ADWIN) or made.direction != "up":
        raise ValueError(f"{argument} must be an ADWIN that looks for rising errors, got {params.shown(value)}")
    return made


@final
class HoeffdingAdaptiveTree(GrowingAlone, Splitting, Tree, Pictured):
    """Each inner node watches its errors; where they rise an alternate subtree grows, and takes over once it is better.

    At the limit of memory the least promising leaves stop observing, and where there is no room for an alternate the
    subtree starts again at once.

    Missing values are skipped by the observers and follow the heavier branch.

    References
    ----------
    A. Bifet, R. Gavaldà, "Adaptive learning from evolving data streams", IDA 2009 (HAT-ADWIN). The parameters, the
    bound and the weights are MOA's. Other than there a losing alternate is dropped even if it has split, alternates
    have no alternates of their own, and the error of a leaf is a mean that forgets, not an ADWIN.

    Examples
    --------
    >>> from thalweg import HoeffdingAdaptiveTree, paper_stream
    >>> chunk = paper_stream("SEA_a", seed=1).read(10_000)
    >>> tree = HoeffdingAdaptiveTree()
    >>> proba = tree.test_then_train(chunk.X, chunk.y)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    __slots__ = ()

    _routine = staticmethod(play)
    drift: str | Detector = free(
        default="adwin(delta=0.002)",
        doc="The ADWIN, or its name, that watches the errors at each inner node.",
        check=_adwin,
        old="drift_delta",
    )
    switch_delta: float = number(
        default=0.05,
        doc="Confidence with which an alternate must be better to take over, or worse to be dropped.",
        above=0,
        below=1,
    )
    min_rows: int = whole(
        default=300, doc="Neither happens before both have been judged on more rows than this.", least=1
    )
    bootstrap: bool = flag(default=True, doc="Give each row in its leaf the weight max(1, Poisson(1)), as MOA does.")
    blend: bool = flag(
        default=True, doc="Alternates that have split vote too, each leaf weighted by 1 / error², as in MOA."
    )
    null_merit: Literal["zero", "moa"] = choice(
        default="moa", doc="Merit of not splitting: 0 (the paper), or minus infinity (MOA)."
    )

    def _extras(self) -> Extras:
        monitor = _adwin("drift", self.drift)
        own = (monitor.delta, self.switch_delta, self.min_rows, self.bootstrap, self.blend)
        row = adwin_jit.new_table(
            1, clock=int(monitor.clock), least_window=int(monitor.min_window), least_side=int(monitor.min_side),
            m=int(monitor.max_buckets), levels=LEVELS,
        )[0]  # fmt: skip
        return Extras(kind=ALTERNATES, bundle=Alternates, marks=2, pair=row, turns=3, rules=tuple(map(float, own)))

    def _start(self, schema: Schema) -> None:
        super()._start(schema)
        self._pool.marks[0] = 0.5, 1.0

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        extras = self._extras()
        pool = Pool.adopt(self._rules(), tables, schema, classes, trees=1, extras=extras)
        if not adwin_jit.could_be(pool.pairs, extras.pair):
            raise ValueError("its table 'pairs' holds what no ADWIN could")
        self._pool = pool

    @property
    def alternates(self) -> dict[str, int]:
        """How many alternate subtrees were started, have taken over, were dropped, and are growing now.

        The others went with a subtree that was replaced.

        Examples
        --------
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

    @property
    def n_drifts(self) -> int:
        """How often an alternate subtree has taken over."""
        return self.alternates["taken over"]

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
