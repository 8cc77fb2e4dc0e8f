"""Streaming random patches: each tree sees its own features and its own sample of the rows."""

from typing import Literal, final

from thalweg.core.fields import again, choice, flag, free, number
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest
from thalweg.learners.forests.plan import Plan
from thalweg.learners.forests.subspace import check_subspace, features_of


@final
class StreamingRandomPatches(Forest):
    """Each tree has its own random features and a Poisson(6) sample of the rows; a warned tree gets a successor.

    References
    ----------
    H. M. Gomes, J. Read, A. Bifet, "Streaming random patches for evolving data stream classification", ICDM 2019.

    Examples
    --------
    >>> from thalweg import Agrawal, StreamingRandomPatches
    >>> chunk = Agrawal(seed=1).read(5_000)
    >>> forest = StreamingRandomPatches(size=5)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    size: int = again(default=100)
    rate: float = number(default=6.0, doc="Mean of the weights (λ).", above=0, most=1000)
    subspace: int | float | str = free(
        default=0.6,
        doc='Features for each tree: a number (below 0: all but so many), a share of them, "sqrt" (√d + 1), "inv_sqrt" '
        '(d - √d - 1), or "all".',
        check=check_subspace,
    )
    drift: str | Detector | None = free(
        default="adwin(delta=0.00001)",
        doc='Detector, or its name, of each member\'s errors that replaces its tree; "none": no replacement.',
        check=make_detector,
    )
    warning: str | Detector | None = free(
        default="adwin(delta=0.0001)",
        doc='Detector, or its name, that starts a tree in the background; "none": no such trees.',
        check=make_detector,
    )
    method: Literal["patches", "subspaces", "resampling"] = choice(
        default="patches", doc="What trees differ in: features and rows, features only, or rows only."
    )
    weighted_vote: bool = flag(default=True, doc="Weigh members by their accuracy.")
    detect_before: bool = flag(default=False, doc="Feed detectors the error before learning a row, not after.")
    grace_period: float = again(default=50)
    delta: float = again(default=0.01)
    smoothing: float = again(default=0.03)

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
