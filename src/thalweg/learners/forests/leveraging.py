"""Leveraging bagging: bagging with heavier weights, and the worst member replaced at a drift."""

from typing import Literal, final

from thalweg.core.fields import choice, flag, free, number
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest
from thalweg.learners.forests.plan import Plan

SAMPLINGS = {
    "poisson": m.DRAW_POISSON,
    "missed": m.DRAW_MISSED,
    "half": m.DRAW_HALF,
    "one_more": m.DRAW_ONE_MORE,
    "any": m.DRAW_ANY,
}


@final
class LeveragingBagging(Forest):
    """Online bagging with weights from Poisson(6), and ADWIN on each member's errors: at a drift the worst starts anew.

    References
    ----------
    A. Bifet, G. Holmes, B. Pfahringer, "Leveraging bagging for evolving data streams", ECML PKDD 2010.

    Examples
    --------
    >>> from thalweg import SEA, LeveragingBagging
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = LeveragingBagging(size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    rate: float = number(default=6.0, doc="Mean of the weights (λ).", above=0, most=1000)
    sampling: Literal["poisson", "missed", "half", "one_more", "any"] = choice(
        default="poisson",
        doc='The weight of a row: "poisson"; "missed" (rows that the member gets wrong always, others with the odds of '
        'its error; the paper\'s me); "half" (a coin); "one_more" (1 + Poisson(1); wt); "any" (1 where Poisson(1) > 0; '
        "subag).",
    )
    drift: str | Detector | None = free(
        default="adwin",
        doc="Detector, or its name, of each member's errors; at a drift the worst member starts again. None: "
        "members are never replaced.",
        check=make_detector,
    )
    codes: bool = flag(
        default=False, doc="Give each member a random division of the classes into two halves to learn (output codes)."
    )

    def _prepare(self) -> None:
        if make_detector("drift", self.drift) is None and self.sampling == "missed":
            raise ValueError("sampling 'missed' needs the errors that a drift detector keeps, got drift None")

    def _make_plan(self, d: int) -> Plan:
        drift = make_detector("drift", self.drift)
        replacing = m.REPLACE_NEVER if drift is None else m.REPLACE_WORST
        sampling = SAMPLINGS[self.sampling]
        rate = 1.0 if sampling in (m.DRAW_ONE_MORE, m.DRAW_ANY) else self.rate
        return Plan(
            rules=self._tree_rules(), sampling=sampling, rate=rate, drift=drift, replacing=replacing, feed_always=True,
            codes=self.codes,
        )  # fmt: skip
