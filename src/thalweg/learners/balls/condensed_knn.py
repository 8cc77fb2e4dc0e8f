"""Nearest neighbours among the rows that were mistakes."""

from typing import final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.fields import again, whole
from thalweg.learners.balls import condensed_knn_jit as o
from thalweg.learners.balls.kept import KeptRows
from thalweg.learners.balls.kept_jit import O_COLUMNS, O_KNOWN, O_ROW
from thalweg.learners.balls.tiles_jit import LANES


@final
class CondensedKNN(KeptRows):
    """Ask the k nearest of the rows kept; keep a row if they are wrong about it.

    Distances are Euclidean; nominal values differ by 1 or not at all; the oldest row comes first among equals. Missing
    values are refused.

    References
    ----------
    P. Hart, "The condensed nearest neighbor rule", IEEE Transactions on Information Theory 14, 1968 (there with
    several passes over the data, here with one).

    Examples
    --------
    >>> from thalweg import Sine
    >>> chunk = Sine(irrelevant=False, seed=1).read(5_000)
    >>> learner = CondensedKNN(max_rows=500)
    >>> proba = learner.test_then_train(chunk.X, chunk.y)
    >>> bool((learner.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.93), learner.n_rows < 400
    (True, True)
    """

    k: int = whole(default=1, doc="Neighbours that vote, each with the weight of its row.", least=1, most=1_000_000)
    max_rows: int = again(default=1000, doc="Rows that are kept at most; then a new one takes the place of the oldest.")

    bundle = o.Kept

    __slots__ = ()

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        classes = max(1, out.shape[1])
        floats = np.zeros(len(self._state["tiles"]) * LANES + X.shape[1] + classes)
        ints = np.zeros(O_COLUMNS + min(self.k, self.max_rows), dtype=np.int64)
        ints[O_KNOWN], ints[O_ROW] = known, -1
        o.play(self._kept, floats, ints, self._kind, X, y, w, events, out)
