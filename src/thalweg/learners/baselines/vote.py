"""A vote over any learners."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
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
            if not isinstance(learner, Classifier):
                raise TypeError(f"learners must be learners, got {shown(learner)}")
        if weights is not None:
            if isinstance(weights, (str, bytes)) or not isinstance(weights, Sequence) or len(weights) != len(learners):
                raise ValueError(f"weights must be a number for each of {len(learners)} learners, got {shown(weights)}")
            for weight in weights:
                params.number("weights", weight, least=0)
            if not sum(weights) > 0:
                raise ValueError(f"weights must have a sum above 0, got {shown(weights)}")
        self.learners = learners
        self.weights = weights
        self.missing = "native" if all(learner.missing == "native" for learner in learners) else "reject"

    @property
    def members(self) -> list[Classifier]:
        """The learners with what they know: each as a learner of its own, a copy."""
        if not self._started:
            return [_fresh(learner) for learner in self.learners]
        return [_with(inner.copy(), self) for inner in self._inner]

    def _start(self, schema: Schema) -> None:
        inner = [_fresh(learner) for learner in self.learners]
        for learner in inner:
            learner._meet(schema)
        self._inner = inner

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        weights = [1.0] * len(self._inner) if self.weights is None else list(self.weights)
        for learner, weight in zip(self._inner, weights, strict=True):
            own = np.zeros_like(out)
            learner._labels = self._labels  # some size their tables by them
            learner._play(X, y, w, events, own, known)
            out += own * (weight / sum(weights))

    def _extend(self, schema: Schema) -> None:
        for learner in self._inner:
            learner._meet(schema)

    def _rehearse(self) -> None:
        for learner in self._inner:
            learner._rehearse()

    def _tables(self) -> State:
        return {f"{i}.{name}": t for i, learner in enumerate(self._inner) for name, t in learner._tables().items()}

    def _adopt(self, tables: State, schema: Schema) -> None:
        inner = [_fresh(learner) for learner in self.learners]
        for i, learner in enumerate(inner):
            own = {name.partition(".")[2]: t for name, t in tables.items() if name.partition(".")[0] == str(i)}
            if not own:
                raise KeyError(f"tables of learner {i}")
            learner._settle(learner._labels, schema, own)
        self._inner = inner


def _fresh(learner: Classifier) -> Classifier:
    return type(learner)(**learner.get_params(deep=False))


def _with(learner: Any, vote: Vote) -> Classifier:
    """Give a member the labels that the vote knows: inside it works on their codes alone."""
    learner._labels = vote._labels.copy()
    return learner  # type: ignore[no-any-return]
