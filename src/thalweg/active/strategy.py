"""What all strategies share: class probabilities in, labels wanted out, and a budget that is never exceeded."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thalweg.active import strategies_jit as jit
from thalweg.core.declared import check
from thalweg.core.fields import Parametrised, number, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.jit.random import seeded

Floats = NDArray[np.float64]

_FOR_EVER = 1 << 30  # rows

REASONS = ("", "uncertain", "random", "selective", "warmup")
"""Why a label is asked for, by the number that ``decide`` gives."""


class Strategy(Parametrised, ABC):
    """Decides, row by row, which labels are worth asking for.

    After k rows never more than budget · k + 1 labels have been asked for, whatever the rows were. A label is asked for
    when its row arrives, or never; it is charged when it is asked for, whether it ever comes or not. What is asked
    depends on nothing but the rows up to then.

    A row with probabilities of fewer than two classes, or all of them zero, says nothing: its label is wanted wherever
    the budget allows (``Random`` does not look at the probabilities at all).

    A strategy is its parameters (``rules``, a few numbers for the compiled code) and one row of a table; a compiled
    loop over rows asks through ``strategies_jit.step`` with the ``code``.

    Examples
    --------
    >>> from thalweg import VariableUncertainty
    >>> strategy = VariableUncertainty(budget=0.5)
    >>> strategy.ask([[0.9, 0.1], [0.5, 0.5], [0.6, 0.4], [1.0, 0.0]]).tolist()
    [True, False, True, False]
    >>> strategy.asked, strategy.seen, strategy.budget_left
    (2, 4, 0.0)
    """

    code: ClassVar[int]
    """The number by which ``strategies_jit`` knows this kind."""

    budget: float = number(
        default=0.7,
        doc="Largest share of the rows whose label is asked for (B); after k rows never more than B · k + 1.",
        least=0,
        most=1,
    )
    window: int | None = whole(
        default=None,
        doc="Also keep to the budget over about this many of the latest rows, so that what was saved earlier is "
        "not spent in one burst; None: over the whole stream only.",
        least=1,
        most=1_000_000_000,
    )
    warmup: int = whole(
        default=0,
        doc="Labels asked for first, beside the budget: with a warm-up of m the promise is m + B · (k - m) + 1.",
        least=0,
        most=1_000_000_000,
    )
    seed: int = whole(default=1, doc="Random seed.", least=0)

    __slots__ = ("_random", "_rules", "_table")

    def _prepare(self) -> None:
        self._rules = np.zeros(jit.R_CELLS)
        self._rules[[jit.R_BUDGET, jit.R_WARMUP, jit.R_WINDOW]] = self.budget, self.warmup, self.window or 0
        for cell, value in self._own_rules().items():
            self._rules[cell] = value
        self.reset()

    @abstractmethod
    def _own_rules(self) -> dict[int, float]:
        """Give the cells of ``rules`` that this kind has."""

    # -- asking -------------------------------------------------------------------------------------------------------

    def ask(self, proba: Any) -> NDArray[np.bool_]:
        """Say for each row of class probabilities, in order, whether its label is wanted.

        Parameters
        ----------
        proba : object
            What ``predict_proba`` gave, one row for each record; rows need not sum to 1. A bad number anywhere, and no
            row is taken.
        """
        return self.decide(proba) > 0

    def decide(self, proba: Any) -> NDArray[np.int8]:
        """As ``ask``, with the reason: 0 not wanted, otherwise the place in ``REASONS``."""
        rows = _probabilities(proba)
        why = np.empty(len(rows), dtype=np.int8)
        jit.ask_many(self.code, self._table, 0, self._rules, self._random, rows, rows.shape[1], why)
        self.watch()
        return why

    def decide_one(self, proba: Floats, e: int, known: int) -> int:
        """Say why the label of row e is wanted, of probabilities that a learner gave."""
        return jit.ask_one(self.code, self._table, 0, self._rules, self._random, proba, e, known)

    @property
    def asking(self) -> jit.Asking:
        """The strategy as compiled code takes it, which goes on with it: its tables are not copied."""
        return jit.Asking(self.code, self._table, self._rules, self._random)

    def closed_for(self) -> int:
        """Say for how many rows to come, about, the budget allows no label."""
        row = self._table[0]
        if self.budget == 0.0:
            return _FOR_EVER
        return max(0, int(min(row[jit.S_SPENT] / self.budget, _FOR_EVER) - row[jit.S_SEEN]))

    def watch(self) -> None:
        """Look whether something should be said about what has been asked."""

    # -- how far it is ------------------------------------------------------------------------------------------------

    @property
    def seen(self) -> int:
        """Rows so far."""
        return int(self._table[0, jit.S_ROWS])

    @property
    def asked(self) -> int:
        """Labels asked for so far."""
        return int(self._table[0, jit.S_ASKED])

    @property
    def asked_uncertain(self) -> int:
        """Of them, those asked for because the learner was uncertain."""
        return int(self._table[0, jit.S_UNCERTAIN])

    @property
    def spent(self) -> int:
        """Labels charged to the budget: all but those of the warm-up."""
        return int(self._table[0, jit.S_SPENT])

    @property
    def budget_left(self) -> float:
        """Labels that the rows so far would still allow: budget · k less those charged; at least -1."""
        return float(self.budget * self._table[0, jit.S_SEEN] - self._table[0, jit.S_SPENT])

    @property
    def theta(self) -> float | None:
        """The certainty below which a label is wanted now; None for strategies that have no such threshold."""
        return None if self.code in (jit.RANDOM, jit.SELECTIVE) else float(self._table[0, jit.S_THETA])

    # -- state and parameters -----------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out all that the strategy knows."""
        return {name: table.copy() for name, table in self.tables().items()}

    def tables(self) -> State:
        """Give the tables, not copied."""
        return {"table": self._table, "random": self._random}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a strategy with the same parameters gave."""
        mine = f"state must be what state() of {type(self).__name__} with the same parameters gave"
        if not isinstance(state, Mapping) or not {"table", "random"} <= state.keys():
            raise ValueError(mine)
        try:
            check(jit.Asked, state)
        except ValueError as error:
            raise ValueError(f"{mine}: {error}") from None
        if not self._fits(state["table"][0]):
            raise ValueError(mine)
        self._table, self._random = state["table"].copy(), state["random"].copy()

    def _fits(self, row: Floats) -> bool:
        """Do the counts of a row go together, and with the budget?"""
        ordered = row[jit.S_SEEN] <= row[jit.S_ROWS] >= row[jit.S_ASKED] >= max(row[jit.S_SPENT], row[jit.S_UNCERTAIN])
        kept = row[jit.S_SPENT] < self.budget * row[jit.S_SEEN] + 1.0 + 1e-6 if row[jit.S_SPENT] else True
        return bool(ordered and kept and row[jit.S_THETA] > 0.0)

    def reset(self) -> Self:
        """Forget everything but the parameters."""
        self._table = np.zeros((1, jit.S_COLUMNS))
        self._table[0, jit.S_THETA] = self._first_theta()
        self._random = seeded(self.seed)
        return self

    def _first_theta(self) -> float:
        return 1.0

    def copy(self) -> Self:
        """Make a strategy with the same parameters and the same knowledge that goes its own way."""
        twin = self.fresh()
        twin.restore(self.state())
        return twin

    def fresh(self) -> Self:
        """Make a strategy with the same parameters that has seen nothing."""
        return type(self)(**self.get_params(deep=False))


def _probabilities(proba: Any) -> Floats:
    try:
        array = np.asarray(proba)
    except Exception:  # rows of different lengths, or someone else's container
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf" or np.ma.is_masked(proba):
        raise TypeError(f"proba must hold rows of numbers, got {shown(proba)}")
    if array.ndim != 2:
        raise ValueError(f"proba must have two dimensions, rows and classes, got {array.ndim}")
    if array.dtype != np.float64 or not array.flags.c_contiguous or not array.flags.writeable:
        with np.errstate(over="ignore"):
            array = np.array(array, dtype=np.float64, order="C")
    bad = jit.first_unfit(array)
    if bad >= 0:
        row, column = divmod(int(bad), array.shape[1])
        v = array[row, column]
        rule = "no missing value (NaN)" if math.isnan(v) else "numbers in [0, 1e+100]"
        raise ValueError(f"proba must hold {rule}, got {v} in row {row}, column {column}")
    return array
