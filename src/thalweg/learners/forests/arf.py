"""The adaptive random forest: leaves that look at random features, and trees that are replaced when they fail."""

from typing import Any, Literal, final

from thalweg.core.fields import again, choice, flag, free, number
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest
from thalweg.learners.forests.plan import Plan
from thalweg.learners.forests.subspace import check_subspace, features_of

PRESETS: dict[str, dict[str, Any]] = {
    "2017": {"subspace": "sqrt", "warning": "adwin(delta=0.0001)", "drift": "adwin(delta=0.00001)"},
    "moa-2025": {"subspace": 0.6, "warning": "adwin(delta=0.01)", "drift": "adwin(delta=0.001)"},
}


@final
class AdaptiveRandomForest(Forest):
    """Trees on Poisson(6) samples whose leaves each watch a few random features; a warned tree gets a successor.

    At a warning a tree starts to grow in the background of the member; at a drift it takes the member's place.

    References
    ----------
    H. M. Gomes, A. Bifet, J. Read, J. P. Barddal, F. Enembreck, B. Pfahringer, G. Holmes, T. Abdessalem, "Adaptive
    random forests for evolving data stream classification", Machine Learning 106, 2017.

    Examples
    --------
    >>> from thalweg import SEA, AdaptiveRandomForest
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = AdaptiveRandomForest(size=5)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    size: int = again(default=100)
    rate: float = number(default=6.0, doc="Mean of the weights (λ).", above=0, most=1000)
    subspace: int | float | str | None = free(
        default=None,
        doc='Features for each leaf: a number (below 0: all but so many), a share of them, "sqrt" (√d + 1), "inv_sqrt" '
        '(d - √d - 1), or "all"; None: as the preset says.',
        check=check_subspace,
    )
    drift: str | Detector | None = free(
        default=None,
        doc='Detector, or its name, of each member\'s errors that replaces its tree; "none": no replacement; '
        "None: as the preset says.",
        check=make_detector,
    )
    warning: str | Detector | None = free(
        default=None,
        doc='Detector, or its name, that starts a tree in the background; "none": no such trees; None: as the '
        "preset says.",
        check=make_detector,
    )
    preset: Literal["2017", "moa-2025"] = choice(
        default="2017",
        doc="Where subspace, drift and warning are None: as in the paper (sqrt, ADWIN with 1e-5 and 1e-4), or "
        "as MOA does today (0.6, 1e-3 and 1e-2).",
    )
    weighted_vote: bool = flag(default=True, doc="Weigh members by their accuracy.")
    detect_before: bool = flag(default=False, doc="Feed detectors the error before learning a row, not after.")
    background_sampled: bool = flag(default=False, doc="Train background trees with the drawn weight too.")
    grace_period: float = again(default=50)
    delta: float = again(default=0.01)
    smoothing: float = again(default=0.03)

    def _prepare(self) -> None:
        if make_detector("drift", self._chosen("drift")) is None and self.warning not in (None, "none"):
            raise ValueError(f"warning must be none where drift is, got {self.warning!r}")

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
