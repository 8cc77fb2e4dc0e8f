"""What learners share that keep some of the rows, in the scale in which they came, and never move them."""

from abc import abstractmethod

import numpy as np

from thalweg.core.classifier import Classifier
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.balls import ball_cover_jit as scales_jit
from thalweg.learners.balls.ball_cover import SCALES
from thalweg.learners.balls.ball_index_jit import LANES

_SIZE = 0  # of the table "head": rows that are kept; the place of the next comes after it


class KeptRows(Classifier):
    """Up to ``max_rows`` rows in tiles (see tiles_jit.py); then each new one takes the place of another."""

    bounded = True

    __slots__ = ("_nominal", "_rules", "_state")

    max_rows: int
    scale: str | None

    @property
    def n_rows(self) -> int:
        """Rows that are kept."""
        return int(self._state["head"][_SIZE]) if self._started else 0

    @abstractmethod
    def _fresh(self, schema: Schema) -> State:
        """Make the tables of a learner that keeps nothing, in the order in which the compiled code takes them."""

    def _shared(self, schema: Schema) -> tuple[State, State]:
        """Make the tables that all of them have: of the rows, and of the scale."""
        d = schema.n_features
        spans = np.zeros((scales_jit.SPANS, d))
        spans[scales_jit.LEAST], spans[scales_jit.GREATEST] = np.inf, -np.inf
        return {"tiles": np.zeros((-(-self.max_rows // LANES), d, LANES))}, {"spans": spans}

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema), schema)

    def _extend(self, schema: Schema) -> None:
        d = len(self._nominal)
        if schema.n_features == d:  # values of nominal features only
            return
        fresh, state = self._fresh(schema), dict(self._state)
        for name in ("tiles", "spans"):
            fresh[name][:, :d] = state[name]
            state[name] = fresh[name]
        self._take(state, schema)

    def _tables(self) -> State:
        return self._state

    def _adopt(self, tables: State, schema: Schema) -> None:
        fresh = self._fresh(schema)
        wanted = {name: tables[name] for name in fresh}
        for name, like in fresh.items():
            given = wanted[name]
            if given.dtype != like.dtype or given.shape != like.shape or not given.flags.c_contiguous:
                raise ValueError(f"its table {name!r} has another type or shape")
        n, place = wanted["head"].tolist()
        if not (0 <= n <= self.max_rows and 0 <= place < self.max_rows and (place == n or n == self.max_rows)):
            raise ValueError("its table 'head' holds what no learner could")
        for name, table in wanted.items():
            codes = name in ("codes", "sides")
            if (codes and (table < 0).any()) or (name != "spans" and not np.isfinite(table).all()):
                raise ValueError(f"its table {name!r} holds what no learner could")
        self._take(wanted, schema)

    def _take(self, tables: State, schema: Schema) -> None:
        self._state = tables
        self._nominal = np.array([f.nominal for f in schema.features], dtype=np.int64)
        self._rules = np.zeros(scales_jit.RULES, dtype=np.int64)
        self._rules[scales_jit.SCALE] = SCALES[self.scale]
