"""Learners that take tensors by blocks: each tensor is predicted, and then learned if it is to be learned."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from thalweg.core.classifier import Floats, Ints
from thalweg.core.door import Rows
from thalweg.core.steps import unroll
from thalweg.learners.tensors.tensor_learner import TensorClassifier
from thalweg.tensors.forms import Tensors

BLOCK = 256
"""So many events go together, at most. It changes nothing but the time."""
NOTHING, WEIGHTLESS = np.zeros(0, dtype=np.int64), np.zeros(0)
"""Labels and weights of tensors that are only predicted."""


class BlockClassifier(TensorClassifier):
    """Writes ``_play`` for learners that have ``_play_block``, and ``_seen``, the weight of each class so far."""

    _seen: Floats

    __slots__ = ()

    @abstractmethod
    def _play_block(self, X: Tensors, y: Ints, w: Floats, learned: NDArray[np.bool_], said: Floats, known: int) -> int:
        """Predict each tensor; learn it right then if it is to be learned. Gives how many classes are known then.

        y, w: empty where nothing is to be learned.
        """

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(self._seen) < out.shape[1]:
            self._seen = np.pad(self._seen, (0, out.shape[1] - len(self._seen)))
        for first in range(0, len(events), BLOCK):
            rows, order, asked = unroll(events[first : first + BLOCK])
            learned = np.zeros(len(rows), dtype=np.bool_)
            learned[~order[order < 0]] = True
            said = np.zeros((len(rows), out.shape[1]))
            codes, weights = (y[rows], w[rows]) if learned.any() else (NOTHING, WEIGHTLESS)
            known = self._play_block(self._tensors(X[rows]), codes, weights, learned, said, known)
            if len(asked):
                out[rows[asked]] = said[asked]


def shares(seen: Floats) -> Floats:
    """Give the shares of the classes; all the same before the first.

    >>> shares(np.array([1.0, 3.0])).tolist(), shares(np.zeros(2)).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    total = float(seen.sum())
    return seen / total if total > 0.0 else np.full(len(seen), 1.0 / max(1, len(seen)))
