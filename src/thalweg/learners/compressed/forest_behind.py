"""A forest behind a projection."""

from typing import final

from thalweg.core.classifier import Classifier
from thalweg.core.fields import again, free
from thalweg.core.inside import PassesOnDrifts
from thalweg.learners.compressed.projected import Compressed, RandomProjection
from thalweg.learners.forests.by_name import make_forest
from thalweg.learners.forests.forest import Forest


@final
class CompressedForest(RandomProjection, PassesOnDrifts, Compressed):
    """Trees that see records through one random projection: CS-ARF, or CS leveraging bagging of Hoeffding trees.

    References
    ----------
    M. Bahri, H. M. Gomes, A. Bifet, S. Maniu, "CS-ARF: compressed adaptive random forests for evolving data stream
    classification", IJCNN 2020.

    Examples
    --------
    >>> from thalweg import CompressedForest, Text
    >>> chunk = Text(words=500, seed=1).read(5_000)
    >>> forest = CompressedForest(size=10, p=40)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.65)
    True
    """

    forest: str | Forest = free(
        default="arf", doc='A forest or its name: "arf", "leveraging-bagging", "srp", …, also with parameters.'
    )
    size: int = free(default=30, doc="Trees of the forest.")
    seed: int = again(default=1, doc="Random seed of the matrix and the forest.")
    n_jobs: int = free(default=1, doc="Threads (-1: one on each core); they change nothing but the time.")

    __slots__ = ()

    def _telling(self) -> Classifier:
        return self._inner.learner if self._started else self._make_learner()

    def _make_learner(self) -> Classifier:
        return make_forest("forest", self.forest, size=self.size, seed=self.seed, n_jobs=self.n_jobs)
