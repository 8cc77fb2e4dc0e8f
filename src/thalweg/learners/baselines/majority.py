"""Predict the class that has been most frequent so far."""

from typing import final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.baselines.majority_jit import Counts, play


@final
class MajorityClass(Classifier):
    """Predict the class shares seen so far, whatever the record.

    Examples
    --------
    >>> MajorityClass().partial_fit([[0.0], [0.0], [0.0]], ["a", "b", "b"]).predict_one([7.0])
    'b'
    """

    missing = "native"
    bounded = True
    blind = True

    __slots__ = ("_counts",)

    def _start(self, schema: Schema) -> None:
        self._counts = np.zeros(0)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(self._counts) < out.shape[1]:
            self._counts = np.pad(self._counts, (0, out.shape[1] - len(self._counts)))
        play(self._counts, y, w, events, out, known)

    def _tables(self) -> State:
        return {"counts": self._counts}

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        check(Counts, tables, most={"n": classes})
        self._counts = tables["counts"]
