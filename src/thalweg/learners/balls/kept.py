"""What learners share that keep some of the rows, in the scale in which they came, and never move them."""

from typing import Any, ClassVar

from thalweg.core.classifier import Classifier
from thalweg.core.declared import check, declared, fresh
from thalweg.core.fields import whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.compile import plain
from thalweg.learners.balls.cover import Scaled
from thalweg.learners.balls.kept_jit import F_SIZE
from thalweg.learners.balls.scaling_jit import SCALES, new_spans


class KeptRows(Scaled, Classifier):
    """Up to ``max_rows`` rows in tiles (see tiles_jit.py); then each new one takes the place of another."""

    max_rows: int = whole(
        default=1000,
        doc="Rows that are kept at most; then a new one takes the place of another.",
        least=1,
        most=100_000_000,
    )

    bounded = True
    bundle: ClassVar[Any]
    """The tables that the compiled code takes: the state, and which features are nominal."""

    __slots__ = ("_kept", "_state")

    @property
    def n_rows(self) -> int:
        """Rows that are kept."""
        return int(self._state["head"][F_SIZE]) if self._started else 0

    def _fresh(self, schema: Schema) -> State:
        """Make the tables of a learner that keeps nothing."""
        d = schema.n_features
        return fresh(self.bundle, N=self.max_rows, d=d) | {"spans": new_spans(d)}

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema), schema)

    def _extend(self, schema: Schema) -> None:
        wider, state, d = self._fresh(schema), dict(self._state), self._state["tiles"].shape[1]
        if schema.n_features == d:  # values of nominal features only
            return
        for name in ("tiles", "spans"):
            wider[name][:, :d] = state[name]
            state[name] = wider[name]
        self._take(state, schema)

    def _tables(self) -> State:
        return self._state

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        wanted = {name: tables[name] for name in declared(self.bundle)}
        check(self.bundle, wanted, N=self.max_rows, d=schema.n_features, classes=classes)
        self._take(wanted, schema)

    def _take(self, tables: State, schema: Schema) -> None:
        self._state, self._kept = tables, plain(self.bundle(**tables, nominal=schema.nominal))

    @property
    def _kind(self) -> int:
        return SCALES[self.scale]
