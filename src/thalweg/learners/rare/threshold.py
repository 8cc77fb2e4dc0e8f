"""When to raise an alert: a threshold chosen online, for a share of the rows, a precision, or as given."""

import math
from typing import Any, final

import numpy as np

from thalweg.core.classifier import Floats, Ints
from thalweg.core.door import Rows, take_rows
from thalweg.core.fields import free, number, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.jit.score_bins import BINS, edge_of
from thalweg.learners.rare.around import Around
from thalweg.learners.rare.threshold_jit import (
    BY_PRECISION,
    BY_SCORE,
    BY_SHARE,
    H_ALERTS,
    H_ROWS,
    HELD,
    M_BIN,
    M_POSITIVE,
    NEVER,
    NOT_KNOWN,
    RAREST,
    Seen,
    decide,
)


def _check_label(name: str, value: Any) -> None:
    if not isinstance(value, (str, int, float, bytes)):
        raise TypeError(f"{name} must be a label: text, a number or True and False, got {shown(value)}")


@final
class Threshold(Around):
    """A learner that says one label, the positive one, from a threshold on that follows the stream.

    Exactly one of three parameters says how the threshold is chosen, from the scores of the rows learned before:

    - ``alerts=0.01``: the 1 % of the rows with the highest scores are called positive. Where many rows have the very
      score of the threshold, as the answers of a small tree do, as many of them are as the budget allows.
    - ``precision=0.5``: the lowest threshold at which half of the alerts on the rows so far would have been right.
      While there is none, no row is called positive.
    - ``at=0.2``: always this probability.

    Below the threshold the most probable other label is said. The threshold is chosen when labels arrive; with late
    labels it is as late as they are.

    ``predict`` follows the threshold, and so does whatever takes the most probable class. Hence ``predict_proba`` gives
    the positive label, in place of its probability p, (1 + p) / 2 with an alert and p / 2 without: at any moment the
    order of records by score stays as it is. ``model.predict_proba`` gives the probabilities themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import NaiveBayes, Threshold
    >>> rng = np.random.default_rng(1)
    >>> y = np.where(rng.random(5_000) < 0.02, "fraud", "fine")
    >>> X = rng.normal(size=(5_000, 1)) + 2.0 * (y == "fraud")[:, None]
    >>> learner = Threshold(NaiveBayes(), positive="fraud", alerts=0.03)
    >>> proba = learner.test_then_train(X, y)
    >>> alert = learner.classes_[proba.argmax(axis=1)] == "fraud"
    >>> round(alert.mean().item(), 3), round((y[alert] == "fraud").mean().item(), 2)
    (0.029, 0.31)
    >>> learner.threshold > 0.1
    True
    """

    __slots__ = ()

    _bundle = Seen

    positive: str | int | float | bytes | None = free(
        default=None, doc="The label that an alert stands for; None: the one that has been seen least.",
        check=_check_label,
    )  # fmt: skip
    alerts: float | None = number(default=None, doc="Share of the rows to call positive.", above=0, below=1)
    precision: float | None = number(default=None, doc="Share of the alerts that must be right.", above=0, below=1)
    at: float | None = number(default=None, doc="The threshold itself.", above=0, below=1)
    window: int | None = whole(
        default=10_000, doc="Rows after which a row counts 1/e; None: all rows count alike.", least=1
    )

    def _prepare(self) -> None:
        super()._prepare()
        chosen = {
            name: getattr(self, name) for name in ("alerts", "precision", "at") if getattr(self, name) is not None
        }
        if len(chosen) != 1:
            raise ValueError(
                f"one of alerts, precision and at must be given, got {shown(chosen) if chosen else 'none'}"
            )

    @property
    def _rule(self) -> tuple[int, float]:
        rules = ((BY_SHARE, self.alerts), (BY_PRECISION, self.precision), (BY_SCORE, self.at))
        return next((rule, float(value)) for rule, value in rules if value is not None)

    # -- what it has chosen -------------------------------------------------------------------------------------------

    @property
    def threshold(self) -> float:
        """The probability, of the learner inside, from which on a row is called positive; NaN: none is high enough."""
        if self.at is not None:
            return float(self.at)
        chosen = int(self._own["marks"][M_BIN]) if self._started else NEVER
        return math.nan if chosen == NEVER else float(edge_of(chosen))

    @property
    def alert_share(self) -> float:
        """Share of the learned rows that were called positive of late; NaN before the first."""
        rows = self._own["held"][H_ROWS] if self._started else 0.0
        return float(self._own["held"][H_ALERTS] / rows) if rows > 0.0 else math.nan

    @property
    def positive_label(self) -> Any:
        """The label that an alert stands for now; None: not known yet."""
        if self.positive is not None:
            return self.positive
        code = int(self._own["marks"][M_POSITIVE]) if self._started else -1
        return None if code < 0 else self._labels.values[code]

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _new_tables(self) -> State:
        held = np.zeros(HELD)
        held[0] = 1.0
        marks = np.array([-1, NEVER, 0])
        return {"counts": np.zeros(0, np.int64), "scores": np.zeros((2, BINS)), "held": held, "marks": marks}

    def _code(self) -> int:
        if self.positive is None:
            return RAREST
        values = self._labels.values
        return values.index(self.positive) if self.positive in values else NOT_KNOWN

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        n, learning = X.shape[0], np.flatnonzero(events < 0)
        said, wide = events, out
        if len(learning):
            self._widen("counts", out.shape[1])
            said, rows = _with_scores(events, learning, n)
            if len(rows) > n:
                X, y, w, wide = take_rows(X, rows), y[rows], w[rows], np.zeros((len(rows), out.shape[1]))
        self._hand_on(X, y, w, said, wide, known)
        last = np.zeros(len(said), dtype=np.bool_)
        predicted = np.flatnonzero(said >= 0)
        place = np.full(X.shape[0], -1)
        place[said[predicted]] = predicted
        last[place[place >= 0]] = True
        own, (rule, target) = self._own, self._rule
        fade = 1.0 if self.window is None else 1.0 - 1.0 / int(self.window)
        decide(
            own["counts"], own["scores"], own["held"], own["marks"], said, y, last, wide, known, self._code(), rule,
            target, max(fade, 0.5),
        )  # fmt: skip
        if wide is not out:
            out[:] = wide[:n]


def _with_scores(events: Ints, learning: Ints, n: int) -> tuple[Ints, Ints]:
    """Let each row be predicted right before it is learned; give the events, and the rows that they speak of.

    Where that is not so already, and the only prediction of the row, another copy of the row is predicted.

    >>> _with_scores(np.array([0, ~0, ~1]), np.array([1, 2]), 2)[0].tolist()
    [0, -1, 2, -2]
    """
    rows = ~events[learning]
    times = np.bincount(events[events >= 0], minlength=n)
    ready = (learning > 0) & (events[learning - 1] == rows) & (times[rows] == 1)
    lacking = ~ready
    copies = n + np.arange(int(lacking.sum()))
    return np.insert(events, learning[lacking], copies), np.concatenate([np.arange(n), rows[lacking]])
