"""Leveraging bagging: bagging with heavier weights, and the worst member replaced at a drift."""

from typing import Literal, final

from thalweg.core import params
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest, Plan

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

    size: members. rate: mean of the weights (λ).
    sampling: "poisson"; "missed" (rows that the member gets wrong always, others with the odds of its error; the
    paper's me); "half" (a coin); "one_more" (1 + Poisson(1); wt); "any" (1 where Poisson(1) > 0; subag).
    drift: a detector or its name, for each member's errors. None: members are never replaced.
    codes: give each member a random division of the classes into two halves to learn (output codes).
    grace_period, delta, tau, criterion, leaf, binary_splits, null_merit, leaf_range, smoothing: of the trees, see
    HoeffdingTree.
    limit_bytes: the model never takes more; the least promising leaves of all members stop observing. None: no limit.
    n_jobs: threads (-1: one on each core); they change nothing but the time. seed: for every draw.

    Reference: A. Bifet, G. Holmes, B. Pfahringer, "Leveraging bagging for evolving data streams", ECML PKDD 2010.

    >>> from thalweg import SEA, LeveragingBagging
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = LeveragingBagging(size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        size: int = 10,
        rate: float = 6.0,
        sampling: Literal["poisson", "missed", "half", "one_more", "any"] = "poisson",
        drift: str | Detector | None = "adwin",
        codes: bool = False,
        grace_period: float = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        criterion: Literal["gain", "gini"] = "gain",
        leaf: Literal["majority", "bayes", "adaptive"] = "adaptive",
        binary_splits: bool = True,
        null_merit: Literal["zero", "moa"] = "moa",
        leaf_range: bool = True,
        smoothing: float = 0.0,
        limit_bytes: int | None = None,
        seed: int = 1,
        n_jobs: int = 1,
    ) -> None:
        super().__init__(
            size=size, grace_period=grace_period, delta=delta, tau=tau, criterion=criterion, leaf=leaf,
            binary_splits=binary_splits, null_merit=null_merit, leaf_range=leaf_range, smoothing=smoothing,
            limit_bytes=limit_bytes, seed=seed, n_jobs=n_jobs,
        )  # fmt: skip
        self.rate = rate
        self.sampling = sampling
        self.drift = drift
        self.codes = codes
        params.number("rate", rate, above=0, most=1000)
        params.choice("sampling", sampling, tuple(SAMPLINGS))
        params.flag("codes", codes)
        if make_detector("drift", drift) is None and sampling == "missed":
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
