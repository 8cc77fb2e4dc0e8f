"""A forest on the distances of tensors to the subspaces of classes."""

from typing import final

from thalweg.core import fields
from thalweg.core.classifier import Floats
from thalweg.learners.subspaces.subspace_jit import ROWS, draw
from thalweg.learners.subspaces.subspace_learner import SubspaceLearner


@final
class SubspaceForest(SubspaceLearner):
    """``SubspaceTree`` with more trees, each on its own random sample of the tensors (online bagging).

    All share one subspace for each class, and the features that it is made of; the trees are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> forest = SubspaceForest(size=3)
    >>> proba = forest.test_then_train(digits.images, digits.target)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == digits.target).mean() > 0.93)
    True
    """

    size: int = fields.whole(default=10, doc="How many trees.", least=1, most=10_000)
    rate: float = fields.number(
        default=1.0, doc="Mean of the Poisson weight with which a tree learns a tensor (λ).", above=0, below=100
    )

    @property
    def _n_trees(self) -> int:
        return int(self.size)

    def _draw_weights(self, draws: Floats) -> None:
        draw(self._seeds, int(self._own["head"][ROWS]), float(self.rate), draws)
