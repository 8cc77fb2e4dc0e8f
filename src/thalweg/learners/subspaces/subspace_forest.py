"""A forest on the distances of tensors to the subspaces of classes."""

from typing import Any, Literal, final

from thalweg.core import params
from thalweg.core.classifier import Floats
from thalweg.detectors.detector import Detector
from thalweg.learners.subspaces import subspace_jit as jit
from thalweg.learners.subspaces.subspace_learner import ROWS, SubspaceLearner
from thalweg.tensors.forms import Shape


@final
class SubspaceForest(SubspaceLearner):
    """``SubspaceTree`` with more trees, each on its own random sample of the tensors (online bagging).

    All share one front and one subspace for each class; the trees are averaged.

    Parameters
    ----------
    size : int
        How many trees.
    rate : float
        Mean of the Poisson weight with which a tree learns a tensor.
    shape : tuple[int, ...] | None
        Shape of a tensor, where records come as rows; one size may be -1.
    patches : Union[bool, Literal["auto"]]
        Look at patches of the image; "auto": where the tensors are images.
    dimension : int
        Features of a tensor that are kept, at most.
    rank : int
        Directions of a class subspace, at most.
    softness : float
        Ridge of the soft subspaces, as a share of the mean variance.
    window : float
        Tensors over which class statistics fade.
    warmup : int
        Tensors that are kept before the filters are learnt.
    grace_period : float
        Weight a leaf gains between two attempts to split.
    max_leaves : int
        Leaves of a tree, at most.
    drift : str | Detector | None
        Detector of the errors of the answers, or its name; None: no restart.
    seed : int
        Of the patches that filters are learnt from, and of the weights.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> forest = SubspaceForest(size=3)
    >>> proba = forest.test_then_train(digits.images, digits.target)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == digits.target).mean() > 0.93)
    True
    """

    __slots__ = (
        "dimension", "drift", "grace_period", "max_leaves", "patches", "rank", "rate", "seed", "shape", "size",
        "softness", "warmup", "window",
    )  # fmt: skip

    def __init__(
        self,
        *,
        size: int = 10,
        rate: float = 1.0,
        shape: Shape | None = None,
        patches: bool | Literal["auto"] = "auto",
        dimension: int = 200,
        rank: int = 60,
        softness: float = 1.0,
        window: float = 2000.0,
        warmup: int = 300,
        grace_period: float = 50,
        max_leaves: int = 64,
        drift: str | Detector | None = "adwin",
        seed: int = 1,
    ) -> None:
        params.whole("size", size, least=1, most=10_000)
        params.number("rate", rate, above=0, below=100)
        self.size, self.rate = size, rate
        self.shape, self.patches, self.dimension, self.rank, self.softness = shape, patches, dimension, rank, softness
        self.window, self.warmup, self.grace_period, self.max_leaves = window, warmup, grace_period, max_leaves
        self.drift, self.seed = drift, seed
        self._let_in()

    @property
    def _n_trees(self) -> int:
        return int(self.size)

    def _weigh(self, draws: Floats) -> None:
        routine: Any = jit.draw
        routine(self._seeds, int(self._own["head"][ROWS]), float(self.rate), draws)
