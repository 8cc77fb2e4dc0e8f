"""A decision tree that grows from a stream: Hoeffding's bound says when a leaf has seen enough to split."""

from typing import Literal, final

from thalweg.learners.trees.hoeffding_jit import play
from thalweg.show.tree_picture import Pictured


@final
class HoeffdingTree(Pictured):
    """A leaf splits on its best attribute once the attribute is better than the second best with confidence 1 - delta.

    grace_period: weight a leaf gains between two attempts to split (the paper's n_min).
    delta: allowed error of one decision (δ). tau: split anyway once the bound is below it (τ, ties).
    criterion: "gain" (information gain) or "gini".
    leaf: how a leaf answers: "majority", "bayes" (naive Bayes), or "adaptive", whichever has been right more often.
    bound: "hoeffding", or "mcdiarmid" for Gini gains.
    min_branch_share: information gain needs two branches with more than this share of the weight.
    null_merit: merit of not splitting: "zero" (the paper) or "moa" (minus infinity).
    n_split_points: thresholds tried for each numeric attribute. binary_splits: never one branch per nominal value.
    bayes_from: leaf weight from which "bayes" leaves use naive Bayes. prune: let "no split" compete.
    drop_poor: stop watching attributes that trail by more than the bound ("majority" leaves only).
    leaf_range: take the range of information gain from the classes in the leaf instead of all classes seen.
    smoothing: share of an attribute's range that is added to the spread of each class in a leaf; MOA's 0 lets a class
    with one value rule itself out everywhere else.
    subspace: attributes drawn at random for each leaf to watch; None: all.
    limit_bytes: the model never takes more; the least promising leaves stop observing ("sleep") or the tree
    stops growing ("stop"), as on_limit says. None: no limit. seed: for the subspace.

    Missing values are skipped by the observers and follow the heavier branch.

    Reference: P. Domingos, G. Hulten, "Mining high-speed data streams", KDD 2000; adaptive leaves: G. Holmes,
    R. Kirkby, B. Pfahringer, 2005.

    >>> from thalweg import SEA, HoeffdingTree
    >>> chunk = SEA(seed=1).read(10_000)
    >>> tree = HoeffdingTree()
    >>> proba = tree.test_then_train(chunk.X, chunk.y)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.8)
    True
    """

    __slots__ = ()

    _routine = staticmethod(play)

    def __init__(
        self,
        *,
        grace_period: float = 200,
        delta: float = 1e-7,
        tau: float = 0.05,
        criterion: Literal["gain", "gini"] = "gain",
        leaf: Literal["majority", "bayes", "adaptive"] = "adaptive",
        bound: Literal["hoeffding", "mcdiarmid"] = "hoeffding",
        min_branch_share: float = 0.01,
        null_merit: Literal["zero", "moa"] = "moa",
        n_split_points: int = 10,
        binary_splits: bool = False,
        bayes_from: float = 0.0,
        prune: bool = True,
        drop_poor: bool = False,
        leaf_range: bool = True,
        smoothing: float = 0.0,
        subspace: int | None = None,
        limit_bytes: int | None = 33_554_432,
        on_limit: Literal["sleep", "stop"] = "sleep",
        seed: int = 1,
    ) -> None:
        super().__init__(
            grace_period=grace_period, delta=delta, tau=tau, criterion=criterion, leaf=leaf, bound=bound,
            min_branch_share=min_branch_share, null_merit=null_merit, n_split_points=n_split_points,
            binary_splits=binary_splits, bayes_from=bayes_from, prune=prune, drop_poor=drop_poor,
            leaf_range=leaf_range, smoothing=smoothing, subspace=subspace, limit_bytes=limit_bytes, on_limit=on_limit,
            seed=seed,
        )  # fmt: skip
