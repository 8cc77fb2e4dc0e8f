"""ADWIN: a window that grows while the mean stays the same and drops its past when the mean changes."""

from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.fields import choice, number, whole
from thalweg.detectors import adwin_jit
from thalweg.detectors.adwin_jit import A_CONSTANTS, A_SPREAD, A_WIDTH
from thalweg.detectors.detector import Detector


@final
class ADWIN(Detector):
    """Detect a change of the mean, with a window that adapts its own width.

    Every ``clock`` values the window is searched for a place where the mean before differs from the mean after by more
    than chance allows; its oldest part is dropped until there is none. A drop is a change; it is a drift if the mean
    rose (errors count 1, so a rise is bad news) or, with ``direction="both"``, in any case.

    The rules and defaults are MOA's. Memory and time per value grow with the logarithm of the width. ADWIN has no
    warning level: for an early warning take a second one with a larger delta.

    References
    ----------
    A. Bifet, R. Gavaldà, Learning from time-changing data with adaptive windowing, SDM 2007.

    Examples
    --------
    >>> detector = ADWIN()
    >>> levels = detector.update_many([0.0] * 1000 + [1.0] * 1000)
    >>> np.flatnonzero(levels)[:3].tolist(), detector.width, detector.estimate
    ([1023, 1055, 1087], 1000, 1.0)
    """

    code: ClassVar[int] = adwin_jit.CODE
    _step, _run = staticmethod(adwin_jit.step), staticmethod(adwin_jit.run)
    _rows: ClassVar[type] = adwin_jit.Rows
    _changes: ClassVar[int] = adwin_jit.A_CHANGES
    _last: ClassVar[int] = adwin_jit.A_LAST
    _constants: ClassVar[slice] = A_CONSTANTS

    delta: float = number(default=0.002, doc="Confidence (δ): smaller is slower and surer.", above=0, below=1)
    clock: int = whole(default=32, doc="Values between two searches.", least=1, most=1_000_000)
    min_window: int = whole(default=10, doc="A search needs more values than this.", least=0, most=1_000_000)
    min_side: int = whole(
        default=5, doc="A cut needs more than one value more than this on either side.", least=1, most=1_000_000
    )
    max_buckets: int = whole(default=5, doc="Buckets per size (M): more are finer and slower.", least=2, most=1000)
    direction: Literal["up", "both"] = choice(default="up", doc='"both": a fall of the mean is a drift, too.')

    def rules(self) -> NDArray[np.float64]:
        """Give delta, and 1.0 where a falling mean is a drift, too."""
        return np.array([float(self.delta), self.direction == "both"])

    def new_rows(self, n: int) -> NDArray[np.float64]:
        """Make a table of n detectors with these parameters that have seen nothing."""
        clock, window, side, m = map(int, (self.clock, self.min_window, self.min_side, self.max_buckets))
        return adwin_jit.new_table(n, clock=clock, least_window=window, least_side=side, m=m)

    @property
    def width(self) -> int:
        """Values in the window."""
        return int(self._table[0, A_WIDTH])

    @property
    def variance(self) -> float:
        """The variance of the window; 0.0 when it is empty."""
        return float(self._table[0, A_SPREAD] / max(self._table[0, A_WIDTH], 1.0))

    def _sizes(self) -> dict[str, int]:
        return {"m": int(self.max_buckets), "levels": adwin_jit.LEVELS}

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        return adwin_jit.adds_up(rows, self.new_rows(1)[0])
