"""HDDM-W: has the weighted average risen since it was lowest, by more than McDiarmid's inequality allows?"""

import math
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.fields import number
from thalweg.detectors import hddm_w_jit
from thalweg.detectors.hddm import HDDM


@final
class HDDMW(HDDM):
    """Detect a rise of the mean that comes slowly, with averages in which the newest values weigh most.

    An exponentially weighted average of all values is remembered at the moment when it plus its bound was lowest, and
    compared with the average of the values since. A gap above McDiarmid's bound at ``warning_delta`` is a warning, at
    ``delta`` a drift, after which the detector starts anew.

    Values must lie in [0, 1]. The levels of MOA's one-sided test are met exactly (MOA's detectors of this kind share
    one set of averages, so no two of them can be used at once). river gives a first value less than its full weight in
    the bound, so some of its positions are a few values earlier.

    References
    ----------
    I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz and Y. Caballero-Mota,
    Online and non-parametric drift detection methods based on Hoeffding's bounds, IEEE Transactions on Knowledge and
    Data Engineering 27(3), 2015.

    Examples
    --------
    >>> detector = HDDMW()
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250)
    >>> np.flatnonzero(levels == 1)[:2].tolist(), np.flatnonzero(levels == 2).tolist()
    ([1021, 1022], [1026])
    """

    code: ClassVar[int] = hddm_w_jit.CODE
    _step, _run = staticmethod(hddm_w_jit.step), staticmethod(hddm_w_jit.run)
    _rows: ClassVar[type] = hddm_w_jit.Rows

    weight: float = number(default=0.05, doc="Weight of the newest value (λ).", above=0, below=1)

    def rules(self) -> NDArray[np.float64]:
        """Give the weight, ln(1/δ) / 2 of a warning and of a drift, and what a fall is (0, 1, 2)."""
        bounds = [math.log(1.0 / float(d)) / 2.0 for d in (self.warning_delta, self.delta)]
        return np.array([self.weight, *bounds, self._falls], dtype=np.float64)

    def _sound(self, rows: NDArray[np.float64]) -> bool:
        return True
