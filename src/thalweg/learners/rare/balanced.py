"""Weights that make up for rare classes, and follow the stream: balanced weights, online over- and undersampling."""

from collections.abc import Hashable, Mapping
from typing import Any, Literal, final

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Floats, Ints
from thalweg.core.door import Rows, take_rows
from thalweg.core.fields import free, number, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.jit.random import seeded
from thalweg.learners.rare.around import Around
from thalweg.learners.rare.balanced_jit import GIVEN, Weighing, weigh

RULES = ("balanced", "over", "under")
ClassWeight = Literal["balanced", "over", "under"] | Mapping[Any, float]


def check_class_weight(name: str, value: Any) -> None:
    """Refuse anything but one of the rules, or a weight for each of some labels."""
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{name} must have a weight for at least one label, got {{}}")
        for label, weight in value.items():
            params.number(f"{name}[{shown(label)}]", weight, above=0)
    elif not isinstance(value, str) or value not in RULES:
        options = ", ".join(map(repr, RULES))
        raise ValueError(f"{name} must be one of {options}, or a dict of weights by label, got {shown(value)}")


@final
class Balanced(Around):
    """A learner to which rows of rare classes count more, as ``class_weight="balanced"`` does in scikit-learn.

    Each row that is learned gets a weight from how often its class has been seen so far, itself included. Old rows
    fade, so that the weights follow a stream whose class shares change:

    - ``"balanced"``: n / (k · n_c) for n rows, k classes and n_c rows of its class. All classes get the same weight
      in total, and the mean weight of a row is 1.
    - ``"over"``: oversampling. A row is learned as often as a draw from a Poisson distribution with mean n_max / n_c
      says: rows of rare classes several times.
    - ``"under"``: undersampling, likewise with mean n_min / n_c: most rows of frequent classes are left out. Forests
      do best with it, and are several times as fast.
    - a dict: the weight of each label, 1 for those that it does not name.

    The learner then finds many more of the rare rows, and is more often wrong when it says so. Its
    probabilities are those of a stream in which the classes are equally frequent. ``Threshold`` around it, or instead
    of it, decides how many alerts there are.

    Notes
    -----
    Equal, bit for bit, to ``partial_fit`` of the learner, row by row, with these weights as ``sample_weight``.

    References
    ----------
    S. Wang, L. Minku, X. Yao, "Resampling-based ensemble methods for online class imbalance learning", TKDE 2015:
    ``"over"`` is the sampling of OOB, ``"under"`` that of UOB.

    Examples
    --------
    >>> import numpy as np
    >>> from thalweg import Balanced, NaiveBayes
    >>> rng = np.random.default_rng(1)
    >>> y = np.where(rng.random(2_000) < 0.05, "yes", "no")
    >>> X = rng.normal(size=(2_000, 1)) + (y == "yes")[:, None]
    >>> plain = NaiveBayes().partial_fit(X, y)
    >>> sum(plain.predict(X[y == "yes"]) == "yes").item(), sum(y == "yes").item()
    (1, 97)
    >>> balanced = Balanced(NaiveBayes()).partial_fit(X, y)
    >>> sum(balanced.predict(X[y == "yes"]) == "yes").item(), sum(y == "yes").item()
    (63, 97)
    """

    __slots__ = ()

    _bundle = Weighing

    class_weight: ClassWeight = free(
        default="balanced", doc='"balanced", "over", "under", or a dict of weights by label.', check=check_class_weight
    )
    strength: float = number(
        default=1.0, doc="Power to which the weight is raised: 0.5 goes half-way, 0 changes nothing.",
        least=0, most=1,
    )  # fmt: skip
    window: int | None = whole(
        default=10_000,
        doc="Rows after which a row counts 1/e in the class counts; None: all rows count alike.",
        least=1,
    )
    most: float = number(
        default=100.0, doc="Weights lie between 1 / most and most, so that the first rare rows do not rule.", least=1
    )
    seed: int = whole(default=1, doc="For the draws of over- and undersampling.", least=0)

    @property
    def class_weights(self) -> dict[Hashable, float]:
        """The weight, or mean of a draw, that the next row of each class would get."""
        values = self._labels.values
        if not self._started:
            return dict.fromkeys(values, 1.0)
        counts = np.concatenate([self._own["counts"], np.zeros(len(values) - len(self._own["counts"]))])
        found = np.ones(len(values))
        for c in range(len(values)):
            self._weigh(counts.copy(), self._own["dice"], np.array([c]), np.ones(1), found[c : c + 1], draws=False)
        return dict(zip(values, found.tolist(), strict=True))

    @property
    def _draws(self) -> bool:
        return self.class_weight in ("over", "under")

    def _new_tables(self) -> State:
        return {"counts": np.zeros(0), "dice": seeded(self.seed, 1)}

    def _weigh(self, counts: Floats, dice: Any, y: Ints, w: Floats, out: Floats, draws: bool) -> None:
        rule, given = GIVEN, np.zeros(0)
        if isinstance(self.class_weight, str):
            rule = RULES.index(self.class_weight)
        else:
            given = np.ones(len(counts))
            for code, label in enumerate(self._labels.values[: len(counts)]):
                given[code] = float(self.class_weight.get(label, 1.0))
        fade = 1.0 if self.window is None else 1.0 - 1.0 / int(self.window)
        weigh(counts, dice, y, w, rule, given, fade, float(self.strength), float(self.most), draws, out)

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        learning = np.flatnonzero(events < 0)
        if not len(learning):
            self._hand_on(X, y, w, events, out, known)
            return
        self._widen("counts", out.shape[1])
        rows, own = ~events[learning], np.empty(len(learning))
        self._weigh(self._own["counts"], self._own["dice"], y[rows], w[rows], own, draws=self._draws)
        if np.bincount(rows).max() > 1:  # a row that is learned twice has two weights
            n = X.shape[0]
            again = np.concatenate([np.arange(n), rows])
            X, y, w, wide = take_rows(X, again), y[again], w[again], np.zeros((len(again), out.shape[1]))
            events, rows = events.copy(), n + np.arange(len(rows))
            events[learning] = ~rows
        else:
            w, wide = w.copy(), out
        w[rows] = own
        if self._draws:
            events = np.delete(events, learning[own == 0.0])
        self._hand_on(X, y, w, events, wide, known)
        if wide is not out:
            out[:] = wide[: len(out)]
