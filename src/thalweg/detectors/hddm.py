"""What HDDM-A and HDDM-W share: two levels of confidence, and what a fall of the mean is."""

from typing import ClassVar, Literal

from thalweg.core import params
from thalweg.core.fields import choice, number
from thalweg.detectors.detector import Detector


class HDDM(Detector):
    """Compares the mean of values in [0, 1] with what it was when it was lowest, by a bound for any distribution."""

    _least: ClassVar[float] = 0.0
    _most: ClassVar[float] = 1.0

    delta: float = number(
        default=0.001, doc="Confidence of a drift (δ): smaller is slower and more certain.", above=0, below=1
    )
    warning_delta: float = number(default=0.005, doc="Confidence of a warning.", above=0, below=1)
    direction: Literal["up", "forget", "both"] = choice(
        default="up",
        doc='"up": a rise is a drift, and falls are not looked at. "forget": a fall is no drift but starts the '
        'detector anew, so that it sees the next rise sooner. "both": a fall is a drift, too.',
    )

    def _prepare(self) -> None:
        params.number("warning_delta", self.warning_delta, least=self.delta, below=1)
        super()._prepare()

    @property
    def _falls(self) -> int:
        """What a fall is, for the compiled code: 0 nothing, 1 a reason to start anew, 2 a drift."""
        return ("up", "forget", "both").index(self.direction)
