"""KSWIN: do the newest values of a window look as if drawn from the same source as the older ones?"""

from functools import lru_cache
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.fields import choice, number, whole
from thalweg.detectors import kswin_jit
from thalweg.detectors.detector import Detector
from thalweg.detectors.kswin_jit import K_DISTANCE, K_DRAWS, K_HELD, K_NEXT, K_SORTED, K_WINDOW


@final
class KSWIN(Detector):
    """Detect a change of the whole distribution of the values, not only of its mean.

    For every value, the newest ``recent`` values of a window are compared with as many of the older ones, drawn at
    random, by the two-sample test of Kolmogorov and Smirnov. If the test finds that they differ, the older values are
    dropped; it is a drift if the newer have the higher mean (errors count 1, so a rise is bad news) or, with
    ``direction="both"``, in any case. There is no warning level.

    Memory and time per value grow with the window. The p-value is the one that
    ``scipy.stats.ks_2samp(…, method="asymp")`` gives; the paper takes √(-ln α / r) for the least distance.

    river draws the same way from its own random numbers and takes the exact p-value, tells a change of any kind, and
    after a drift drops the newer values, too.

    References
    ----------
    C. Raab, M. Heusinger, F.-M. Schleif, Reactive soft prototype computing for concept drift streams, Neurocomputing
    416, 2020.

    Examples
    --------
    >>> detector = KSWIN(delta=0.001)
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250)
    >>> np.flatnonzero(levels).tolist(), detector.estimate
    ([1024], 0.7333333333333333)
    """

    code: ClassVar[int] = kswin_jit.CODE
    _step, _run = staticmethod(kswin_jit.step), staticmethod(kswin_jit.run)
    _rows: ClassVar[type] = kswin_jit.Rows
    _changes: ClassVar[int] = kswin_jit.K_CHANGES
    _last: ClassVar[int] = kswin_jit.K_LAST
    _constants: ClassVar[slice] = slice(K_WINDOW, K_SORTED)

    delta: float = number(
        default=0.005,
        doc="Level of each test (α). A test is made for every value, so keep it small: the paper advises below 0.01.",
        above=0,
        below=1,
    )
    window: int = whole(default=100, doc="Values kept (n).", least=10, most=100_000)
    recent: int = whole(
        default=30,
        doc="Values on each side of the test (r), at most half the window. With few of them only large changes can be "
        "told from chance.",
        least=5,
    )
    direction: Literal["up", "both"] = choice(default="up", doc='"both": a lower mean is a drift, too.')
    seed: int = whole(default=1, doc="Random seed.", least=0)

    def _prepare(self) -> None:
        params.whole("recent", self.recent, least=5, most=int(self.window) // 2)
        super()._prepare()

    def rules(self) -> NDArray[np.float64]:
        """Give the least distance, times ``recent``, that is too far, and 1.0 where a fall is a drift, too."""
        return np.array(
            [least_distance(int(self.recent), float(self.delta)), self.direction == "both"], dtype=np.float64
        )

    def new_rows(self, n: int) -> NDArray[np.float64]:
        """Make a table of n detectors that have seen nothing; each draws its own random numbers."""
        return kswin_jit.new_table(n, window=int(self.window), recent=int(self.recent), seed=int(self.seed))

    @property
    def p_value(self) -> float:
        """The p-value of the last test; 1.0 before the first. After a drift the window must fill before the next."""
        return float(p_values(self._table[:1, K_DISTANCE], int(self.recent))[0])

    def _sizes(self) -> dict[str, int]:
        return {"window": int(self.window), "recent": int(self.recent)}

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        return bool((rows[:, K_DRAWS] % int(self.recent) == 0).all()) and all(map(self._holds_a_window, rows))

    def _holds_a_window(self, row: NDArray[np.float64]) -> bool:
        """Are the values in order, each in its slot, and is the deck complete?"""
        w, r = int(self.window), int(self.recent)
        held, newest = int(row[K_HELD]), int(row[K_NEXT]) - 1
        values, order, marks, deck = np.split(row[K_SORTED:], [w, 2 * w, 3 * w])
        slots = np.arange(newest, newest - held, -1) % w  # of the window, newest first
        expected = np.zeros(w)
        expected[slots[:r]] = 1.0
        return bool(
            (np.sort(order[:held]) == np.sort(slots)).all()
            and (np.diff(values[:held]) >= 0.0).all()
            and (marks == expected).all()
            and (np.sort(deck) == np.arange(w - r)).all()
        )


@lru_cache
def least_distance(recent: int, delta: float) -> int:
    """Give the least distance of two samples of ``recent`` values, times ``recent``, whose p-value is at most delta.

    >>> least_distance(30, 0.005)
    13
    """
    return int(np.argmax(p_values(np.arange(recent + 1.0), recent) <= delta))


def p_values(distance: NDArray[np.float64], recent: int) -> NDArray[np.float64]:
    """Give the p-values of distances, times ``recent``, of two samples of ``recent`` values.

    >>> p_values(np.array([0, 13, 14]), 30).round(4).tolist()
    [1.0, 0.0045, 0.0016]
    """
    from scipy.stats import kstwo

    return np.asarray(kstwo.sf(distance / recent, np.round(recent / 2)), dtype=np.float64)
