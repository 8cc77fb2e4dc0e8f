"""Decisions that cost the least, where mistakes cost differently."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.door import Rows
from thalweg.core.fields import free
from thalweg.core.params import shown
from thalweg.learners.rare.around import Around


def _check_costs(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not value:
        raise TypeError(
            f"{name} must be a dict such as {{('yes', 'no'): 10}}, cost by (label, guess), got {shown(value)}"
        )
    for pair, cost in value.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"{name} must have pairs (label, guess) as keys, got {shown(pair)}")
        params.number(f"{name}[{shown(pair)}]", cost, least=0)


@final
class CostSensitive(Around):
    """A learner that says the label whose expected cost is the lowest, in place of the most probable one.

    Costs are given for pairs (label, guess). A pair that is not named costs 1, and a right answer nothing.

    ``predict`` follows the costs, and so does whatever takes the most probable class. Hence ``predict_proba`` gives for
    each class, in place of its probability, how much saying it is expected to save against the costliest guess, as a
    share of the sum: with two classes the odds are multiplied by the ratio of the costs. The order of records by score
    stays, and so do AUC and PR-AUC; calibration does not. ``model.predict_proba`` gives the probabilities themselves.

    Examples
    --------
    >>> from thalweg import CostSensitive, MajorityClass
    >>> X, y = [[0.0]] * 10, ["no"] * 9 + ["yes"]
    >>> MajorityClass().partial_fit(X, y).predict_one([0.0])
    'no'
    >>> learner = CostSensitive(MajorityClass(), costs={("yes", "no"): 20}).partial_fit(X, y)
    >>> learner.predict_one([0.0])
    'yes'
    """

    __slots__ = ()

    costs: Mapping[tuple[Any, Any], float] = free(
        doc="What a mistake costs, by (label, guess); pairs that are not named cost 1.", check=_check_costs
    )

    def _savings(self, known: int) -> Floats:
        """Give for each label (row) and guess (column) among the first classes what the guess saves."""
        labels = self._labels.values[:known]
        assert len(labels) == known, "whoever holds this learner must lend it the labels"
        costs = np.array(
            [[float(self.costs.get((true, guess), float(true != guess))) for guess in labels] for true in labels]
        )
        savings: Floats = costs.max(axis=1, keepdims=True, initial=0.0) - costs
        return savings

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        self._hand_on(X, y, w, events, out, known)
        predicted = events >= 0
        if not predicted.any():
            return
        then = np.full(len(events), known)  # classes known at each event
        then[~predicted] = y[~events[~predicted]] + 1
        then = np.maximum.accumulate(np.maximum(then, known))
        at = np.zeros(X.shape[0], dtype=np.int64)
        at[events[predicted]] = then[predicted]  # of a row that is predicted twice the last answer stays
        for classes in np.unique(at[at > 0]).tolist():
            self._decide(out, np.flatnonzero(at == classes), classes)

    def _decide(self, out: Floats, rows: Ints, classes: int) -> None:
        savings, proba = self._savings(classes), out[rows]
        saved = np.zeros_like(proba)
        for c in range(classes):  # no product of matrices: its last bits depend on how many rows there are
            saved[:, :classes] += proba[:, c : c + 1] * savings[c]
        total = sum((saved[:, c : c + 1] for c in range(1, classes)), saved[:, :1])  # in this order, likewise
        out[rows] = np.where(total > 0.0, saved / np.where(total > 0.0, total, 1.0), proba)
