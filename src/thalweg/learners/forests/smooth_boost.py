"""Online smooth boosting: each member learns what those before it get wrong."""

from typing import Literal, final

from thalweg.core.fields import choice, number
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.forest import Forest
from thalweg.learners.forests.plan import Plan

VARIANTS = {"plain": m.BOOST_PLAIN, "ocp": m.BOOST_CONVEX, "exp": m.BOOST_EXPONENTIAL}


@final
class OnlineSmoothBoost(Forest):
    """A row reaches each member with a weight that falls, smoothly, the more the members before are right about it.

    References
    ----------
    S.-T. Chen, H.-T. Lin, C.-J. Lu, "An online boosting algorithm with theoretical justifications", ICML 2012.

    Examples
    --------
    >>> from thalweg import SEA, OnlineSmoothBoost
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = OnlineSmoothBoost(size=3)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    gamma: float = number(default=0.1, doc="How much better than chance members are taken to be (γ).", above=0, below=1)
    weights: Literal["plain", "ocp", "exp"] = choice(
        default="plain",
        doc="How the votes are weighed: all alike, learned by online convex programming, or by exponential "
        "weights over the first member, the first two, the first three, …",
    )

    def _make_plan(self, d: int) -> Plan:
        return Plan(
            rules=self._tree_rules(),
            sampling=m.DRAW_BOOST,
            votes=m.VOTE_BY_ALPHA,
            gamma=self.gamma,
            variant=VARIANTS[self.weights],
        )
