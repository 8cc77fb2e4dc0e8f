"""What all drift detectors share: values in, levels out, one row of numbers that is all they know."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check, fresh
from thalweg.core.fields import Parametrised
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.detectors import any_jit
from thalweg.detectors.row_jit import Levels, Table, first_unfit

_MOST = 1e100  # so that no square of a sum overflows


class Detector(Parametrised, ABC):
    """Watches a sequence of numbers for a change. 1 is an error; a rise is a drift.

    A detector is its parameters (``rules``, a few numbers for the compiled code) and one row of a table. A forest that
    needs a hundred of a kind asks for ``new_rows(100)`` and steps them through ``any_jit.feed`` with the ``code``.
    After a drift a detector starts anew by itself with the next value.
    """

    code: ClassVar[int]
    """The number by which ``any_jit`` knows this kind."""
    _rows: ClassVar[type]
    """The bundle that declares a table of such rows."""
    _changes: ClassVar[int] = -2
    _last: ClassVar[int] = -1
    """The columns of the number of drifts and of the last level."""
    _constants: ClassVar[slice] = slice(0)
    """Columns that never change."""
    _least: ClassVar[float] = -_MOST
    _most: ClassVar[float] = _MOST
    """Values outside are refused."""

    def _prepare(self) -> None:
        self._rules = self.rules()
        self._table = self.new_rows(1)

    @abstractmethod
    def rules(self) -> NDArray[np.float64]:
        """Give the parameters as the compiled code wants them."""

    def new_rows(self, n: int) -> NDArray[np.float64]:
        """Make a table of n detectors with these parameters that have seen nothing."""
        return np.asarray(fresh(self._rows, n=n)["table"])

    def _sizes(self) -> dict[str, int]:
        """Give what the declaration of the rows must know of the parameters."""
        return {}

    @abstractmethod
    def _sound(self, rows: NDArray[np.float64]) -> bool:
        """Could detectors with these parameters come to these rows, which are as declared?"""

    @staticmethod
    @abstractmethod
    def _step(table: Table, i: int, x: float, rules: Table) -> int:
        """Let row i take one value; give the level. The compiled routine of this kind."""

    @staticmethod
    @abstractmethod
    def _run(table: Table, i: int, values: Table, rules: Table, out: Levels) -> None:
        """Let row i take values in order; write the level of each. The compiled routine of this kind."""

    # -- values -------------------------------------------------------------------------------------------------------

    def update(self, value: float) -> bool:
        """Take one value; True when it reveals a drift."""
        x = value if type(value) is float else _number(value)
        if not self._least <= x <= self._most:
            raise ValueError(f"value must {self._fit('be a finite number', x)}, got {shown(value)}")
        return self._step(self._table, 0, x, self._rules) == 2

    def update_many(self, values: Any) -> NDArray[np.int8]:
        """Take many values in order; give a level for each: 0 stable, 1 warning, 2 drift.

        One bad value, and none is taken.
        """
        array = _numbers(values)
        bad = first_unfit(array, self._least, self._most)
        if bad >= 0:
            raise ValueError(f"values must {self._fit('be finite and', array[bad])}, got {array[bad]} at index {bad}")
        levels = np.empty(len(array), dtype=np.int8)
        self._run(self._table, 0, array, self._rules, levels)
        return levels

    def _fit(self, finite: str, x: float) -> str:
        """Write the rule that x breaks."""
        return f"lie in [{self._least:g}, {self._most:g}]" if abs(x) <= _MOST else f"{finite} of size at most {_MOST:g}"

    @property
    def drift_detected(self) -> bool:
        """Did the last value reveal a drift?"""
        return bool(self._table[0, self._last] == 2.0)

    @property
    def warning_detected(self) -> bool:
        """Is the detector, since the last value, suspicious but not sure? Some detectors have no such level."""
        return bool(self._table[0, self._last] == 1.0)

    @property
    def estimate(self) -> float:
        """The mean of the values as the detector sees it; 0.0 before the first."""
        return any_jit.mean_error(self.code, self._table, 0)

    @property
    def n_detections(self) -> int:
        """Drifts revealed so far."""
        return int(self._table[0, self._changes])

    # -- state and parameters -----------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out all that the detector knows, as one table."""
        return {"table": self._table.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a detector with the same parameters gave. The table is used as it is."""
        table = state.get("table") if isinstance(state, Mapping) else None
        if table is None or not self.fits(table) or not self._continues(table):
            name = type(self).__name__
            article = "an" if name[0] in "AEH" else "a"
            raise ValueError(f"state must be what state() of {article} {name} with the same parameters gave")
        self._table = table if table.flags.writeable else table.copy()

    def fits(self, table: Any) -> bool:
        """Could every row of this table be that of a detector with these parameters? For the tables of forests."""
        try:
            check(self._rows, {"table": table}, most=None, **self._sizes())
        except ValueError:
            return False
        return self._sound(table)

    def _continues(self, table: NDArray[np.float64]) -> bool:
        """Is this fitting table one row, with the constants of this very detector?"""
        return len(table) == 1 and np.array_equal(table[0, self._constants], self._table[0, self._constants])

    def reset(self) -> Self:
        """Forget everything but the parameters."""
        self._table = self.new_rows(1)
        return self

    def copy(self) -> Self:
        """Make a detector with the same parameters and the same knowledge that goes its own way."""
        twin = type(self)(**self.get_params(deep=False))
        twin.restore(self.state())
        return twin


def _number(value: Any) -> float:
    if isinstance(value, (numbers.Real, np.bool_)) and not isinstance(value, np.timedelta64):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    raise TypeError(f"value must be a number, got {shown(value)}")


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
    except Exception:  # lists of different lengths, or someone else's container
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf" or np.ma.is_masked(values):
        raise TypeError(f"values must hold numbers, got {shown(values)}")
    if array.ndim != 1:
        raise ValueError(f"values must have one dimension, got {array.ndim}")
    if array.dtype.char == "g":
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
            return array.astype(np.float64)
    return np.array(array, dtype=np.float64) if not array.flags.writeable else np.ascontiguousarray(array, np.float64)
