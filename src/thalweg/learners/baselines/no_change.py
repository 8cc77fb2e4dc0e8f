"""Predict the label that came last."""

from typing import final

import numpy as np

from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.learners.baselines.no_change_jit import Last, play


@final
class NoChange(Classifier):
    """Predict the previous label, whatever the record. Where labels come in runs this is hard to beat.

    Examples
    --------
    >>> NoChange().partial_fit([[0.0], [0.0]], ["up", "down"]).predict_one([7.0])
    'down'
    """

    missing = "native"
    bounded = True
    blind = True

    __slots__ = ("_last",)

    def _start(self, schema: Schema) -> None:
        self._last = np.full(1, -1, dtype=np.int64)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        play(self._last, y, events, out, known)

    def _tables(self) -> State:
        return {"last": self._last}

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        check(Last, tables, classes=classes)
        self._last = tables["last"]
