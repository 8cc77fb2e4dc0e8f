"""What the wrappers for rare classes share: one learner inside, and a few tables beside its own."""

from typing import ClassVar

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check, declared
from thalweg.core.door import Rows
from thalweg.core.fields import free
from thalweg.core.in_use import looks
from thalweg.core.inside import Inner, SeenThrough, check_inner, take_after
from thalweg.core.protocols import State
from thalweg.core.schema import Schema


class Around(SeenThrough, Classifier):
    """A learner that hands all rows on to another one, and changes their weights or its answers."""

    __slots__ = ("_inner", "_own")

    _bundle: ClassVar[type | None] = None
    """Declares the tables that the wrapper itself has."""

    learner: Classifier = free(
        doc="The learner inside: a fresh copy with the same parameters is used.", check=check_inner, kw_only=False
    )

    def _prepare(self) -> None:
        take_after(self, [self.learner])
        self.bounded = self.learner.bounded

    def _new_tables(self) -> State:
        """Make the wrapper's own tables, as they are before the first row."""
        return {}

    # -- what it is made of -------------------------------------------------------------------------------------------

    @property
    @looks
    def model(self) -> Classifier:
        """The learner inside with what it knows: a copy."""
        return self._inner.lend(self._labels).copy() if self._started else self.learner.fresh()

    def _telling(self) -> Classifier:
        return self._inner.lend(self._labels) if self._started else self.learner

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._inner, self._own = Inner(self.learner.fresh(), schema), self._new_tables()

    def _extend(self, schema: Schema) -> None:
        self._inner.meet(schema)

    def _rehearse(self) -> None:
        self._inner.rehearse(self._labels)

    def _tables(self) -> State:
        return self._inner.tables("learner") | self._own

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        own = {} if self._bundle is None else {name: tables[name] for name in declared(self._bundle)}
        if self._bundle is not None:
            check(self._bundle, own, classes=classes)
        self._inner, self._own = Inner.adopt(self.learner.fresh(), "learner", tables, schema, classes), own

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return self._inner.state_bytes + sum(t.nbytes for t in self._own.values()) if self._started else 0

    def _widen(self, name: str, classes: int) -> None:
        """Make room for more classes in one of the wrapper's own tables."""
        more = classes - len(self._own[name])
        if more > 0:
            self._own[name] = np.concatenate([self._own[name], np.zeros(more, dtype=self._own[name].dtype)])

    def _hand_on(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Let the learner inside carry out the events."""
        self._inner.play(X, y, w, events, out, known, self._labels)
