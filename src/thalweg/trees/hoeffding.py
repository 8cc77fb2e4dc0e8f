"""A decision tree that grows from a stream: Hoeffding's bound says when a leaf has seen enough to split."""

from typing import Any, Literal, final

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.jit.random import seeded
from thalweg.trees.hoeffding_jit import play
from thalweg.trees.picture import Pictured
from thalweg.trees.pool import Pool, Rules


@final
class HoeffdingTree(Pictured, Classifier):
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

    missing = "native"
    bounded = True

    __slots__ = ("_pool",)

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
        params.whole("seed", seed, least=0)
        self.grace_period = grace_period
        self.delta = delta
        self.tau = tau
        self.criterion = criterion
        self.leaf = leaf
        self.bound = bound
        self.min_branch_share = min_branch_share
        self.null_merit = null_merit
        self.n_split_points = n_split_points
        self.binary_splits = binary_splits
        self.bayes_from = bayes_from
        self.prune = prune
        self.drop_poor = drop_poor
        self.leaf_range = leaf_range
        self.smoothing = smoothing
        self.subspace = subspace
        self.limit_bytes = limit_bytes
        self.on_limit = on_limit
        self.seed = seed
        self.rules().check()

    def rules(self) -> Rules:
        """How the tree grows, for the pool."""
        chosen: dict[str, Any] = self.get_params()
        del chosen["seed"]
        return Rules(**chosen)

    def _start(self, schema: Schema) -> None:
        self._pool = Pool(self.rules(), schema, trees=1, rng=seeded(self.seed))

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        self._pool.play(play, X, y, w, events, out, known)

    def _extend(self, schema: Schema) -> None:
        self._pool.extend(schema)

    def _rehearse(self) -> None:
        self._pool.rehearse()

    def _tables(self) -> State:
        return self._pool.tables()

    def _adopt(self, tables: State, schema: Schema) -> None:
        self._pool = Pool.adopt(self.rules(), tables, schema, trees=1)
