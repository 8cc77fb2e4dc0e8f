"""A tree that splits as soon as a split is better than none, and goes back on a split once another is better."""

from typing import final

from thalweg.core.fields import number
from thalweg.learners.trees.efdt_jit import Kept, play
from thalweg.pool.extras import Extras
from thalweg.pool.pool_jit import KEPT
from thalweg.pool.rules import GrowingAlone
from thalweg.pool.tree import Splitting, Tree
from thalweg.show.tree_picture import Pictured


@final
class ExtremelyFastDecisionTree(GrowingAlone, Splitting, Tree, Pictured):
    """A leaf splits once its best attribute beats no split; each inner node goes on observing, and reviews its split.

    At a review another attribute wins if it is better than the present one by more than the bound, or by more than
    tau / 2 where the bound is below tau; the subtree below is then thrown away. At the limit of memory first inner
    nodes stop observing, then the least promising leaves.

    Missing values are skipped by the observers and follow the heavier branch.

    References
    ----------
    C. Manapragada, G. I. Webb, M. Salehi, "Extremely fast decision tree", KDD 2018 (Hoeffding anytime tree). Other
    than in MOA each inner node reviews its split by the weight that it has seen itself, merits are those of the
    present and not averaged over past attempts, and a nominal attribute may be tested twice on a path.

    Examples
    --------
    >>> from thalweg import SEA, ExtremelyFastDecisionTree
    >>> chunk = SEA(seed=1).read(10_000)
    >>> tree = ExtremelyFastDecisionTree()
    >>> proba = tree.test_then_train(chunk.X, chunk.y)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    __slots__ = ()

    _routine = staticmethod(play)
    review_period: float = number(
        default=200, doc="Weight an inner node gains between two reviews of its split.", above=0
    )

    def _extras(self) -> Extras:
        return Extras(kind=KEPT, bundle=Kept, turns=3, rules=(float(self.review_period),))

    @property
    def revisions(self) -> dict[str, int]:
        """How many leaves were split, splits replaced by better ones, and subtrees cut back to a leaf.

        Examples
        --------
        >>> from thalweg import ExtremelyFastDecisionTree
        >>> ExtremelyFastDecisionTree().revisions
        {'splits': 0, 'replaced': 0, 'cut': 0}
        """
        splits, replaced, cut = self._pool.turns.tolist() if self._started else (0, 0, 0)
        return {"splits": splits, "replaced": replaced, "cut": cut}
