"""A tree on the distances of tensors to the subspaces of classes."""

from typing import Literal, final

from thalweg.detectors.detector import Detector
from thalweg.learners.subspaces.subspace_learner import SubspaceLearner
from thalweg.tensors.forms import Shape


@final
class SubspaceTree(SubspaceLearner):
    """Learn an affine subspace for each class, and a tree on the residuals to all of them; for images above all.

    An image gives rectified, pooled responses of its patches (see ``PatchFeatures``), any other tensor its values; both
    in up to ``dimension`` principal directions. Each class has a mean and directions from decayed sums (see
    ``ClassSubspaces``). The residuals of a tensor to the classes are the features of a tree with naive Bayes leaves.
    Three may answer, and the one that erred least of late does: the nearest subspace, the tree, and both together.
    When a detector finds that the errors of the answers have risen, subspaces, tree, and after ``warmup`` tensors the
    filters and directions too, are learnt anew. New classes may appear at any time.

    Bounded: 8 p (p + rank + 2) bytes for each class (p = ``dimension``: 0.42 MB as it is), the tree, and during a
    warm-up the ``warmup`` tensors. Missing values are refused.

    Parameters
    ----------
    shape : Shape | None
        Of a record, where rows come flat; one size may be -1; None: tensors come as arrays (n, N1, …, NL).
    patches : bool | Literal["auto"]
        True: records are images (height, width) or (height, width, channels); False: they are not; "auto": by their
        shape, at least 8 x 8 with up to 16 channels.
    dimension, rank, softness, window
        See ``ClassSubspaces``.
    warmup : int
        Tensors that filters and directions are learnt from; a quarter and half of them give first versions. Before,
        the nearest tensor so far answers.
    grace_period, max_leaves
        Of the tree, see ``BinnedTrees``.
    drift : str | Detector | None
        A detector or its name, for the errors of the answers; None or "none": no detector.
    seed : int
        Of the patches that filters are learnt from.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> tree = SubspaceTree()
    >>> proba = tree.test_then_train(digits.images, digits.target)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == digits.target).mean() > 0.93)
    True
    """

    __slots__ = (
        "dimension", "drift", "grace_period", "max_leaves", "patches", "rank", "seed", "shape", "softness", "warmup",
        "window",
    )  # fmt: skip

    def __init__(
        self,
        *,
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
        self.shape, self.patches, self.dimension, self.rank, self.softness = shape, patches, dimension, rank, softness
        self.window, self.warmup, self.grace_period, self.max_leaves = window, warmup, grace_period, max_leaves
        self.drift, self.seed = drift, seed
        self._let_in()

    @property
    def _n_trees(self) -> int:
        return 1
