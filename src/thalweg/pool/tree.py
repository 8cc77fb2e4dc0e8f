"""What all learners that are one tree share: a pool of one, and the compiled routine that plays it."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.task import OneRoutine
from thalweg.jit.random import seeded
from thalweg.pool.extras import NO_EXTRAS, Extras
from thalweg.pool.importances import WithImportances, split_gains
from thalweg.pool.pool import Pool, Routine
from thalweg.pool.rules import Rules
from thalweg.pool.tree_row import TreeRow


class Tree(Classifier):
    """A learner that is one tree. It says which routine plays it, and what it has beyond a plain tree."""

    missing = "native"
    bounded = True

    __slots__ = ("_pool", "_spare")

    _routine: ClassVar[Routine]
    """The compiled loop over events."""

    @abstractmethod
    def _rules(self) -> Rules:
        """How the tree grows."""

    def _extras(self) -> Extras:
        return NO_EXTRAS

    def _start(self, schema: Schema) -> None:
        self._pool = Pool(
            self._rules(), schema, trees=1, rng=seeded(self.get_params().get("seed", 0)), extras=self._extras()
        )
        self._spare: list[TreeRow] = []

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(events) == len(X) == 1 and not self._pool.linked:
            spare = self._spare  # of threads at once each has one
            one = spare.pop() if spare else TreeRow(self._pool, self._routine)
            if one.play(X, y, w, events.item(0) < 0, out, known):
                spare.append(one)
                return
        self._pool.play(self._routine, X, y, w, events, out, known)

    def _as_routine(self, X: Floats) -> OneRoutine:
        pool = self._pool
        return OneRoutine(
            self._routine, X, lambda: ((pool.bundle, pool.linked), (pool.new_work(),)), pool.make_room
        )  # fmt: skip

    def _extend(self, schema: Schema) -> None:
        self._pool.extend(schema)

    def _rehearse(self) -> None:
        self._pool.rehearse()
        if isinstance(self, WithImportances):
            self._gains()

    def _tables(self) -> State:
        return self._pool.tables()

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        self._pool = Pool.adopt(self._rules(), tables, schema, classes, trees=1, extras=self._extras())
        self._spare = []


class Splitting(WithImportances):
    """What a tree that grows has beside others: features matter to it."""

    __slots__ = ()
    _pool: Pool
    _started: bool

    def _gains(self) -> Floats:
        if not self._started or self._schema is None:
            raise ValueError("the tree has not seen a row yet: nothing to look at")
        return split_gains(self._pool.nodes, self._pool.tally, np.zeros(1, dtype=np.int64), self._schema.n_features)
