"""HDDM-A: has the mean risen since it was lowest, by more than Hoeffding's inequality allows?"""

import math
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from thalweg.detectors import hddm_a_jit
from thalweg.detectors.hddm import HDDM
from thalweg.detectors.hddm_a_jit import H_N, H_N_HIGH, H_N_LOW, H_TOTAL, H_TOTAL_HIGH, H_TOTAL_LOW


@final
class HDDMA(HDDM):
    """Detect a sudden rise of the mean, with a bound that holds for any distribution of values in [0, 1].

    The mean of all values is compared with the mean up to the moment when that mean plus its bound was lowest. A gap
    above Hoeffding's bound at ``warning_delta`` is a warning, at ``delta`` a drift, after which the detector starts
    anew.

    Values must lie in [0, 1]. MOA's and river's levels are met exactly; MOA's default is the direction "forget", there
    called two-sided, and river's two-sided test is "both".

    References
    ----------
    I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz and Y. Caballero-Mota,
    Online and non-parametric drift detection methods based on Hoeffding's bounds, IEEE Transactions on Knowledge and
    Data Engineering 27(3), 2015.

    Examples
    --------
    >>> detector = HDDMA()
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [0, 1] * 500)
    >>> np.flatnonzero(levels == 1)[:2].tolist(), np.flatnonzero(levels == 2).tolist()
    ([1045, 1047], [1059])
    """

    code: ClassVar[int] = hddm_a_jit.CODE
    _step, _run = staticmethod(hddm_a_jit.step), staticmethod(hddm_a_jit.run)
    _rows: ClassVar[type] = hddm_a_jit.Rows

    def rules(self) -> NDArray[np.float64]:
        """Give ln(1/δ) / 2, ln(2/δ) / 2 of a warning and of a drift, and what a fall is (0, 1, 2)."""
        drift, warning = float(self.delta), float(self.warning_delta)
        bounds = math.log(1.0 / drift), math.log(2.0 / warning), math.log(2.0 / drift)
        return np.array([*(b / 2.0 for b in bounds), self._falls], dtype=np.float64)

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        n, total = rows[:, [H_N, H_N_LOW, H_N_HIGH]], rows[:, [H_TOTAL, H_TOTAL_LOW, H_TOTAL_HIGH]]
        return bool((n <= n[:, :1]).all() and (total <= n).all())
