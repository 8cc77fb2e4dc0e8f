"""Nearest neighbours among the rows that were mistakes."""

from typing import Any, Literal, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.neighbours import ball_cover_jit as scales_jit
from thalweg.neighbours import condensed_knn_jit as o
from thalweg.neighbours.ball_cover import SCALES
from thalweg.neighbours.ball_index_jit import LANES

_play: Any = o.play


@final
class CondensedKNN(Classifier):
    """Ask the k nearest of the rows kept; keep a row if they are wrong about it.

    k: neighbours that vote, each with the weight of its row. max_rows: rows that are kept at most; then a new one takes
    the place of the oldest. scale: "online": rows are standardised with mean and deviation of the rows so far, and kept
    within ± 10; "minmax": to the range so far; None: not at all. Rows stay in the scale in which they came.

    Distances are Euclidean; nominal values differ by 1 or not at all; the oldest row comes first among equals. Missing
    values are refused.

    Reference: P. Hart, "The condensed nearest neighbor rule", IEEE Transactions on Information Theory 14, 1968 (there
    with several passes over the data, here with one).

    >>> from thalweg import Sine
    >>> chunk = Sine(irrelevant=False, seed=1).read(5_000)
    >>> learner = CondensedKNN(max_rows=500)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.93), learner.n_rows < 400
    (True, True)
    """

    bounded = True

    __slots__ = ("_nominal", "_rules", "_state")

    def __init__(
        self, *, k: int = 1, max_rows: int = 1000, scale: Literal["online", "minmax"] | None = "online"
    ) -> None:
        params.whole("k", k, least=1, most=1_000_000)
        params.whole("max_rows", max_rows, least=1, most=100_000_000)
        if scale is not None and not (isinstance(scale, str) and scale in SCALES):
            raise ValueError(f"scale must be one of 'online', 'minmax', None, got {shown(scale)}")
        self.k = k
        self.max_rows = max_rows
        self.scale = scale

    @property
    def n_rows(self) -> int:
        """Rows that are kept."""
        return int(self._state["head"][o.SIZE]) if self._started else 0

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        self._take(self._fresh(schema), schema)

    def _fresh(self, schema: Schema) -> State:
        d, n = schema.n_features, self.max_rows
        spans = np.zeros((scales_jit.SPANS, d))
        spans[scales_jit.LEAST], spans[scales_jit.GREATEST] = np.inf, -np.inf
        return {
            "tiles": np.zeros((-(-n // LANES), d, LANES)), "codes": np.zeros(n, dtype=np.int64), "voices": np.zeros(n),
            "head": np.zeros(o.HEAD, dtype=np.int64), "spans": spans,
        }  # fmt: skip

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        d, n, routine = len(self._nominal), self._state["tiles"].shape[0] * LANES, _play
        top, said = np.zeros(min(self.k, self.max_rows), dtype=np.int64), np.zeros(max(1, len(self._labels)))
        notes = np.array([known, -1, 0], dtype=np.int64)
        routine(*self._state.values(), self._nominal, self._rules, np.zeros(d), np.zeros(n), top, said, notes,
                X, y, w, events, out)  # fmt: skip

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
        if (wanted["codes"] < 0).any():
            raise ValueError("its table 'codes' holds what no learner could")
        if not (np.isfinite(wanted["tiles"]).all() and np.isfinite(wanted["voices"]).all()):
            raise ValueError("its table 'tiles' holds what no learner could")
        self._take(wanted, schema)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _take(self, tables: State, schema: Schema) -> None:
        self._state = tables
        self._nominal = np.array([f.nominal for f in schema.features], dtype=np.int64)
        self._rules = np.zeros(scales_jit.RULES, dtype=np.int64)
        self._rules[scales_jit.SCALE] = SCALES[self.scale]
