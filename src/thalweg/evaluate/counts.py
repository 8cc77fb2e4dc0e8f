"""The metrics: each is a function of what was counted, of the rows in the window, or of all scores.

The registry gives them names.
"""

import math
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.evaluate.auc_jit import binned_auc, sample_auc
from thalweg.evaluate.metrics_jit import (
    R_DRAWN,
    R_OWN,
    R_PREDICTED,
    S_RIGHT,
    S_SQUARES,
    S_SURE,
    S_WEIGHT,
    SCORES,
    TALLIES,
    tally,
)
from thalweg.jit.score_bins import BINS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALERTS = 0.01
"""The share of the rows that somebody could look into, for ``recall_at_budget``."""
BUDGETS = (0.001, 0.005, ALERTS, 0.02, 0.05, 0.1, 0.2)
"""Shares of the rows that somebody could look into, for a table of what that would find."""


@final
class Counts(NamedTuple):
    """What was counted over rows; a metric is a function of it. All numbers are weights: without weights, rows.

    >>> counts = count(np.array([[0.0, 3.0, 1.0], [0.0, 2.0, 4.0]]), np.array([10.0, 5.0, 6.0, 4.0, 1.0]))
    >>> counts.right, accuracy(counts)
    (7.0, 0.7)
    """

    table: Floats
    """By class (row) and prediction: column 0 none, column c + 1 class c; see ``confusion``."""
    weight: float
    """All rows."""
    no_change_right: float
    """What the previous label would have got right."""
    majority_right: float
    """What the majority class so far would have got right."""
    loss: float
    """The sum of -ln(probability given to the true class)."""
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
    precisions: float
    """Sum of the precisions of the classes that are predicted."""

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


@final
class Scores(NamedTuple):
    """The probabilities of all rows, however many, as histograms of fixed size; a metric may be a function of them."""

    ranks: Floats
    """Weight by class c, by whether a row is of another class (0) or of c (1), and by the bin of its score for c.

    With more than 4 classes the others are counted where they are predicted to be of c, and else estimated from rows
    that are drawn: one in K / 4 of K classes, rounded up to a power of 2. A share of N such rows then has a standard
    error of at most 0.5 √(K / 2N)."""
    sure: Floats
    """By steps of the highest probability of a row, as ``metrics_jit`` has it."""

    @property
    def weights(self) -> Floats:
        """The weight of each class."""
        weights: Floats = self.ranks[:, 1].sum(axis=1)
        return weights

    def rarest(self) -> tuple[Floats, Floats]:
        """Give the weight of the rarest class that occurs, and of all others, by its score, the highest first."""
        weights = self.weights
        if np.count_nonzero(weights) < 2:
            raise ZeroDivisionError
        others, own = self.ranks[int(np.argmin(np.where(weights > 0.0, weights, math.inf))), :, ::-1]
        return own, others

    def calibration(self) -> list[tuple[float, float, float]]:
        """Give mean highest probability, share that was right, and weight, for each step with rows."""
        rows = self.sure[self.sure[:, S_WEIGHT] > 0.0]
        weight = rows[:, S_WEIGHT]
        columns = rows[:, S_SURE] / weight, rows[:, S_RIGHT] / weight, weight
        return [(float(p), float(right), float(w)) for p, right, w in zip(*columns, strict=True)]

    def alerts(self) -> list[tuple[float, float, float]]:
        """Give for shares of the rows, those with the highest score for the rarest class, recall and precision."""
        own, others = self.rarest()
        found, alerts = np.insert(np.cumsum(own), 0, 0.0), np.insert(np.cumsum(own + others), 0, 0.0)
        budgets = np.array(BUDGETS) * alerts[-1]
        hits = np.interp(budgets, alerts, found)
        columns = BUDGETS, hits / found[-1], hits / budgets
        return [(share, float(recall), float(precision)) for share, recall, precision in zip(*columns, strict=True)]


