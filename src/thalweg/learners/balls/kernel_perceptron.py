"""A perceptron with a Gaussian that keeps a bounded number of rows."""

from typing import Literal, final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.fields import again, choice, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.learners.balls import kernel_perceptron_jit as o
from thalweg.learners.balls.kept import KeptRows
from thalweg.learners.balls.kept_jit import O_COLUMNS, O_KNOWN, O_ROW
from thalweg.learners.balls.tiles_jit import LANES


@final
class KernelPerceptron(KeptRows):
    """Keep a row if the sum was wrong about it: near it, it speaks for its class and against the one that was said.

    Before the first mistake the class that came first is said. Distances are Euclidean; nominal values differ by 1 or
    not at all. ``predict_proba`` is the softmax of the sums: its order counts, not its size. Missing values are
    refused.

    References
    ----------
    G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the best hyperplane with a simple budget perceptron", Machine
    Learning 69, 2007 (discard by chance); multi-class by the two classes of a mistake.

    Examples
    --------
    >>> from thalweg import Sine
    >>> chunk = Sine(seed=1).read(5_000)
    >>> learner = KernelPerceptron(max_rows=500)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.95), learner.n_rows < 300
    (True, True)
    """

    max_rows: int = again(default=1000)
    discard: Literal["oldest", "random"] = choice(
        default="oldest", doc='The row whose place a new one then takes: the "oldest", or any ("random").'
    )
    width: float | None = number(
        default=None,
        doc="s of the Gaussian exp(-distance² / s); None: the mean squared distance from the rows so far to those "
        "kept.",
        above=0.0,
        most=1e100,
    )
    seed: int = whole(default=1, doc="Random seed.", least=0)

    bundle = o.Kept

    __slots__ = ()

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _fresh(self, schema: Schema) -> State:
        return super()._fresh(schema) | {"seeds": seeded(self.seed)}

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        classes = max(1, out.shape[1])
        floats = np.zeros(3 * len(self._state["tiles"]) * LANES + X.shape[1] + classes)
        notes = np.zeros(O_COLUMNS, dtype=np.int64)
        notes[O_KNOWN], notes[O_ROW] = known, -1
        o.play(
            self._kept, floats, floats.view(np.int64), notes, float(self.width or 0.0), self.discard == "random",
            self._kind, X, y, w, events, out,
        )  # fmt: skip
