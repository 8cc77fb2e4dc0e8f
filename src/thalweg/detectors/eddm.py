"""EDDM: errors of a learner move apart while the world stays the same; when they move together, it has not."""

from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.fields import number, whole
from thalweg.detectors import eddm_jit
from thalweg.detectors.detector import Detector
from thalweg.detectors.eddm_jit import E_AT, E_ERRORS, E_MEAN, E_N


@final
class EDDM(Detector):
    """Detect that errors follow each other sooner than they did: made for drifts that come slowly.

    With the mean distance p' from one error to the next and its deviation s', the detector remembers the greatest
    p' + 2 s'. When p' + 2 s' falls below the share ``warning_level`` of it, it warns, below ``drift_level`` it reports
    a drift and starts anew. The level stays until the next error. Quick to suspect: expect false alarms.

    Values must lie in [0, 1]; a half or more counts as an error. MOA's levels are met exactly. river divides the
    squared deviations by one less, so its positions differ by a few.

    References
    ----------
    M. Baena-García, J. del Campo-Ávila, R. Fidalgo, A. Bifet, R. Gavaldà, R. Morales-Bueno, Early drift detection
    method, IWKDDS 2006.

    Examples
    --------
    >>> detector = EDDM()
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [0, 1] * 500)
    >>> np.flatnonzero(levels == 1)[:2].tolist(), np.flatnonzero(levels == 2).tolist()
    ([1525, 1526], [1803])
    """

    code: ClassVar[int] = eddm_jit.CODE
    _step, _run = staticmethod(eddm_jit.step), staticmethod(eddm_jit.run)
    _rows: ClassVar[type] = eddm_jit.Rows
    _least: ClassVar[float] = 0.0
    _most: ClassVar[float] = 1.0

    min_errors: int = whole(default=30, doc="Errors before the first test.", least=1, most=1_000_000)
    min_values: int = whole(
        default=30, doc="Values before the greatest distance is looked for.", least=1, most=1_000_000
    )
    warning_level: float = number(default=0.95, doc="Share that warns (α).", above=0, below=1)
    drift_level: float = number(default=0.9, doc="Share that is a drift (β).", above=0, below=1)

    def _prepare(self) -> None:
        params.number("drift_level", self.drift_level, above=0, most=self.warning_level)
        super()._prepare()

    def rules(self) -> NDArray[np.float64]:
        """Give min_values, min_errors, warning_level, drift_level."""
        return np.array([self.min_values, self.min_errors, self.warning_level, self.drift_level], dtype=np.float64)

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        n, errors, at, mean = rows[:, [E_N, E_ERRORS, E_AT, E_MEAN]].T
        return bool(((errors <= at) & (at <= n) & (mean <= n)).all())
