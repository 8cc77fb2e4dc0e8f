"""Naive Bayes: each class has its own distribution of every feature, taken to be independent."""

import math
from typing import final

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.trees.hoeffding_jit import play
from thalweg.trees.pool import Pool, Rules

_NEVER_SPLIT = Rules(grace_period=math.inf, leaf="bayes")


@final
class NaiveBayes(Classifier):
    """A tree that never splits: Gaussians for numbers, smoothed counts for nominal values, worked in logarithms.

    >>> X = [[1.0], [1.2], [5.0], [5.1]]
    >>> NaiveBayes().partial_fit(X, ["low", "low", "high", "high"]).predict_one([4.8])
    'high'
    """

    missing = "native"
    bounded = True

    __slots__ = ("_pool",)

    def _start(self, schema: Schema) -> None:
        self._pool = Pool(_NEVER_SPLIT, schema, trees=1, rng=seeded(0))

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        self._pool.play(play, X, y, w, events, out, known)

    def _extend(self, schema: Schema) -> None:
        self._pool.extend(schema)

    def _rehearse(self) -> None:
        self._pool.rehearse()

    def _tables(self) -> State:
        return self._pool.tables()

    def _adopt(self, tables: State, schema: Schema) -> None:
        self._pool = Pool.adopt(_NEVER_SPLIT, tables, schema, trees=1)
