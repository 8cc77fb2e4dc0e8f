"""A perceptron with a Gaussian that keeps a bounded number of rows."""

from typing import Any, Literal, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.learners.balls import kernel_perceptron_jit as o
from thalweg.learners.balls.ball_index_jit import LANES
from thalweg.learners.balls.kept import KeptRows

_play: Any = o.play


@final
class KernelPerceptron(KeptRows):
    """Keep a row if the sum was wrong about it: near it, it speaks for its class and against the one that was said.

    max_rows: rows that are kept at most. discard: the row whose place a new one then takes: the "oldest", or any
    ("random"). width: s of the Gaussian exp(-distance² / s); None: the mean squared distance from the rows so far to
    those kept. scale: "online": rows are standardised with mean and deviation of the rows so far, and kept within ± 10;
    "minmax": to the range so far; None: not at all. Rows stay in the scale in which they came. seed: of the draws.

    Before the first mistake the class that came first is said. Distances are Euclidean; nominal values differ by 1 or
    not at all. ``predict_proba`` is the softmax of the sums: its order counts, not its size. Missing values are
    refused.

    Reference: G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the best hyperplane with a simple budget
    perceptron", Machine Learning 69, 2007 (discard by chance); multi-class by the two classes of a mistake.

    >>> from thalweg import Sine
    >>> chunk = Sine(seed=1).read(5_000)
    >>> learner = KernelPerceptron(max_rows=500)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.95), learner.n_rows < 300
    (True, True)
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        max_rows: int = 1000,
        discard: Literal["oldest", "random"] = "oldest",
        width: float | None = None,
        scale: Literal["online", "minmax"] | None = "online",
        seed: int = 1,
    ) -> None:
        params.whole("max_rows", max_rows, least=1, most=100_000_000)
        params.choice("discard", discard, ("oldest", "random"))
        if width is not None:
            params.number("width", width, above=0.0, most=1e100)
        params.choice("scale", scale, ("online", "minmax", None))
        params.whole("seed", seed, least=0)
        self.max_rows = max_rows
        self.discard = discard
        self.width = width
        self.scale = scale
        self.seed = seed

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _fresh(self, schema: Schema) -> State:
        n, (rows, scale) = self.max_rows, self._shared(schema)
        return {
            **rows, "sides": np.zeros((n, 2), dtype=np.int64),
            "voices": np.zeros(n), "head": np.zeros(o.HEAD, dtype=np.int64), "gauge": np.zeros(o.GAUGE),
            **scale, "seeds": seeded(self.seed),
        }  # fmt: skip

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        d, n, routine = len(self._nominal), self._state["tiles"].shape[0] * LANES, _play
        near, whole, says = np.zeros(n), np.zeros(n), np.zeros(max(1, out.shape[1]))
        notes = np.array([known, -1, 0], dtype=np.int64)
        routine(*self._state.values(), self._nominal, self._rules, np.zeros(d), np.zeros(n), near, near.view(np.int64),
                whole, whole.view(np.int64), says, notes, X, y, w, events, out, float(self.width or 0.0),
                int(self.discard == "random"))  # fmt: skip
