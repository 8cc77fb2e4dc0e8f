"""Nearest neighbours among the rows that were mistakes."""

from typing import Any, Literal, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.balls import condensed_knn_jit as o
from thalweg.learners.balls.ball_index_jit import LANES
from thalweg.learners.balls.kept import KeptRows

_play: Any = o.play


@final
class CondensedKNN(KeptRows):
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

    __slots__ = ()

    def __init__(
        self, *, k: int = 1, max_rows: int = 1000, scale: Literal["online", "minmax"] | None = "online"
    ) -> None:
        params.whole("k", k, least=1, most=1_000_000)
        params.whole("max_rows", max_rows, least=1, most=100_000_000)
        params.choice("scale", scale, ("online", "minmax", None))
        self.k = k
        self.max_rows = max_rows
        self.scale = scale

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _fresh(self, schema: Schema) -> State:
        n, (rows, scale) = self.max_rows, self._shared(schema)
        return {
            **rows, "codes": np.zeros(n, dtype=np.int64), "voices": np.zeros(n),
            "head": np.zeros(o.HEAD, dtype=np.int64), **scale,
        }  # fmt: skip

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        d, n, routine = len(self._nominal), self._state["tiles"].shape[0] * LANES, _play
        top, said = np.zeros(min(self.k, self.max_rows), dtype=np.int64), np.zeros(max(1, out.shape[1]))
        notes = np.array([known, -1, 0], dtype=np.int64)
        routine(*self._state.values(), self._nominal, self._rules, np.zeros(d), np.zeros(n), top, said, notes,
                X, y, w, events, out)  # fmt: skip
