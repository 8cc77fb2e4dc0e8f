"""The metrics: each is a function of what was counted, or of the rows in the window. The registry gives them names."""

import math
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.evaluate.metrics_jit import SCORES, TALLIES, outranks, tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@final
class Counts(NamedTuple):
    """What was counted over rows; a metric is a function of it. All numbers are weights: without weights, rows.

    >>> counts = count(np.array([[0.0, 3.0, 1.0], [0.0, 2.0, 4.0]]), np.array([10.0, 5.0, 6.0, 4.0]))
    >>> counts.right, accuracy(counts)
    (7.0, 0.7)
    """

    table: Floats
    """By class (row) and prediction: column 0 none, column c + 1 class c; see ``confusion``."""
    weight: float
    """All rows."""
    loss: float
    """The sum of -ln(probability given to the true class)."""
    no_change_right: float
    """What the previous label would have got right."""
    majority_right: float
    """What the majority class so far would have got right."""
    right: float
    """What was predicted right."""
    chance: float
    """Share that the class shares alone would get right."""
    f1: float
    """Sum of F1 over the classes that occur or are predicted."""
    named: float
    """How many classes occur or are predicted."""
    recalls: float
    """Sum of the recalls of the classes that occur."""
    present: float
    """How many classes occur."""
    log_recalls: float
    """Sum of ln(recall) over the classes with a recall above 0."""
    missed: float
    """Does a class occur whose recall is 0? 1 or 0."""

    @property
    def confusion(self) -> Floats:
        """Weight of the rows of each class (row) by the class predicted (column)."""
        return self.table[:, 1:]


@final
class Window(NamedTuple):
    """The rows in the window; a metric may be a function of them, too."""

    ring: Floats
    """As ``metrics_jit`` has it, in no order."""

    @property
    def y(self) -> Ints:
        """The class of each row."""
        return self.ring[:, 0].astype(np.int64)

    @property
    def predicted(self) -> Ints:
        """The class predicted for each row; -1: none."""
        return self.ring[:, 1].astype(np.int64)

    @property
    def weight(self) -> Floats:
        """The weight of each row."""
        return self.ring[:, 2].copy()

    @property
    def scores(self) -> Floats:
        """The probability of each class (column) in each row."""
        return self.ring[:, SCORES:]


def count(table: Floats, sums: Floats) -> Counts:
    """Add up what the metrics need."""
    values = np.empty(TALLIES)
    tally(table, sums, values)
    return Counts(table, *sums.tolist(), *values.tolist())


def agreement(accuracy: float, chance: float) -> float:
    """How much of what chance (or a simple rule) left wrong is right: a kappa."""
    if chance < 1.0:
        return (accuracy - chance) / (1.0 - chance)
    return 0.0 if accuracy == chance else math.nan


def accuracy(counts: Counts) -> float:
    """Share of the rows predicted right."""
    return counts.right / counts.weight


def kappa(counts: Counts) -> float:
    """Accuracy above what the class shares alone would give (Cohen 1960)."""
    return agreement(counts.right / counts.weight, counts.chance)


def kappa_m(counts: Counts) -> float:
    """Accuracy above that of always predicting the majority class so far (Bifet et al. 2015)."""
    return agreement(counts.right / counts.weight, counts.majority_right / counts.weight)


def kappa_t(counts: Counts) -> float:
    """Accuracy above that of predicting the previous label (Žliobaitė et al. 2015)."""
    return agreement(counts.right / counts.weight, counts.no_change_right / counts.weight)


def f1_macro(counts: Counts) -> float:
    """F1 of each class, averaged over the classes that occur or are predicted."""
    return counts.f1 / counts.named


def g_mean(counts: Counts) -> float:
    """Geometric mean of the recalls of the classes that occur."""
    return 0.0 if counts.missed else math.exp(counts.log_recalls / counts.present)


def balanced_accuracy(counts: Counts) -> float:
    """Mean of the recalls of the classes that occur."""
    return counts.recalls / counts.present


def log_loss(counts: Counts) -> float:
    """Mean of -ln(probability given to the true class)."""
    return counts.loss / counts.weight


def auc(window: Window) -> float:
    """Area under the ROC curve over the window; NaN unless two classes occur in it.

    With more than two classes known: the mean over all pairs of classes in the window of
    A(i, j) = (A(i|j) + A(j|i)) / 2, where A(i|j) is the chance that a row of class i has a higher score for i
    than a row of class j, ties counting half (Hand & Till 2001, over a sliding window). Random scores give 0.5.
    """
    y, w, all_scores = window.y, window.weight, window.scores
    known = all_scores.shape[1]
    present = np.bincount(y, weights=w, minlength=known)
    if np.count_nonzero(present) < 2:
        return math.nan
    wins = np.zeros((known, known))
    below, equal = np.zeros(known), np.zeros(known)
    for c in np.flatnonzero(present).tolist() if known > 2 else (1,):
        scores = all_scores[:, c].copy()
        outranks(np.argsort(scores, kind="stable"), scores, y, w, c, below, equal, wins[c])
    if known == 2:
        return float(wins[1, 0] / (present[0] * present[1]))
    i, j = np.triu_indices(known, 1)
    both = present[i] * present[j]
    i, j, both = i[both > 0.0], j[both > 0.0], both[both > 0.0]
    return float(np.mean((wins[i, j] + wins[j, i]) / (2.0 * both)))
