"""Page-Hinkley: have the deviations from the mean so far added up to too much since their sum was lowest?"""

from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.detectors import page_hinkley_jit
from thalweg.detectors.detector import Detector, counts
from thalweg.detectors.page_hinkley_jit import P_DOWN, P_HIGHEST, P_LOWEST, P_N, P_TOTAL, P_UP


@final
class PageHinkley(Detector):
    """Detect a rise of the mean of any numbers by the sum of their deviations from the mean so far.

    m is the sum of x - x̄ - ``slack`` over the values so far; with every value it fades by the factor ``fading``. When
    m exceeds the lowest m so far by more than ``threshold`` there is a drift, and the detector starts anew. It has no
    warning level: for an early warning take a second one with a lower threshold.

    min_values: values before the first test. slack: δ, the rise that does not matter. threshold: λ, in units of the
    values; greater is slower and surer. fading: α; 1 forgets nothing, as in the paper. direction: "up", a rise is a
    drift; "both", a fall is a drift, too. The defaults are MOA's.

    river's positions are met exactly (its default is both directions). MOA compares m itself with the threshold, not
    what it is above its lowest, and so reports later: the longer the good times, the later.

    Reference: E. S. Page, Continuous inspection schemes, Biometrika 41, 1954; D. V. Hinkley, Inference about the
    change-point from cumulative sum tests, Biometrika 58, 1971.

    >>> detector = PageHinkley(threshold=20)
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [0, 1] * 500)
    >>> np.flatnonzero(levels == 2).tolist()
    [1083]
    """

    code: ClassVar[int] = page_hinkley_jit.CODE
    _step, _run = staticmethod(page_hinkley_jit.step), staticmethod(page_hinkley_jit.run)
    _columns: ClassVar[int] = page_hinkley_jit.P_COLUMNS

    __slots__ = ("direction", "fading", "min_values", "slack", "threshold")

    def __init__(
        self,
        *,
        min_values: int = 30,
        slack: float = 0.005,
        threshold: float = 50.0,
        fading: float = 0.9999,
        direction: Literal["up", "both"] = "up",
    ) -> None:
        params.whole("min_values", min_values, least=1, most=1_000_000)
        params.number("slack", slack, least=0, most=1e100)
        params.number("threshold", threshold, above=0, most=1e100)
        params.number("fading", fading, above=0, most=1)
        params.choice("direction", direction, ("up", "both"))
        self.min_values = min_values
        self.slack = slack
        self.threshold = threshold
        self.fading = fading
        self.direction = direction
        super().__init__()

    def rules(self) -> NDArray[np.float64]:
        """Give min_values, slack, threshold, fading, and 1.0 where a fall is a drift, too."""
        both = self.direction == "both"
        return np.array([self.min_values, self.slack, self.threshold, self.fading, both], dtype=np.float64)

    def _sound(self, row: NDArray[np.float64], fresh: NDArray[np.float64]) -> bool:
        lowest, highest, far = row[P_LOWEST], row[P_HIGHEST], np.abs(row[[P_TOTAL, P_UP, P_LOWEST, P_DOWN, P_HIGHEST]])
        return bool(
            counts(row[[P_N]])
            and lowest <= min(row[P_UP], 0.0)
            and max(row[P_DOWN], 0.0) <= highest
            and far.max() < 1e200
        )
