"""Metrics are functions of the sequence of (class, class probabilities, weight), and of nothing else.

They never see the learner, so a stored log of predictions can be scored again, with other metrics or another window.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import door, params
from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.evaluate.counts import Scores, Window, count, gather_scores
from thalweg.evaluate.metrics_jit import (
    E_SURE,
    MISTAKE,
    MISTAKES,
    NOTES,
    OFF,
    R_OWN,
    R_PREDICTED,
    RANKS,
    S_WEIGHT,
    SCORES,
    STEPS,
    SURE,
    TALLIES,
    Scored,
    gather,
    look,
    note,
    update,
)
from thalweg.jit.score_bins import BINS
from thalweg.registry import METRICS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST = 10_000_000  # rows in a window
_MOST_CLASSES = 100_000
_TABLES = ("confusion", "counts", "sums", "ring", "marks")
_SCORE_TABLES = ("ranks", "drawn", "sure", "mistakes")  # what states of earlier versions do not have


@final
class Metrics:
    """Scores predictions as they come: over all rows, and over the last ``window`` rows.

    A row without any positive probability has no prediction, which is wrong. Among equal probabilities the lowest
    class wins. A row of weight 0 is passed over. The no-change and the majority rule behind ``kappa_t`` and
    ``kappa_m`` speak before they see a row's class; the first word of the no-change rule counts as wrong. A kappa
    against a rule that made no error is 0 if the learner made none either, else undefined (NaN).

    window: rows of the window. compat: "moa" to start and count as MOA does: no prediction is class 0, the label
    before the first is class 0, and the majority rule has already counted the row it speaks about.

    >>> metrics = Metrics(window=3)
    >>> metrics.update([0, 0, 1, 1, 0], [[1, 0], [0, 1], [0, 1], [0, 1], [1, 0]])
    >>> metrics.cumulative()["accuracy"], metrics.windowed()["accuracy"]
    (0.8, 1.0)
    """

    __slots__ = (
        "_confusion", "_counts", "_drawn", "_functions", "_marks", "_mistakes", "_notes", "_ones", "_ranks", "_ring",
        "_sums", "_sure", "compat", "window",
    )  # fmt: skip

    def __init__(self, *, window: int = 1000, compat: Literal["moa"] | None = None) -> None:
        params.whole("window", window, least=1)
        if window > _MOST:
            raise ValueError(f"window must be at most {_MOST:,} rows, got {window}")
        if compat is not None:
            params.choice("compat", compat, ("moa",))
        self.window = int(window)
        self.compat = compat
        self._functions: dict[tuple[str, ...], list[tuple[Callable[[Any], float], str]]] = {}
        self._notes, self._ones = np.empty((0, NOTES)), np.ones(0)  # for the rows of one call
        self.reset()

    def reset(self) -> None:
        """Forget all rows."""
        self._confusion = np.zeros((0, 1))
        self._counts = np.zeros(0)
        self._sums = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
        self._ring = np.zeros((self.window, SCORES))
        self._marks = np.array([0, -1, 0, 0])
        self._ranks = np.zeros((0, RANKS, BINS))
        self._drawn = np.zeros(1)
        self._sure = np.zeros((STEPS, SURE))
        self._mistakes = np.zeros((MISTAKES, MISTAKE))

    # -- rows in ------------------------------------------------------------------------------------------------------

    def update(self, y: Any, proba: Any, weight: Any = None) -> None:
        """Score rows in order.

        y: the class of each row, as a code 0, 1, 2, … proba: a row of class probabilities each, column c for class
        c; a class without a column is one the learner does not know yet. weight: a number ≥ 0 each; None: all 1.
        """
        codes, scores = _codes(y), _scores(proba)
        n = len(codes)
        if codes.ndim != 1 or scores.ndim != 2 or len(scores) != n:
            raise ValueError(
                f"proba must have one row of class probabilities for each of the {codes.size} rows of y, "
                f"got shape {scores.shape}"
            )
        if n > len(self._ones):
            self._notes, self._ones = np.empty((n, NOTES)), np.ones(n)
        w = self._ones if weight is None else door.weights(weight, n)
        if n == 0:
            return
        notes = self._notes
        bad, least, most = look(codes, scores, notes)
        if bad >= 0:
            raise ValueError(
                f"proba must hold probabilities ≥ 0 that sum to 1 within {OFF:g}, or 0 alone for no answer, "
                f"got {scores[bad].tolist()} in row {self.rows + bad}"
            )
        if least < 0 or most >= _MOST_CLASSES:
            i = int(np.argmax((codes < 0) | (codes >= _MOST_CLASSES)))
            raise ValueError(
                f"y must hold class codes from 0 and below {_MOST_CLASSES:,}, got {codes[i]} in row {self.rows + i}"
            )
        self._widen(max(most + 1, scores.shape[1]))
        update(
            self._confusion, self._counts, self._sums, self._ring, self._marks, self._ranks, self._drawn, self._sure,
            self._mistakes, codes, scores, notes, w, self.compat == "moa",
        )  # fmt: skip

    def _widen(self, classes: int) -> None:
        if classes > len(self._counts):
            self._confusion = _enlarged(self._confusion, (classes, 1 + classes))
            self._counts = _enlarged(self._counts, (classes,))
            self._ring = _enlarged(self._ring, (self.window, SCORES + classes))
            self._ranks = _enlarged(self._ranks, (classes, RANKS, BINS))
            self._drawn = _enlarged(self._drawn, (1 + classes,))

    # -- numbers out --------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """Rows given so far, those of weight 0 among them."""
        return int(self._marks[3])

    @property
    def confusion(self) -> Floats:
        """Weight of the rows of each class (row) by the class predicted (column), over all rows."""
        return self._confusion[:, 1:].copy()

    @property
    def support(self) -> Floats:
        """Weight of the rows of each class, those without a prediction among them."""
        return self._counts.copy()

    @property
    def baselines(self) -> dict[str, float]:
        """Share that two simple rules would have got right: the majority class so far, and the previous label."""
        weight, _, no_change, majority, _ = self._sums.tolist()
        shares = (majority / weight, no_change / weight) if weight > 0.0 else (math.nan, math.nan)
        return dict(zip(("majority", "no_change"), shares, strict=True))

    @property
    def unpredicted(self) -> float:
        """Share of the rows without a prediction; NaN before the first row."""
        return float(self._confusion[:, 0].sum() / self._sums[0]) if self._sums[0] > 0.0 else float("nan")

    @property
    def mistakes(self) -> list[tuple[int, int, int, float]]:
        """Wrong predictions with the highest probability, up to 20: number of the row, class, prediction, probability.

        Of equal ones the latest are kept, and stand first.
        """
        sure = self._mistakes[self._mistakes[:, E_SURE] > 0.0]
        found = [(int(row), int(true), int(guess), p) for p, row, true, guess in sure.tolist()]
        return sorted(found, key=lambda mistake: (-mistake[3], -mistake[0]))

    @property
    def calibration(self) -> list[tuple[float, float, float]]:
        """Mean highest probability, share that was right, and weight of the rows, in up to 15 steps of the former.

        Empty where not all rows were counted, because an earlier version scored some.
        """
        scores = self._scores()
        return [] if scores is None else scores.calibration()

    @property
    def alerts(self) -> list[tuple[float, float, float]]:
        """What alerts about the rarest class would find: share of the rows with an alert, recall, precision."""
        scores = self._scores()
        return [] if scores is None or np.count_nonzero(scores.weights) < 2 else scores.alerts()

    def cumulative(self, names: Iterable[str] | None = None) -> dict[str, float]:
        """Give metrics over all rows. names: which; None: all but those, such as ``auc``, that need a window."""
        if names is None:
            names = (name for name, entry in METRICS.items() if not entry.windowed)
        return self._measure(names, lambda: (self._confusion, self._sums), self._scores)

    def windowed(self, names: Iterable[str] | None = None) -> dict[str, float]:
        """Give metrics over the window; names: which; None: all but those, such as ``pr_auc``, that need all rows."""
        if names is None:
            names = (name for name, entry in METRICS.items() if not entry.overall)
        return self._measure(names, self._gathered)

    def note(self) -> Floats:
        """Give what the metrics need that are functions of counts alone: of all rows, and of the window."""
        tallies = np.empty((2, TALLIES))
        table = np.empty(self._confusion.shape)
        note(self._confusion, self._sums, self._ring, int(self._marks[0]), table, np.empty(5), tallies)
        return tallies

    def _gathered(self) -> tuple[Floats, Floats]:
        """Count the rows in the window."""
        confusion, sums = np.zeros(self._confusion.shape), np.zeros(5)
        gather(self._ring, int(self._marks[0]), confusion, sums)
        return confusion, sums

    def window_counts(self) -> tuple[Floats, dict[str, float]]:
        """Give the confusion matrix of the window, and what share of it two simple rules would have got right."""
        confusion, sums = self._gathered()
        weight, _, no_change, majority, _ = sums.tolist()
        shares = (no_change / weight, majority / weight) if weight > 0.0 else (math.nan, math.nan)
        return confusion[:, 1:], dict(zip(("no_change", "majority"), shares, strict=True))

    def auc(self) -> float:
        """Give the area under the ROC curve over the window; see ``counts.auc``."""
        return self.windowed(["auc"])["auc"]

    def _scores(self) -> Scores | None:
        """Give the scores of all rows; None where not all were counted, because an earlier version scored some."""
        if not math.isclose(self._sure[:, S_WEIGHT].sum(), self._sums[0], rel_tol=1e-9):
            return None
        return gather_scores(self._ranks, self._drawn, self._sure, self._counts)

    def _measure(
        self,
        names: Iterable[str],
        counted: Callable[[], tuple[Floats, Floats]],
        overall: Callable[[], Scores | None] = lambda: None,
    ) -> dict[str, float]:
        names = tuple(names)
        if not self._marks[0]:
            return dict.fromkeys(names, math.nan)
        if names not in self._functions:
            self._functions[names] = [(METRICS[name].cls, METRICS[name].looks_at) for name in names]
        seen: dict[str, Any] = {}
        values = []
        for metric, looks_at in self._functions[names]:
            if looks_at not in seen:
                seen[looks_at] = (
                    count(*counted()) if looks_at == "counts" else self._window() if looks_at == "window" else overall()
                )
            given = seen[looks_at]
            try:
                values.append(math.nan if given is None else float(metric(given)))
            except ZeroDivisionError:
                values.append(math.nan)
            except Exception as error:
                error.add_note(f"in the metric {names[len(values)]!r}")
                raise
        return dict(zip(names, values, strict=True))

    def _window(self) -> Window:
        return Window(self._ring[: min(int(self._marks[0]), self.window)])

    # -- state --------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out all counts and the window."""
        return {name: getattr(self, f"_{name}").copy() for name in (*_TABLES, *_SCORE_TABLES)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of metrics with the same window gave."""
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be what Metrics.state() gave, got {params.shown(state)}")
        try:
            tables = {name: np.array(state[name], order="C") for name in _TABLES}
            if "drawn" in state or ("ranks" in state and tables["sums"].shape != (4,)):  # of today
                tables |= {name: np.array(state[name], order="C") for name in _SCORE_TABLES}
            else:
                tables |= _completed(state, tables)
        except KeyError as error:
            raise ValueError(f"state must be what Metrics.state() gave: it lacks {error}") from None
        if tables["ring"].ndim and len(tables["ring"]) != self.window:
            raise ValueError(f"state must have a window of {self.window} rows, got {len(tables['ring'])}")
        try:
            check(Scored, tables, window=self.window)
        except ValueError as error:
            raise ValueError(f"state must be what Metrics.state() gave: {error}") from None
        for name, table in tables.items():
            setattr(self, f"_{name}", table)


def _enlarged(table: Floats, shape: tuple[int, ...]) -> Floats:
    """Give a table with more zeros at the ends."""
    larger = np.zeros(shape)
    larger[tuple(slice(n) for n in table.shape)] = table
    return larger


def _completed(state: Mapping[str, NDArray[Any]], tables: State) -> State:
    """Give what earlier versions kept otherwise: no scores, or all above 0; logarithms of all rows."""
    weights, ring, sums = tables["counts"], tables["ring"], tables["sums"]
    k = weights.size
    found: State = {
        "ranks": np.zeros((k, RANKS, BINS)),
        "drawn": np.zeros(k + 1),
        "sure": np.zeros((STEPS, SURE)),
        "mistakes": np.zeros((MISTAKES, MISTAKE)),
    }
    for name in ("sure", "mistakes"):
        found[name] = np.array(state.get(name, found[name]), order="C")
    if sums.shape == (4,):
        found["sums"] = np.append(sums, 1.0)
    if ring.ndim == 2 and ring.shape[1] > 3:
        found["ring"] = ring
        ring[:, 3] = np.exp(-ring[:, 3])
    ranks = state.get("ranks")
    if ranks is not None and ranks.shape == (k, 2, BINS):
        for plane, old, all_rows in ((R_PREDICTED, 0, weights.sum() - weights), (R_OWN, 1, weights)):
            found["ranks"][:, plane] = ranks[:, old]
            found["ranks"][:, plane, 0] += np.maximum(all_rows - ranks[:, old].sum(axis=1), 0.0)
    return found


def _codes(y: Any) -> Ints:
    try:
        array = np.asarray(y)
        if array.dtype.kind not in "biu" and array.size:
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.int64)
    except Exception:
        raise TypeError(f"y must hold class codes 0, 1, 2, …, got {params.shown(y)}") from None


def _scores(proba: Any) -> Floats:
    try:
        array = np.asarray(proba)
        if array.dtype.kind not in "biuf":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64)
    except Exception:
        raise TypeError(f"proba must hold rows of class probabilities, got {params.shown(proba)}") from None
