"""HDDM-W: has the weighted average risen since it was lowest, by more than McDiarmid's inequality allows?"""

import math
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.detectors import hddm_w_jit
from thalweg.detectors.detector import Detector
from thalweg.detectors.hddm_w_jit import W_CHANGES, W_DOWN, W_MEAN, W_UP, W_WEIGHTS

_FALLS = {"up": 0, "forget": 1, "both": 2}


@final
class HDDMW(Detector):
    """Detect a rise of the mean that comes slowly, with averages in which the newest values weigh most.

    An exponentially weighted average of all values is remembered at the moment when it plus its bound was lowest, and
    compared with the average of the values since. A gap above McDiarmid's bound at ``warning_delta`` is a warning, at
    ``delta`` a drift, after which the detector starts anew.

    weight: λ, the weight of the newest value. delta, warning_delta: δ of a drift and of a warning; smaller is slower
    and surer. direction: "up", a rise is a drift, and falls are not looked at; "forget", a fall is no drift but starts
    the detector anew, so that it sees the next rise sooner; "both", a fall is a drift, too. Values must lie in [0, 1].

    The levels of MOA's one-sided test are met exactly (MOA's detectors of this kind share one set of averages, so no
    two of them can be used at once). river gives a first value less than its full weight in the bound, so some of its
    positions are a few values earlier.

    Reference: I. Frías-Blanco, J. del Campo-Ávila, G. Ramos-Jiménez, R. Morales-Bueno, A. Ortiz-Díaz and
    Y. Caballero-Mota, Online and non-parametric drift detection methods based on Hoeffding's bounds, IEEE Transactions
    on Knowledge and Data Engineering 27(3), 2015.

    >>> detector = HDDMW()
    >>> levels = detector.update_many([0, 0, 0, 1] * 250 + [1, 1, 1, 0] * 250)
    >>> np.flatnonzero(levels == 1)[:2].tolist(), np.flatnonzero(levels == 2).tolist()
    ([1021, 1022], [1026])
    """

    code: ClassVar[int] = hddm_w_jit.CODE
    _step, _run = staticmethod(hddm_w_jit.step), staticmethod(hddm_w_jit.run)
    _columns: ClassVar[int] = hddm_w_jit.W_COLUMNS
    _least: ClassVar[float] = 0.0
    _most: ClassVar[float] = 1.0

    __slots__ = ("delta", "direction", "warning_delta", "weight")

    def __init__(
        self,
        *,
        weight: float = 0.05,
        delta: float = 0.001,
        warning_delta: float = 0.005,
        direction: Literal["up", "forget", "both"] = "up",
    ) -> None:
        params.number("weight", weight, above=0, below=1)
        params.number("delta", delta, above=0, below=1)
        params.number("warning_delta", warning_delta, least=delta, below=1)
        params.choice("direction", direction, _FALLS)
        self.weight = weight
        self.delta = delta
        self.warning_delta = warning_delta
        self.direction = direction
        super().__init__()

    def rules(self) -> NDArray[np.float64]:
        """Give the weight, ln(1/δ) / 2 of a warning and of a drift, and what a fall is (0, 1, 2)."""
        bounds = [math.log(1.0 / float(d)) / 2.0 for d in (self.warning_delta, self.delta)]
        return np.array([self.weight, *bounds, _FALLS[self.direction]], dtype=np.float64)

    def _sound(self, row: NDArray[np.float64], fresh: NDArray[np.float64]) -> bool:
        weights = row[[W_WEIGHTS, W_UP + 1, W_UP + 4, W_DOWN + 1, W_DOWN + 4]]
        in_range = (weights >= 0.0).all() and (weights <= 1.0).all() and 0.0 <= row[W_MEAN] <= 1.0
        return bool(in_range and (np.abs(row[W_UP:W_CHANGES]) <= 1000.0).all())
