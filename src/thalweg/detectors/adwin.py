"""ADWIN: a window that grows while the mean stays the same and drops its past when the mean changes."""

import inspect
import math
import numbers
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.detectors import adwin_jit
from thalweg.detectors.adwin_jit import CHANGES, LAST, SPREAD, TOTAL, WIDTH

_MOST = 1e100  # so that no square of a sum overflows


@final
class ADWIN:
    """Detect a change of the mean, with a window that adapts its own width.

    Every ``clock`` values the window is searched for a place where the mean before differs from the mean after by more
    than chance allows; its oldest part is dropped until there is none. A drop is a change; it is a drift if the mean
    rose (errors count 1, so a rise is bad news) or, with ``direction="both"``, in any case.

    delta: δ, the confidence: smaller is slower and surer. clock: values between two searches. min_window, min_side: the
    search needs more values than min_window, and more than min_side + 1 before and after the place. max_buckets: M,
    buckets per size; more are finer and slower. The rules and defaults are MOA's. Memory and time per value grow with
    the logarithm of the width. ADWIN has no warning level.

    Reference: A. Bifet, R. Gavaldà, Learning from time-changing data with adaptive windowing, SDM 2007.

    >>> detector = ADWIN()
    >>> levels = detector.update_many([0.0] * 1000 + [1.0] * 1000)
    >>> np.flatnonzero(levels)[:3].tolist(), detector.width, detector.estimate
    ([1023, 1055, 1087], 1000, 1.0)
    """

    __slots__ = ("_both", "_delta", "_table", "clock", "delta", "direction", "max_buckets", "min_side", "min_window")

    def __init__(
        self,
        *,
        delta: float = 0.002,
        clock: int = 32,
        min_window: int = 10,
        min_side: int = 5,
        max_buckets: int = 5,
        direction: Literal["up", "both"] = "up",
    ) -> None:
        params.number("delta", delta, above=0, below=1)
        params.whole("clock", clock, least=1, most=1_000_000)
        params.whole("min_window", min_window, least=0, most=1_000_000)
        params.whole("min_side", min_side, least=1, most=1_000_000)
        params.whole("max_buckets", max_buckets, least=2, most=1000)
        params.choice("direction", direction, ("up", "both"))
        self.delta = delta
        self.clock = clock
        self.min_window = min_window
        self.min_side = min_side
        self.max_buckets = max_buckets
        self.direction = direction
        self._delta, self._both = float(delta), direction == "both"
        self._table = self._new_table()

    def update(self, value: float) -> bool:
        """Take one value; True when it reveals a drift."""
        x = value if type(value) is float else _number(value)
        if not -_MOST <= x <= _MOST:
            raise ValueError(f"value must be a finite number of size at most {_MOST:g}, got {shown(value)}")
        return bool(adwin_jit.update_one(self._table, 0, x, self._delta, self._both))

    def update_many(self, values: Any) -> NDArray[np.int8]:
        """Take many values in order; give a level for each: 0 stable, 2 drift. One bad value, and none is taken."""
        array = _numbers(values)
        bad = adwin_jit.first_unfit(array, _MOST)
        if bad >= 0:
            raise ValueError(f"values must be finite and of size at most {_MOST:g}, got {array[bad]} at index {bad}")
        levels = np.empty(len(array), dtype=np.int8)
        adwin_jit.update_many(self._table, 0, array, self._delta, self._both, levels)
        return levels

    @property
    def drift_detected(self) -> bool:
        """Did the last value reveal a drift?"""
        return bool(self._table[0, LAST] == 2.0)

    @property
    def warning_detected(self) -> bool:
        """Always False: ADWIN has no warning level. For an early warning take a second one with a larger delta."""
        return False

    @property
    def estimate(self) -> float:
        """The mean of the window; 0.0 when it is empty."""
        return float(self._table[0, TOTAL] / max(self._table[0, WIDTH], 1.0))

    @property
    def width(self) -> int:
        """Values in the window."""
        return int(self._table[0, WIDTH])

    @property
    def variance(self) -> float:
        """The variance of the window; 0.0 when it is empty."""
        return float(self._table[0, SPREAD] / max(self._table[0, WIDTH], 1.0))

    @property
    def n_detections(self) -> int:
        """Drifts revealed so far."""
        return int(self._table[0, CHANGES])

    # -- state and parameters -----------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out all that the detector knows, as one table."""
        return {"table": self._table.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what ``state`` of a detector with the same parameters gave. The table is used as it is."""
        table = state.get("table") if isinstance(state, Mapping) else None
        if table is None or not self._fits(table):
            raise ValueError("state must be what state() of an ADWIN with the same parameters gave")
        self._table = table if table.flags.writeable else table.copy()

    def _fits(self, table: Any) -> bool:
        """Could a detector with these parameters have this table?"""
        mine = self._new_table()
        if not isinstance(table, np.ndarray) or (table.shape, table.dtype) != (mine.shape, mine.dtype):
            return False
        constants, row = slice(adwin_jit.CLOCK, adwin_jit.BUCKETS), table[0]
        if not table.flags.c_contiguous or not np.isfinite(row).all() or (row != mine[0])[constants].any():
            return False
        levels, held = row[adwin_jit.LEVELS], row[adwin_jit.BUCKETS :: 2 * int(self.max_buckets) + 3]
        used = np.arange(len(held)) < levels
        return bool(
            levels in range(len(held) + 1)
            and (held == np.floor(held)).all()
            and ((held >= used) & (held <= used * int(self.max_buckets))).all()
            and row[WIDTH] == held @ np.ldexp(1.0, np.arange(len(held)))
            and row[SPREAD] >= 0.0
        )

    def reset(self) -> Self:
        """Forget everything but the parameters."""
        self._table = self._new_table()
        return self

    def copy(self) -> Self:
        """Make a detector with the same parameters and the same knowledge that goes its own way."""
        twin = type(self)(**self.get_params())
        twin.restore(self.state())
        return twin

    @classmethod
    @lru_cache
    def _defaults(cls) -> dict[str, Any]:
        return {p.name: p.default for p in inspect.signature(cls).parameters.values()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def __repr__(self) -> str:
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v != self._defaults()[k]]
        return f"ADWIN({', '.join(changed)})"

    def _new_table(self) -> NDArray[np.float64]:
        clock, window, side, m = map(int, (self.clock, self.min_window, self.min_side, self.max_buckets))
        return adwin_jit.new_table(1, clock=clock, least_window=window, least_side=side, m=m)


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
