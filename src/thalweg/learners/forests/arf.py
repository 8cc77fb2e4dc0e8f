"""The adaptive random forest: leaves that look at random features, and trees that are replaced when they fail."""

from typing import Any, Literal, final

from thalweg.core import params
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest, Plan
from thalweg.learners.forests.subspace import check_subspace, features_of

PRESETS: dict[str, dict[str, Any]] = {
    "2017": {"subspace": "sqrt", "warning": "adwin(delta=0.0001)", "drift": "adwin(delta=0.00001)"},
    "moa-2025": {"subspace": 0.6, "warning": "adwin(delta=0.01)", "drift": "adwin(delta=0.001)"},
}


@final
class AdaptiveRandomForest(Forest):
    """Trees on Poisson(6) samples whose leaves each watch a few random features; a warned tree gets a successor.

    At a warning a tree starts to grow in the background of the member; at a drift it takes the member's place.
    size: members. rate: mean of the weights (λ).
    subspace: features for each leaf: a number (below 0: all but so many), a share of them, "sqrt" (√d + 1), "inv_sqrt"
    (d - √d), or "all".
    drift, warning: detectors or their names, for each member's errors; "none": no replacement, no background trees.
    preset: where subspace, drift and warning are None: "2017", as in the paper (sqrt, ADWIN with 1e-5 and 1e-4), or
    "moa-2025", as MOA does today (0.6, 1e-3 and 1e-2).
    weighted_vote: weigh members by their accuracy. detect_before: feed detectors the error before learning a row, not
    after. background_sampled: train background trees with the drawn weight too.
    grace_period, delta, tau, criterion, leaf, binary_splits, null_merit, leaf_range, smoothing: of the trees, see
    HoeffdingTree.
    limit_bytes: the model never takes more; the least promising leaves of all members stop observing. None: no limit.
    n_jobs: threads (-1: one on each core); they change nothing but the time. seed: for every draw.

    Reference: H. M. Gomes, A. Bifet, J. Read, J. P. Barddal, F. Enembreck, B. Pfahringer, G. Holmes, T. Abdessalem,
    "Adaptive random forests for evolving data stream classification", Machine Learning 106, 2017.

    >>> from thalweg import SEA, AdaptiveRandomForest
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = AdaptiveRandomForest(size=5)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        size: int = 100,
        rate: float = 6.0,
        subspace: int | float | str | None = None,
        drift: str | Detector | None = None,
        warning: str | Detector | None = None,
        preset: Literal["2017", "moa-2025"] = "2017",
        weighted_vote: bool = True,
        detect_before: bool = False,
        background_sampled: bool = False,
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
        self.preset = preset
        self.weighted_vote = weighted_vote
        self.detect_before = detect_before
        self.background_sampled = background_sampled
        params.number("rate", rate, above=0, most=1000)
        params.choice("preset", preset, tuple(PRESETS))
        for name in ("weighted_vote", "detect_before", "background_sampled"):
            params.flag(name, getattr(self, name))
        check_subspace(self._chosen("subspace"))
        make_detector("warning", warning)
        if make_detector("drift", self._chosen("drift")) is None and warning not in (None, "none"):
            raise ValueError(f"warning must be none where drift is, got {warning!r}")

    def _chosen(self, name: str) -> Any:
        """A parameter, or where it is None what the preset says."""
        value = getattr(self, name)
        return PRESETS[self.preset][name] if value is None else value

    def _make_plan(self, d: int) -> Plan:
        drift = make_detector("drift", self._chosen("drift"))
        return Plan(
            rules=self._tree_rules(features_of(self._chosen("subspace"), d)),
            rate=self.rate,
            votes=m.VOTE_BY_ACCURACY if self.weighted_vote else m.VOTE_EQUAL,
            replacing=m.REPLACE_NEVER if drift is None else m.REPLACE_OWN,
            drift=drift,
            warning=None if drift is None else make_detector("warning", self._chosen("warning")),
            detect_before=self.detect_before,
            background_sampled=self.background_sampled,
        )
