"""A vote over any learners."""

from collections.abc import Sequence
from typing import final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows
from thalweg.core.inside import Inner, check_inner, take_after
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema


@final
class Vote(Classifier):
    """Each learner learns every row; the probabilities are averaged.

    Parameters
    ----------
    learners : Sequence[Classifier]
        One or more, of any kind; each joins with its parameters and as if it had seen nothing.
    weights : Sequence[float] | None
        How much each counts; None: all alike.

    Examples
    --------
    >>> from thalweg import SEA, HoeffdingTree, NaiveBayes, Vote
    >>> chunk = SEA(seed=1).read(5_000)
    >>> vote = Vote(learners=(HoeffdingTree(), NaiveBayes()))
    >>> proba = vote.test_then_train(chunk.X, chunk.y)
    >>> bool((vote.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    __slots__ = ("_inner",)

    def __init__(self, *, learners: Sequence[Classifier], weights: Sequence[float] | None = None) -> None:
        if isinstance(learners, (str, bytes)) or not isinstance(learners, Sequence) or not len(learners):
            raise TypeError(f"learners must be a list of learners, at least one, got {shown(learners)}")
        for learner in learners:
            check_inner("each of learners", learner)
        if weights is not None:
            if isinstance(weights, (str, bytes)) or not isinstance(weights, Sequence) or len(weights) != len(learners):
                raise ValueError(f"weights must be a number for each of {len(learners)} learners, got {shown(weights)}")
            for weight in weights:
                params.number("weights", weight, least=0)
            if not sum(weights) > 0:
                raise ValueError(f"weights must have a sum above 0, got {shown(weights)}")
        self.learners = learners
        self.weights = weights
        take_after(self, learners)

    @property
    def members(self) -> list[Classifier]:
        """The learners with what they know: each as a learner of its own, a copy."""
        if not self._started:
            return [learner.fresh() for learner in self.learners]
        return [inner.lend(self._labels).copy() for inner in self._inner]

    def _start(self, schema: Schema) -> None:
        self._inner = [Inner(learner.fresh(), schema) for learner in self.learners]

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        weights = [1.0] * len(self._inner) if self.weights is None else list(self.weights)
        for inner, weight in zip(self._inner, weights, strict=True):
            own = np.zeros_like(out)
            inner.play(X, y, w, events, own, known, self._labels)
            out += own * (weight / sum(weights))

    def _extend(self, schema: Schema) -> None:
        assert self._schema is not None
        before = {name: table.copy() for name, table in self._tables().items()}
        try:
            for inner in self._inner:
                inner.meet(schema)
        except Exception:  # one refuses: those before it must not have grown
            self._adopt(before, self._schema, len(self._labels))
            raise

    def _rehearse(self) -> None:
        for inner in self._inner:
            inner.rehearse(self._labels)

    def _tables(self) -> State:
        return {name: table for i, inner in enumerate(self._inner) for name, table in inner.tables(f"{i}").items()}

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        self._inner = [Inner.adopt(it.fresh(), f"{i}", tables, schema, classes) for i, it in enumerate(self.learners)]