def gather_scores(ranks: Floats, drawn: Floats, sure: Floats, weights: Floats) -> Scores:
    """Let the rows that were drawn stand for all; those with a score of 0, which nobody counted, have the lowest bin.

    weights: of all classes.
    """
    others, sample = ranks[:, R_PREDICTED].copy(), ranks[:, R_DRAWN].copy()
    sample[:, 0] += np.maximum(drawn[0] - drawn[1:] - sample.sum(axis=1), 0.0)
    missing, found = np.maximum(weights.sum() - weights - others.sum(axis=1), 0.0), sample.sum(axis=1)
    others += sample * np.divide(missing, found, out=np.zeros_like(found), where=found > 0.0)[:, None]
    others[:, 0] += np.where(found > 0.0, 0.0, missing)
    return Scores(np.stack([others, ranks[:, R_OWN]], axis=1), sure)


def count(table: Floats, sums: Floats) -> Counts:
    """Add up what the metrics need."""
    values = np.empty(TALLIES)
    tally(table, sums, values)
    return Counts(table, *values.tolist())


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


def precision_macro(counts: Counts) -> float:
    """Precision of each class, averaged over the classes that occur or are predicted; 0 for one never predicted."""
    return counts.precisions / counts.named


def log_loss(counts: Counts) -> float:
    """Mean of -ln(probability given to the true class)."""
    return counts.loss / counts.weight


TALLIED = frozenset((accuracy, kappa, kappa_m, kappa_t, f1_macro, g_mean, balanced_accuracy, precision_macro, log_loss))
"""Metrics that need no table of their counts."""


def auc(window: Window) -> float:
    """Area under the ROC curve over the window; NaN unless two classes occur in it.

    With two classes it is the chance that a row of class 1 has a higher score for it than a row of class 0, ties
    counting half; scores that differ by less than an eighth of themselves may count as equal (``jit.score_bins``),
    which changes it by about 0.001.

    With more it is the mean over all pairs of classes in the window of A(i, j) = (A(i|j) + A(j|i)) / 2, where A(i|j) is
    the chance that a row of class i has a higher score for i than a row of class j (Hand & Till 2001, over a sliding
    window). 2,048 pairs of rows are compared, spread evenly over the pairs of classes and their rows, or all where
    there are no more; the standard error of that is at most √(A (1 - A) / 2048), 0.007 where A is 0.9. Random scores
    give 0.5.
    """
    ring = window.ring
    known = ring.shape[1] - SCORES
    if known == 2:
        return float(binned_auc(ring, np.zeros((2, BINS))))
    return float(sample_auc(ring, np.zeros(known + 1, dtype=np.int64), np.empty(len(ring), dtype=np.int64)))


def brier(scores: Scores) -> float:
    """Half the mean squared distance between the probabilities and the truth: 0 is perfect, 1 the worst.

    With two classes it is the mean squared error of the probability of either class; with more it is half of what
    Brier (1950) wrote down.
    """
    sure = scores.sure
    return float(0.5 * sure[:, S_SQUARES].sum() / sure[:, S_WEIGHT].sum())


def calibration_error(scores: Scores) -> float:
    """How far the probability of what is predicted is from the share that was right, in 15 steps (Guo et al. 2017)."""
    sure = scores.sure
    return float(np.abs(sure[:, S_SURE] - sure[:, S_RIGHT]).sum() / sure[:, S_WEIGHT].sum())


def auc_all(scores: Scores) -> float:
    """Area under the ROC curve of each class against all others, averaged over the classes that occur."""
    others, own = scores.ranks[scores.weights > 0.0].swapaxes(0, 1)
    both = others.sum(axis=1) * own.sum(axis=1)
    if not both.all() or not len(both):
        return math.nan
    below = np.cumsum(others, axis=1) - 0.5 * others
    return float(np.mean((own * below).sum(axis=1) / both))


def pr_auc(scores: Scores) -> float:
    """Average precision of the rarest class that occurs: precision at each threshold, by the recall gained there."""
    own, others = scores.rarest()
    found, alerts = np.cumsum(own), np.cumsum(own + others)
    precision = np.divide(found, alerts, out=np.zeros_like(found), where=alerts > 0.0)
    return float((precision * own).sum() / found[-1])


def recall_at_budget(scores: Scores) -> float:
    """Share of the rarest class that occurs found among the 1 % of the rows with the highest score for it."""
    own, others = scores.rarest()
    found, alerts = np.cumsum(own), np.cumsum(own + others)
    return float(np.interp(ALERTS * alerts[-1], np.insert(alerts, 0, 0.0), np.insert(found, 0, 0.0)) / found[-1])
