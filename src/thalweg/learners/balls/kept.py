"""What learners share that keep some of the rows, in the scale in which they came, and never move them."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from thalweg.core.classifier import Classifier
from thalweg.core.fields import whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import refuse_misfits
from thalweg.jit.compile import plain
from thalweg.learners.balls.cover import Scaled
from thalweg.learners.balls.kept_jit import F_COLUMNS, F_SIZE
from thalweg.learners.balls.scaling_jit import SCALES, new_spans
from thalweg.learners.balls.tiles_jit import LANES


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
    """The tables that the compiled code takes: those of ``_fresh``, and which features are nominal."""

    __slots__ = ("_kept", "_state")

    @property
    def n_rows(self) -> int:
        """Rows that are kept."""
        return int(self._state["head"][F_SIZE]) if self._started else 0

    @abstractmethod
    def _fresh(self, schema: Schema) -> State:
        """Make the tables of a learner that keeps nothing."""

    def _shared(self, schema: Schema) -> State:
        """Make the tables that all of them have."""
        n, d = self.max_rows, schema.n_features
        return {
            "tiles": np.zeros((-(-n // LANES), d, LANES)), "voices": np.zeros(n),
            "head": np.zeros(F_COLUMNS, dtype=np.int64), "spans": new_spans(d),
        }  # fmt: skip

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema), schema)

    def _extend(self, schema: Schema) -> None:
        fresh, state, d = self._fresh(schema), dict(self._state), self._state["tiles"].shape[1]
        if schema.n_features == d:  # values of nominal features only
            return
        for name in ("tiles", "spans"):
            fresh[name][:, :d] = state[name]
            state[name] = fresh[name]
        self._take(state, schema)

    def _tables(self) -> State:
        return self._state

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        fresh = self._fresh(schema)
        wanted = {name: tables[name] for name in fresh}
        refuse_misfits(wanted, fresh)
        n, place = wanted["head"].tolist()
        if not (0 <= n <= self.max_rows and 0 <= place < self.max_rows and (place == n or n == self.max_rows)):
            raise ValueError("its table 'head' holds what no learner could")
        for name, table in wanted.items():
            codes = name in ("codes", "sides")
            if (codes and (table < 0).any()) or (name != "spans" and not np.isfinite(table).all()):
                raise ValueError(f"its table {name!r} holds what no learner could")
        self._take(wanted, schema)

    def _take(self, tables: State, schema: Schema) -> None:
        self._state, self._kept = tables, plain(self.bundle(**tables, nominal=schema.nominal))

    @property
    def _kind(self) -> int:
        return SCALES[self.scale]
