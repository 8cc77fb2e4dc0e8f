"""The verbs of whatever answers: a learner, a frozen forest, a predictor of published versions."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.labels import Labels
from thalweg.core.schema import Schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Answering(ABC):
    """Says of records how probable each label is, and which is the most probable.

    Whoever answers writes ``_proba`` and ``_known``. Labels come with the probabilities, so that an answer is of one
    model even where another takes its place meanwhile.
    """

    __slots__ = ()

    @abstractmethod
    def _proba(self, x: Any, one: bool) -> tuple[Floats, Labels]:
        """Let rows, or one record, pass the door; give their probabilities, and the labels of the columns."""

    @abstractmethod
    def _known(self) -> tuple[Labels, Schema | None]:
        """Give the labels and the features that are known now."""

    def _winner(self, x: Any, one: bool) -> tuple[Ints, Labels]:
        """Give the code of each row's most probable label (the first among equals), and the labels, if there are."""
        proba, labels = self._proba(x, one)
        return (proba.argmax(axis=1) if proba.shape[1] else np.zeros(len(proba), dtype=np.int64)), labels

    def predict_proba(self, X: Any) -> Floats:
        """Give each row's probability of each class in ``classes_``. Changes nothing."""
        return self._proba(X, False)[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Give each row's most probable label (the first in ``classes_`` among equals; None before any label)."""
        codes, labels = self._winner(X, False)
        return np.asarray(labels.to_array()[codes]) if len(labels) else np.full(len(codes), None, dtype=object)

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Give the probability of each class for one record: a dict by feature name, or a row. Changes nothing."""
        proba, labels = self._proba(x, True)
        return dict(zip(labels.values, proba[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Give the most probable label of one record; None before any label is known. Changes nothing."""
        codes, labels = self._winner(x, True)
        values = labels.values
        return values[codes[0]] if values else None

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels known so far, in the order of the columns of ``predict_proba``."""
        return self._known()[0].to_array()

    @property
    def schema(self) -> Schema | None:
        """The features, once they are known."""
        return self._known()[1]
