"""Online bagging: each member sees each row a random number of times."""

from typing import Literal, final

from thalweg.core import params
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest, Plan


@final
class OnlineBagging(Forest):
    """Each tree learns each row with a weight drawn from Poisson(rate), as if it had its own bootstrap sample.

    size: members. rate: mean of the weights (λ).
    drift: a detector or its name, one for each member's errors; at a drift the worst member starts anew (ADWIN
    bagging). None: members are never replaced.
    grace_period, delta, tau, criterion, leaf, binary_splits, null_merit, leaf_range, smoothing: of the trees, see
    HoeffdingTree.
    limit_bytes: the model never takes more; the least promising leaves of all members stop observing. None: no limit.
    n_jobs: threads (-1: one on each core); they change nothing but the time. seed: for every draw.

    Reference: N. Oza, S. Russell, "Online bagging and boosting", AISTATS 2001; with ADWIN: A. Bifet, G. Holmes,
    B. Pfahringer, R. Kirkby, R. Gavaldà, "New ensemble methods for evolving data streams", KDD 2009.

    >>> from thalweg import SEA, OnlineBagging
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = OnlineBagging(size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        size: int = 10,
        rate: float = 1.0,
        drift: str | Detector | None = None,
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
        self.drift = drift
        params.number("rate", rate, above=0, most=1000)
        make_detector("drift", drift)

    def _make_plan(self, d: int) -> Plan:
        drift = make_detector("drift", self.drift)
        replacing = m.REPLACE_NEVER if drift is None else m.REPLACE_WORST
        return Plan(rules=self._tree_rules(), rate=self.rate, drift=drift, replacing=replacing, feed_always=True)
