"""A forest behind a projection."""

from typing import final

from thalweg.core.classifier import Classifier
from thalweg.learners.compressed.projected import RandomlyProjected
from thalweg.learners.forests.by_name import make_forest
from thalweg.learners.forests.forest import Forest
from thalweg.projections.projection import Projection


@final
class CompressedForest(RandomlyProjected):
    """Trees that see records through one random projection: CS-ARF, or CS leveraging bagging of Hoeffding trees.

    forest: a forest or its name: "arf", "leveraging-bagging", "srp", …, also with parameters. size: its trees.
    p, epsilon, projection: see CompressedKNN; epsilon is for 1,000 points. seed: for the matrix and the forest.
    n_jobs: threads (-1: one on each core); they change nothing but the time.

    Reference: M. Bahri, H. M. Gomes, A. Bifet, S. Maniu, "CS-ARF: compressed adaptive random forests for evolving data
    stream classification", IJCNN 2020.

    >>> from thalweg import CompressedForest, Text
    >>> chunk = Text(words=500, seed=1).read(5_000)
    >>> forest = CompressedForest(size=10, p=40)
    >>> proba = forest.test_then_train(chunk.X, chunk.y)
    >>> bool((forest.classes_[proba.argmax(axis=1)] == chunk.y).mean() > 0.65)
    True
    """

    __slots__ = ()

    forest: str | Forest

    def __init__(
        self,
        *,
        forest: str | Forest = "arf",
        size: int = 30,
        p: int | None = None,
        epsilon: float | None = None,
        projection: str | Projection = "gaussian",
        seed: int = 1,
        n_jobs: int = 1,
    ) -> None:
        super().__init__(
            forest=forest, size=size, p=p, epsilon=epsilon, projection=projection, seed=seed, n_jobs=n_jobs
        )

    def _make_learner(self) -> Classifier:
        return make_forest("forest", self.forest, **self._some(("size", "seed", "n_jobs")))
