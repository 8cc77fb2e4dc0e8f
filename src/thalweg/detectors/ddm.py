"""DDM: the error rate of a learner falls while the world stays the same; when it has risen too far, it has not."""

from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.fields import number, whole
from thalweg.detectors import ddm_jit
from thalweg.detectors.ddm_jit import D_N, D_TOTAL
from thalweg.detectors.detector import Detector


@final
class DDM(Detector):
    """Detect a rise of the error rate above the lowest it has been.

    With the error rate p of the values so far and its deviation s = √(p (1 - p) / n), the detector remembers p_min and
    s_min of the moment when p + s was lowest. When p + s exceeds p_min by ``warning_level`` times s_min it warns, by
    ``drift_level`` times s_min it reports a drift and starts anew. Simple and quick for sudden drifts; a slow rise may
    pass below its eyes, and after a long time without any error the first one is a drift.

    Values must lie in [0, 1]. MOA's levels are met exactly. river looks for the lowest rate from two values later on,
    which can change them.

    References
    ----------
    J. Gama, P. Medas, G. Castillo, P. Rodrigues, Learning with drift detection, SBIA 2004.

    Examples
    --------
    >>> detector = DDM()
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [0, 1] * 500)
    >>> np.flatnonzero(levels == 1)[:2].tolist(), np.flatnonzero(levels == 2).tolist()
    ([1055, 1057], [1121])
    """

    code: ClassVar[int] = ddm_jit.CODE
    _step, _run = staticmethod(ddm_jit.step), staticmethod(ddm_jit.run)
    _rows: ClassVar[type] = ddm_jit.Rows
    _least: ClassVar[float] = 0.0
    _most: ClassVar[float] = 1.0

    min_values: int = whole(default=30, doc="Values before the first test.", least=1, most=1_000_000)
    warning_level: float = number(default=2.0, doc="Level of a warning, in units of s_min.", above=0, most=1000)
    drift_level: float = number(default=3.0, doc="Level of a drift, in units of s_min.", above=0, most=1000)

    def _prepare(self) -> None:
        params.number("drift_level", self.drift_level, least=self.warning_level, most=1000)
        super()._prepare()

    def rules(self) -> NDArray[np.float64]:
        """Give min_values, warning_level, drift_level."""
        return np.array([self.min_values, self.warning_level, self.drift_level], dtype=np.float64)

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        return bool((rows[:, D_TOTAL] <= rows[:, D_N]).all())
