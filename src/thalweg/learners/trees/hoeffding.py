"""A decision tree that grows from a stream: Hoeffding's bound says when a leaf has seen enough to split."""

from typing import Literal, final

from thalweg.core.fields import choice, flag, number
from thalweg.learners.trees.hoeffding_jit import play
from thalweg.pool.rules import GrowingAlone
from thalweg.pool.tree import Splitting, Tree
from thalweg.show.tree_picture import Pictured


@final
class HoeffdingTree(GrowingAlone, Splitting, Tree, Pictured):
    """A leaf splits on its best attribute once the attribute is better than the second best with confidence 1 - delta.

    Missing values are skipped by the observers and follow the heavier branch.

    References
    ----------
    P. Domingos, G. Hulten, "Mining high-speed data streams", KDD 2000; adaptive leaves: G. Holmes, R. Kirkby, B.
    Pfahringer, 2005.

    Examples
    --------
    >>> from thalweg import SEA, HoeffdingTree
    >>> chunk = SEA(seed=1).read(10_000)
    >>> tree = HoeffdingTree()
    >>> proba = tree.test_then_train(chunk.X, chunk.y)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    __slots__ = ()

    _routine = staticmethod(play)

    null_merit: Literal["zero", "moa"] = choice(
        default="moa", doc="Merit of not splitting: 0 (the paper), or minus infinity (MOA)."
    )
    bayes_from: float = number(default=0.0, doc='Leaf weight from which "bayes" leaves use naive Bayes.', least=0)
    prune: bool = flag(default=True, doc='Let "no split" compete with the splits.')
    drop_poor: bool = flag(
        default=False, doc='Stop watching attributes that trail by more than the bound ("majority" leaves only).'
    )
    smoothing: float = number(
        default=0.0,
        doc="Share of an attribute's range that is added to the spread of each class in a leaf; MOA's 0 lets a "
        "class with one value rule itself out everywhere else.",
        least=0,
        most=1,
    )
    on_limit: Literal["sleep", "stop"] = choice(
        default="sleep", doc="At the limit the least promising leaves stop observing, or the tree stops growing."
    )
