"""Streaming random patches: each tree sees its own features and its own sample of the rows."""

from typing import Literal, final

from thalweg.core import params
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest, Plan
from thalweg.learners.forests.subspace import check_subspace, features_of

METHODS = ("patches", "subspaces", "resampling")


@final
class StreamingRandomPatches(Forest):
    """Each tree has its own random features and a Poisson(6) sample of the rows; a warned tree gets a successor.

    size: members. rate: mean of the weights (λ).
    subspace: features for each tree: a number (below 0: all but so many), a share of them, "sqrt", "inv_sqrt", "all".
    drift, warning: detectors or their names, for each member's errors; "none": no replacement, no background trees.
    method: "patches" (features and rows), "subspaces" (features only), "resampling" (rows only).
    weighted_vote: weigh members by their accuracy. detect_before: feed detectors the error before learning a row, not
    after.
    grace_period, delta, tau, criterion, leaf, binary_splits, null_merit, leaf_range, smoothing: of the trees, see
    HoeffdingTree.
    limit_bytes: the model never takes more; the least promising leaves of all members stop observing. None: no limit.
    n_jobs: threads (-1: one on each core); they change nothing but the time. seed: for every draw.

    Reference: H. M. Gomes, J. Read, A. Bifet, "Streaming random patches for evolving data stream classification",
    ICDM 2019.

    >>> from thalweg import Agrawal, StreamingRandomPatches
    >>> chunk = Agrawal(seed=1).read(5_000)
    >>> forest = StreamingRandomPatches(size=5)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        size: int = 100,
        rate: float = 6.0,
        subspace: int | float | str = 0.6,
        drift: str | Detector | None = "adwin(delta=0.00001)",
        warning: str | Detector | None = "adwin(delta=0.0001)",
        method: Literal["patches", "subspaces", "resampling"] = "patches",
        weighted_vote: bool = True,
        detect_before: bool = False,
        grace_period: float = 50,
        delta: float = 0.01,
        tau: float = 0.05,
        criterion: Literal["gain", "gini"] = "gain",
        leaf: Literal["majority", "bayes", "adaptive"] = "adaptive",
        binary_splits: bool = True,
        null_merit: Literal["zero", "moa"] = "moa",
        leaf_range: bool = True,
        smoothing: float = 0.03,
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
        self.subspace = subspace
        self.drift = drift
        self.warning = warning
        self.method = method
        self.weighted_vote = weighted_vote
        self.detect_before = detect_before
        params.number("rate", rate, above=0, most=1000)
        params.choice("method", method, METHODS)
        params.flag("weighted_vote", weighted_vote)
        params.flag("detect_before", detect_before)
        check_subspace(subspace)
        make_detector("drift", drift)
        make_detector("warning", warning)

    def _make_plan(self, d: int) -> Plan:
        k = max(min(2, d), features_of(self.subspace, d))
        patches = self.method != "resampling" and k < d
        drift = make_detector("drift", self.drift)
        return Plan(
            rules=self._tree_rules(k if patches else None),
            sampling=m.DRAW_ONCE if self.method == "subspaces" else m.DRAW_POISSON,
            rate=self.rate,
            votes=m.VOTE_BY_ACCURACY if self.weighted_vote else m.VOTE_EQUAL,
            replacing=m.REPLACE_NEVER if drift is None else m.REPLACE_OWN,
            drift=drift,
            warning=None if drift is None else make_detector("warning", self.warning),
            detect_before=self.detect_before,
            background_sampled=True,
            patches=patches,
        )
