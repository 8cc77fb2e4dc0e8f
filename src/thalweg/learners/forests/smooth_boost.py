"""Online smooth boosting: each member learns what those before it get wrong."""

from typing import Literal, final

from thalweg.core import params
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest, Plan

VARIANTS = {"plain": m.BOOST_PLAIN, "ocp": m.BOOST_CONVEX, "exp": m.BOOST_EXPONENTIAL}


@final
class OnlineSmoothBoost(Forest):
    """A row reaches each member with a weight that falls, smoothly, the more the members before are right about it.

    size: members. gamma: how much better than chance members are taken to be (γ).
    weights: how the votes are weighed: "plain" (all alike), "ocp" (learned by online convex programming), "exp"
    (exponential weights over the first member, the first two, the first three, …).
    grace_period, delta, tau, criterion, leaf, binary_splits, null_merit, leaf_range, smoothing: of the trees, see
    HoeffdingTree.
    limit_bytes: the model never takes more; the least promising leaves of all members stop observing. None: no limit.
    n_jobs: threads (-1: one on each core); they change nothing but the time. seed: for every draw.

    Reference: S.-T. Chen, H.-T. Lin, C.-J. Lu, "An online boosting algorithm with theoretical justifications",
    ICML 2012.

    >>> from thalweg import SEA, OnlineSmoothBoost
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = OnlineSmoothBoost(size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        size: int = 10,
        gamma: float = 0.1,
        weights: Literal["plain", "ocp", "exp"] = "plain",
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
        self.gamma = gamma
        self.weights = weights
        params.number("gamma", gamma, above=0, below=1)
        params.choice("weights", weights, tuple(VARIANTS))

    def _make_plan(self, d: int) -> Plan:
        return Plan(
            rules=self._tree_rules(),
            sampling=m.DRAW_BOOST,
            votes=m.VOTE_BY_ALPHA,
            gamma=self.gamma,
            variant=VARIANTS[self.weights],
        )
