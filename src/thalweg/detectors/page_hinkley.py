"""Page-Hinkley: have the deviations from the mean so far added up to too much since their sum was lowest?"""

from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.fields import choice, number, whole
from thalweg.detectors import page_hinkley_jit
from thalweg.detectors.detector import Detector
from thalweg.detectors.page_hinkley_jit import P_DOWN, P_HIGHEST, P_LOWEST, P_UP


@final
class PageHinkley(Detector):
    """Detect a rise of the mean of any numbers by the sum of their deviations from the mean so far.

    m is the sum of x - x̄ - ``slack`` over the values so far; with every value it fades by the factor ``fading``. When
    m exceeds the lowest m so far by more than ``threshold`` there is a drift, and the detector starts anew. It has no
    warning level: for an early warning take a second one with a lower threshold.

    The defaults are MOA's. river's positions are met exactly (its default is both directions). MOA compares m itself
    with the threshold, not what it is above its lowest, and so reports later: the longer the good times, the later.

    References
    ----------
    E. S. Page, Continuous inspection schemes, Biometrika 41, 1954; D. V. Hinkley, Inference about the change-point
    from cumulative sum tests, Biometrika 58, 1971.

    Examples
    --------
    >>> detector = PageHinkley(threshold=20)
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [0, 1] * 500)
    >>> np.flatnonzero(levels == 2).tolist()
    [1083]
    """

    code: ClassVar[int] = page_hinkley_jit.CODE
    _step, _run = staticmethod(page_hinkley_jit.step), staticmethod(page_hinkley_jit.run)
    _rows: ClassVar[type] = page_hinkley_jit.Rows

    min_values: int = whole(default=30, doc="Values before the first test.", least=1, most=1_000_000)
    slack: float = number(default=0.005, doc="The rise that does not matter (δ).", least=0, most=1e100)
    threshold: float = number(
        default=50.0, doc="In units of the values (λ): greater is slower and surer.", above=0, most=1e100
    )
    fading: float = number(default=0.9999, doc="α; 1 forgets nothing, as in the paper.", above=0, most=1)
    direction: Literal["up", "both"] = choice(default="up", doc='"both": a fall is a drift, too.')

    def rules(self) -> NDArray[np.float64]:
        """Give min_values, slack, threshold, fading, and 1.0 where a fall is a drift, too."""
        both = self.direction == "both"
        return np.array([self.min_values, self.slack, self.threshold, self.fading, both], dtype=np.float64)

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        lowest, highest = np.minimum(rows[:, P_UP], 0.0), np.maximum(rows[:, P_DOWN], 0.0)
        return bool((rows[:, P_LOWEST] <= lowest).all() and (rows[:, P_HIGHEST] >= highest).all())
